# SPDX-License-Identifier: Apache-2.0
"""Queries of the cloud in bulk (specification: insight, "The cloud in bulk")."""

from placement import errors
from placement.feed.follower_position import FollowerPosition
from placement.http.querystring import Query
from placement.insight.bulk.statements import ConsumerFilters
from placement.insight.pages import PAGE_LIMIT_TEXT, ROW_NUMBER, TIME, parse_time
from placement.schemas import common
from placement.schemas.usage import UNKNOWN_TYPE

# What can be included of each provider.
INCLUDABLE = ('inventories', 'usages', 'traits', 'aggregates', 'allocations')

INCLUDE: common.Schema = {'type': 'string'}

# How far somebody has read the changes of the cloud. Whether it is one is up to whoever reads it.
TOKEN: common.Schema = {'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,200}$'}

_PAGE: common.Schema = {'page_limit': PAGE_LIMIT_TEXT, 'marker': common.UUID}


def providers(filters: common.Schema) -> common.Schema:
    """A page of providers, given the query of their list at the same version."""
    beside = {'include': INCLUDE, 'not_before': TOKEN, **_PAGE}
    return common.with_properties(filters, beside)


CONSUMERS = common.a_query(
    {
        'project_id': common.EXTERNAL_ID,
        'user_id': common.EXTERNAL_ID,
        'type': {'pattern': '^([A-Z0-9_]+|unknown)$'} | common.EXTERNAL_ID,
        'provider': common.UUID,
        'older_than': TIME,
        **_PAGE,
    }
)
USAGES = common.a_query(
    {
        'by': {'type': 'string', 'enum': ['project', 'user', 'type', 'aggregate']},
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    },
    required=('by',),
)


def parse_include(query: Query) -> frozenset[str]:
    """Parse the members to include of each provider; none where the query names none.

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
        older_than=parse_time(query, 'older_than'),
    )
