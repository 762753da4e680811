# SPDX-License-Identifier: Apache-2.0
"""The filters of a list of providers (specification: resource_providers)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from placement import errors
from placement.http import querystring
from placement.http.microversion import Api
from placement.http.querystring import Query
from placement.objects.resource_provider import ProviderFilters


def parse(api: Api, query: Query) -> ProviderFilters:
    """The filters that a query asks for; raises `errors.BadRequest`."""
    member_of = querystring.parse_member_of(api, 'member_of', query.all('member_of'))
    required = querystring.parse_required(api, query.all('required'))
    resources = query.last('resources')
    return ProviderFilters(
        name=query.last('name') or None,
        uuid=query.last('uuid'),
        in_tree=query.last('in_tree'),
        member_of=member_of.required,
        forbidden_aggregates=member_of.forbidden,
        required_traits=required.required,
        forbidden_traits=required.forbidden,
        resources={} if resources is None else querystring.parse_resources(resources),
    )


@contextlib.contextmanager
def unknown_names_reported() -> Iterator[None]:
    """Report names in filters that do not exist as `errors.BadRequest`, with their parameter."""
    with (
        errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            prefix='Invalid resource class in resources parameter: ',
        ),
        errors.reported_as(
            errors.BadRequest,
            errors.TraitNotFound,
            prefix='Invalid trait(s) in "required" parameter: ',
        ),
    ):
        yield
