# SPDX-License-Identifier: Apache-2.0
"""Searches without candidates (specification: insight, "GET /insight/unmet_demand")."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.rows import Row
from placement.db.transaction import in_transaction
from placement.http.reply import Reply
from placement.http.request import Request
from placement.schemas import common
from placement_insight import paging
from placement_insight.demand import statements
from placement_insight.demand.unknown_names import UnknownName
from placement_insight.questions import Insight
from placement_insight.statements import RowPage

# Verdicts on searches without candidates.
VERDICTS = ('full', 'infeasible', 'unknown', 'refused')

LIST_UNMET_DEMAND = common.a_query(
    {
        'since': common.TIME,
        'global_request_id': paging.REQUEST_ID,
        'page_limit': paging.PAGE_LIMIT_TEXT,
        'marker': paging.ROW_NUMBER,
    }
)


def list_unmet_demand(request: Request) -> Reply:
    """List unmet demands, or the unsuccessful searches of one request of a client."""
    query = request.validated_query('insight.unmet_demand')
    limit = paging.page_limit(query)
    # One row more than the page has, if another page follows.
    wanted = RowPage(paging.parse_time(query, 'since'), paging.parse_row_marker(query), limit + 1)
    request.service.searches.flush()
    request.service.part(Insight).flush()
    request_id = query.last('global_request_id')
    if request_id is None:
        rows, sums, unknown = list_demands(request.context, wanted)
        page = paging.Page.of(rows, limit)
        view = {
            'unmet_demand': [_demand_view(row) for row in page.items],
            'sums': {verdict: sums.get(verdict, 0) for verdict in VERDICTS},
            'unknown_names': [_name_view(name) for name in unknown],
        }
    else:
        page = paging.Page.of(list_searches(request.context, request_id, wanted), limit)
        view = {'unmet_demand': [_search_view(row) for row in page.items]}
    return Reply(view | paging.links(request, 'unmet_demand', query, page))


@in_transaction(Mode.READ_BRIEFLY)
def list_demands(
    context: RequestContext, page: RowPage
) -> tuple[Sequence[Row], Mapping[str, int], Sequence[UnknownName]]:
    """List demands, the number of searches with each verdict, and names that do not exist.

    A demand is one row for all searches with the same normalized query.
    """
    connection = context.connection
    rows = statements.list_demands(connection, page)
    sums = statements.sum_demands(connection, page.since)
    return rows, sums, statements.list_unknown(connection, page.since)


@in_transaction(Mode.READ_BRIEFLY)
def list_searches(context: RequestContext, request_id: str, page: RowPage) -> Sequence[Row]:
    """List the unsuccessful searches of one request of a client."""
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


def _name_view(unknown: UnknownName) -> dict[str, object]:
    return unknown._asdict() | {'last_at': paging.time_text(unknown.last_at)}


def _search_view(row: Row) -> dict[str, Any]:
    query = '&'.join(filter(None, (row.query, row.trees)))
    return _demand_view(row) | {'query': query, 'request_id': row.request_id}
