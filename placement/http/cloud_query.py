# SPDX-License-Identifier: Apache-2.0
"""Queries of the cloud in bulk (specification: insight, "The cloud in bulk")."""

from __future__ import annotations

from placement import errors
from placement.db.statements.consumer_pages import ConsumerFilters
from placement.feed.follower_position import FollowerPosition
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


def parse_token(query: Query, name: str) -> FollowerPosition | None:
    """How far somebody has read the changes of the cloud; None where the query does not say.

    Raises `errors.InvalidQuery` for what is no token of this release.
    """
    text = query.last(name)
    if text is None:
        return None
    try:
        return FollowerPosition.decoded(text)
    except ValueError as error:
        reason = f'{name} has to be a token of an answer, but {error}. Got: {text}'
        raise errors.InvalidQuery(reason=reason) from error


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
