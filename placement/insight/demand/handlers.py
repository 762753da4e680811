# SPDX-License-Identifier: Apache-2.0
"""Searches in vain (specification: insight, "GET /insight/unmet_demand")."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.transactions import Row
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight import paging
from placement.insight.demand import statements
from placement.insight.demand.statements import RowPage
from placement.schemas import common

# Verdicts of searches that found nothing.
VERDICTS = ('full', 'infeasible', 'unknown')

LIST_UNMET_DEMAND = common.a_query(
    {
        'since': common.TIME,
        'global_request_id': paging.REQUEST_ID,
        'page_limit': paging.PAGE_LIMIT_TEXT,
        'marker': paging.ROW_NUMBER,
    }
)


def list_unmet_demand(request: Request) -> Reply:
    """List what was searched for in vain, or the searches of one request of a client."""
    query = request.validated_query('insight.unmet_demand')
    limit = paging.page_limit(query)
    # One more tells if there is another page.
    wanted = RowPage(paging.parse_time(query, 'since'), paging.parse_row_marker(query), limit + 1)
    request.context.insight.flush()
    request_id = query.last('global_request_id')
    if request_id is None:
        rows, sums = list_demands(request.context, wanted)
        page = paging.Page.of(rows, limit)
        view = {
            'unmet_demand': [_demand_view(row) for row in page.items],
            'sums': {verdict: sums.get(verdict, 0) for verdict in VERDICTS},
        }
    else:
        page = paging.Page.of(list_searches(request.context, request_id, wanted), limit)
        view = {'unmet_demand': [_search_view(row) for row in page.items]}
    return Reply(view | paging.links(request, 'unmet_demand', query, page))


@db.brief_reader
def list_demands(
    context: RequestContext, page: RowPage
) -> tuple[Sequence[Row], Mapping[str, int]]:
    """List what was searched for, one row for all alike, and how often each verdict was."""
    rows = statements.list_demands(context.connection, page)
    return rows, statements.sum_demands(context.connection, page.since)


@db.brief_reader
def list_searches(context: RequestContext, request_id: str, page: RowPage) -> Sequence[Row]:
    """List the searches of one request of a client."""
    return statements.list_searches(context.connection, request_id, page)


def _demand_view(row: Row) -> dict[str, Any]:
    return {
        'query': row.query,
        'names_tree': bool(row.names_tree),
        **paging.members(row, 'microversion', 'verdict', 'reason'),
        'first_at': paging.time_text(row.first_at),
        'last_at': paging.time_text(row.last_at),
        'times': row.times,
        'request_ids': row.request_ids.split(),
    }


def _search_view(row: Row) -> dict[str, Any]:
    query = '&'.join(filter(None, (row.query, row.trees)))
    return _demand_view(row) | {'query': query, 'request_id': row.request_id}
