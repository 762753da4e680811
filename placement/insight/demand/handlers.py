# SPDX-License-Identifier: Apache-2.0
"""Searches in vain (specification: insight, "GET /insight/unmet_demand")."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.transactions import Row
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.demand import statements
from placement.insight.pages import (
    PAGE_LIMIT_TEXT,
    REQUEST_ID,
    ROW_NUMBER,
    TIME,
    Page,
    links,
    members,
    page_limit,
    parse_row_marker,
    parse_time,
    time_text,
)
from placement.policies import rules
from placement.schemas import common

# Verdicts of searches that found nothing.
VERDICTS = ('full', 'infeasible', 'unknown')

LIST_UNMET_DEMAND = common.a_query(
    {
        'since': TIME,
        'global_request_id': REQUEST_ID,
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    }
)


def list_unmet_demand(request: Request) -> Reply:
    """List what was searched for in vain, or the searches of one request of a client."""
    request.authorise(rules.LIST_UNMET_DEMAND)
    with request.context.insight.question('unmet_demand'):
        query = request.validated_query('insight.unmet_demand')
        since, before_id = parse_time(query, 'since'), parse_row_marker(query)
        request.context.insight.flush()
        request_id = query.last('global_request_id')
        if request_id is None:
            page, sums = list_demands(request.context, since, before_id, page_limit(query))
            view = {
                'unmet_demand': [_demand_view(row) for row in page.items],
                'sums': {verdict: sums.get(verdict, 0) for verdict in VERDICTS},
            }
        else:
            limit = page_limit(query)
            page = list_searches(request.context, request_id, since, before_id, limit)
            view = {'unmet_demand': [_search_view(row) for row in page.items]}
    return Reply(view | links(request, 'unmet_demand', query, page))


@db.brief_reader
def list_demands(
    context: RequestContext,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> tuple[Page[Row], Mapping[str, int]]:
    """List what was searched for since a time, the newest kind first, one row for all alike.

    With it comes how often each verdict was, on all pages.
    """
    rows = statements.list_demands(context.connection, since, before_id, limit + 1)
    sums = statements.sum_demands(context.connection, since)
    return Page.of(rows, limit), sums


@db.brief_reader
def list_searches(
    context: RequestContext,
    global_request_id: str,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Page[Row]:
    """List the searches of one request of a client since a time, the last one first."""
    rows = statements.list_searches(
        context.connection, global_request_id, since, before_id, limit + 1
    )
    return Page.of(rows, limit)


def _demand_view(row: Row) -> dict[str, Any]:
    return _view(row, row.query, (row.first_at, row.last_at), row.times, row.request_ids.split())


def _search_view(row: Row) -> dict[str, Any]:
    """A search in the shape of a demand of one search."""
    query = '&'.join(filter(None, (row.query, row.trees)))
    view = _view(row, query, (row.at, row.at), 1, [row.global_request_id])
    return view | {'request_id': row.request_id}


def _view(
    row: Row,
    query: str,
    period: tuple[datetime.datetime, datetime.datetime],
    times: int,
    request_ids: Sequence[str],
) -> dict[str, Any]:
    first_at, last_at = period
    return {
        'query': query,
        'names_tree': bool(row.names_tree),
        **members(row, 'microversion', 'verdict', 'reason'),
        'first_at': time_text(first_at),
        'last_at': time_text(last_at),
        'times': times,
        'request_ids': request_ids,
    }
