# SPDX-License-Identifier: Apache-2.0
"""Queries of the history of changes (specification: insight, "GET /insight/history")."""

from __future__ import annotations

from placement import errors
from placement.db.statements.change_history import Filters, Kind
from placement.http import insight_query
from placement.http.querystring import Query


def parse(query: Query) -> Filters:
    """The conditions of a query.

    Raises `errors.InvalidQuery` for one that names both a provider and a consumer, which no row
    is about, and for a time that does not exist.
    """
    named = {kind: query.last(kind) for kind in (Kind.PROVIDER, Kind.CONSUMER) if kind in query}
    if len(named) > 1:
        raise errors.InvalidQuery(reason='provider and consumer exclude each other')
    kind, uuid = next(iter(named.items()), (None, None))
    return Filters(
        kind=kind,
        uuid=uuid,
        request_id=query.last('request_id'),
        global_request_id=query.last('global_request_id'),
        since=insight_query.parse_time(query, 'since'),
    )
