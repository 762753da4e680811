# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk, and its changes (specification: insight, "The cloud in bulk")."""

import dataclasses
import datetime
import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from oslo_utils import uuidutils

from placement import errors
from placement.http import provider_list
from placement.http.querystring import Query, unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.schemas import common
from placement.schemas.usage import UNKNOWN_TYPE
from placement_insight import paging
from placement_insight.bulk import pages, views
from placement_insight.bulk.follower import FollowerToken
from placement_insight.bulk.statements import ConsumerFilters, SummedBy
from placement_insight.questions import Insight

# Members that can be included for each provider, and for the root of each tree.
INCLUDABLE = ('inventories', 'usages', 'traits', 'aggregates', 'allocations')
INCLUDABLE_BY_ROOT = ('traits', 'aggregates')

INCLUDE: common.Schema = {'type': 'string'}
BY_ROOT: common.Schema = {'type': 'string', 'enum': ['root']}

# A position in the change feed. The schema checks the alphabet, and `FollowerToken` the rest.
TOKEN: common.Schema = {'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,200}$'}

_PAGE: common.Schema = {'page_limit': paging.PAGE_LIMIT_TEXT, 'marker': common.UUID}


# The member that names the subject of each sum of usage.
NAMES = {
    SummedBy.PROJECT: 'project_id',
    SummedBy.USER: 'user_id',
    SummedBy.TYPE: 'consumer_type',
    SummedBy.AGGREGATE: 'aggregate',
}


def providers_query(filters: common.Schema) -> common.Schema:
    """Return the schema of a page of providers, given that of their list at the same version."""
    added = {'by': BY_ROOT, 'include': INCLUDE, 'not_before': TOKEN, **_PAGE}
    return common.with_properties(filters, added)


CONSUMERS = common.a_query(
    paging.CONSUMER_FILTERS | {'uuid': common.UUID} | _PAGE | {'marker': common.UUID_AS_SPELLED}
)
USAGES = common.a_query(
    {
        'by': {'type': 'string', 'enum': ['project', 'user', 'type', 'aggregate']},
        'page_limit': paging.PAGE_LIMIT_TEXT,
        'marker': paging.ROW_NUMBER,
    },
    required=('by',),
)


_TOKEN_OR_TIME: common.Schema = {
    'type': 'string',
    'pattern': f'{TOKEN["pattern"]}|{common.TIME["pattern"]}',
}

CHANGES = common.a_query(
    {
        'since': _TOKEN_OR_TIME,
        'by': BY_ROOT,
        'include': INCLUDE,
        'page_limit': paging.PAGE_LIMIT_TEXT,
    },
    required=('since',),
)


def parse_include(query: Query) -> frozenset[str]:
    """Parse the members to include for each provider or root; none is the default.

    :raises errors.InvalidQuery: a member cannot be included
    """
    possible = INCLUDABLE_BY_ROOT if 'by' in query else INCLUDABLE
    names = [name for value in query.all('include') for name in value.split(',')]
    for name in names:
        if name not in possible:
            reason = f'include can have {", ".join(possible)}. Got: {name}'
            raise errors.InvalidQuery(reason=reason)
    return frozenset(names)


def parse_token(query: Query, name: str) -> FollowerToken | None:
    """Parse the client's position in the change feed; None if the query has none.

    :raises errors.InvalidQuery: it is no token of this release
    """
    text = query.last(name)
    if text is None:
        return None
    try:
        return FollowerToken.decoded(text)
    except ValueError as error:
        reason = f'{name} has to be a token of an answer, but {error}. Got: {text}'
        raise errors.InvalidQuery(reason=reason) from error


def parse_since(query: Query) -> FollowerToken | datetime.datetime:
    """Parse the moment since which changes are wanted: a token, or a time, UTC without zone.

    :raises errors.InvalidQuery: it is no token of this release, or a time that does not exist
    """
    is_time = re.fullmatch(common.TIME['pattern'], query.last('since') or '')
    since = paging.parse_time(query, 'since') if is_time else parse_token(query, 'since')
    assert since is not None
    return since


def parse_consumers(query: Query) -> ConsumerFilters:
    """Parse the filters of a list of consumers."""
    consumer_type = query.last('type')
    is_typed = consumer_type != UNKNOWN_TYPE
    return ConsumerFilters(
        project_id=query.last('project_id'),
        user_id=query.last('user_id'),
        consumer_type=consumer_type if is_typed else None,
        is_typed=is_typed,
        provider=query.last('provider'),
        older_than=paging.parse_time(query, 'older_than'),
        newer_than=paging.parse_time(query, 'newer_than'),
        uuids=_parse_uuids(query),
    )


def _parse_uuids(query: Query) -> frozenset[str] | None:
    """Parse the uuids of consumers; None if the query has none.

    :raises errors.InvalidQuery: one is no uuid; the schema has checked only the last one
    """
    uuids = query.all('uuid')
    for uuid in uuids:
        if not uuidutils.is_uuid_like(uuid):
            raise errors.InvalidQuery(reason=f"{uuid!r} is not a 'uuid'")
    return frozenset(uuids) if uuids else None


class _Listing(NamedTuple):
    """A list of providers or of trees.

    `name` is the member in answers; `describe` reads the elements, `text` renders them as JSON.
    """

    name: str
    describe: pages.Describe[Any]
    text: Callable[[Any], str]


def _parse_listing(query: Query) -> _Listing:
    included = parse_include(query)
    if 'by' in query:
        text = functools.partial(views.trees_text, included=included)
        return _Listing('trees', pages.summed, text)
    with_allocations = views.ALLOCATIONS in included
    describe = functools.partial(pages.described, with_allocations=with_allocations)
    text = functools.partial(views.providers_text, included=included)
    return _Listing('providers', describe, text)


def list_providers(request: Request) -> Reply:
    """List providers or trees with all that is known about them, each page of one moment."""
    query = request.validated_query('insight.providers')
    listing, after = _parse_listing(query), query.last('marker')
    filters = provider_list.parse_filters(request.api, query)
    filters = dataclasses.replace(
        filters,
        is_root='by' in query,
        has_standard_names=request.service.database.has_standard_names,
    )
    limit, bound = paging.page_limit(query), parse_token(query, 'not_before')
    is_followed = 'changes' in request.service.part(Insight).enabled
    if bound is not None and not is_followed:
        raise errors.InvalidQuery(reason='not_before is of changes, which are not followed here')
    with unknown_names_reported(provider_list.UNKNOWN_TRAITS):
        page = pages.list_providers(
            request.service.snapshots,
            filters,
            after,
            limit,
            listing.describe,
            bound,
            with_token=is_followed,
        )
    text = listing.text(page.items)
    token = None if page.token is None else page.token.encoded()
    extra = {} if after is not None else {'token': token}
    parameters = {}
    if page.has_more:
        # Later pages must not be of an earlier moment than the token.
        bounds = {} if token is None else {'not_before': token}
        parameters = bounds | {'marker': page.items[-1].row.uuid}
    following = paging.links_with(request, 'providers', query, parameters)
    return Reply(views.page(listing.name, text, extra | following))


def list_changes(request: Request) -> Reply:
    """List providers or trees that changed since a moment, each page of one moment."""
    query = request.validated_query('insight.changes')
    listing = _parse_listing(query)
    since, limit = parse_since(query), paging.page_limit(query)
    snapshots = request.service.snapshots
    changes = pages.list_changes(
        request.context, snapshots, since, limit, listing.describe, by_root='by' in query
    )
    text = listing.text(changes.items)
    token = None if changes.token is None else changes.token.encoded()
    has_more = changes.token is not None and changes.token.has_more
    parameters = {'since': token} if has_more and token is not None else {}
    following = paging.links_with(request, 'changes', query, parameters)
    extra = {'deleted': changes.deleted, 'complete': token is not None, 'token': token}
    return Reply(views.page(listing.name, text, extra | following))


def list_consumers(request: Request) -> Reply:
    """List consumers with their allocations, each page of one moment."""
    query = request.validated_query('insight.consumers')
    filters, limit = parse_consumers(query), paging.page_limit(query)
    page = pages.list_consumers(request.context, filters, query.last('marker'), limit)
    view = {'consumers': [views.consumer(consumer) for consumer in page.items]}
    return Reply(view | paging.links(request, 'consumers', query, page, 'row.uuid'))


def list_usages(request: Request) -> Reply:
    """List the usage of each project, user or type, or in each aggregate."""
    query = request.validated_query('insight.usages')
    by, after = SummedBy(query.last('by')), paging.parse_row_marker(query)
    page = pages.list_usage_sums(request.context, by, after, paging.page_limit(query))
    view = {'usages': [views.usage_sum(usage, NAMES[by]) for usage in page.items]}
    return Reply(view | paging.links(request, 'usages', query, page))
