# SPDX-License-Identifier: Apache-2.0
"""Queries of the cloud in bulk (specification: insight, "The cloud in bulk")."""

from __future__ import annotations

from placement import errors
from placement.db.statements.consumer_pages import ConsumerFilters
from placement.http import insight_query
from placement.http.querystring import Query
from placement.http.views import UNKNOWN_TYPE
from placement.schemas.cloud import INCLUDABLE


def parse_include(query: Query) -> frozenset[str]:
    """What a query wants to be included of each provider; nothing where it does not say.

    Raises `errors.InvalidQuery` for what cannot be.
    """
    names = [name for value in query.all('include') for name in value.split(',')]
    for name in names:
        if name not in INCLUDABLE:
            reason = f'include can have {", ".join(INCLUDABLE)}. Got: {name}'
            raise errors.InvalidQuery(reason=reason)
    return frozenset(names)


def parse_consumers(query: Query) -> ConsumerFilters:
    """The consumers that a query asks for."""
    consumer_type = query.last('type')
    is_typed = consumer_type != UNKNOWN_TYPE
    return ConsumerFilters(
        project_id=query.last('project_id'),
        user_id=query.last('user_id'),
        consumer_type=consumer_type if is_typed else None,
        is_typed=is_typed,
        provider=query.last('provider'),
        older_than=insight_query.parse_time(query, 'older_than'),
    )
