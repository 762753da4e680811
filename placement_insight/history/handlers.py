# SPDX-License-Identifier: Apache-2.0
"""The history of changes (specification: insight, "GET /insight/history")."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from placement import errors
from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.rows import Row
from placement.db.transaction import in_transaction
from placement.http.querystring import Query
from placement.http.reply import Reply
from placement.http.request import Request
from placement.schemas import common
from placement.schemas.usage import UNKNOWN_TYPE
from placement_insight import paging
from placement_insight.history import statements
from placement_insight.history.statements import SubjectKind
from placement_insight.statements import RowPage

LIST_HISTORY = common.a_query(
    {
        'provider': common.UUID,
        'consumer': common.UUID,
        'request_id': paging.REQUEST_ID,
        'global_request_id': paging.REQUEST_ID,
        'since': common.TIME,
        'page_limit': paging.PAGE_LIMIT_TEXT,
        'marker': paging.ROW_NUMBER,
    }
)


def _parse_columns(query: Query) -> dict[str, str]:
    """Parse the filters of a query: the values that columns must have.

    :raises errors.InvalidQuery: it names both a provider and a consumer; no row is about both
    """
    kinds = [kind for kind in (SubjectKind.PROVIDER, SubjectKind.CONSUMER) if kind in query]
    if len(kinds) > 1:
        raise errors.InvalidQuery(reason='provider and consumer exclude each other')
    sent = query.last_values()
    columns: dict[str, str] = {
        name: sent[name] for name in ('request_id', 'global_request_id') if name in sent
    }
    for kind in kinds:
        columns |= {'kind': kind, 'uuid': sent[kind]}
    return columns


@in_transaction(Mode.READ)
def list_rows(context: RequestContext, columns: Mapping[str, str], page: RowPage) -> Sequence[Row]:
    """Return a page of the rows with these values."""
    return statements.list_rows(context.connection, columns, page)


def origin_of(row: Row) -> dict[str, Any]:
    """Show when a change was made, in which request, and by whom."""
    return {
        'at': paging.time_text(row.at),
        **paging.members(row, 'request_id', 'global_request_id'),
        'caller': {
            'user_id': row.caller_user_id,
            'user_name': row.caller_user_name,
            'project_id': row.caller_project_id,
        },
        'action': row.action,
    }


def _change(row: Row) -> dict[str, Any]:
    return origin_of(row) | {
        **paging.members(row, 'kind', 'uuid', 'project_id', 'user_id', 'generation'),
        'state': None if row.state is None else _state(row.state),
    }


def _state(text: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(text)
    if 'consumer_type' in state:
        state['consumer_type'] = state['consumer_type'] or UNKNOWN_TYPE
    return state


def list_changes(request: Request) -> Reply:
    """List changes, the last one first, each with the state of its subject afterwards."""
    query = request.validated_query('insight.history')
    columns, limit = _parse_columns(query), paging.page_limit(query)
    # One row more than the page has, if another page follows.
    wanted = RowPage(paging.parse_time(query, 'since'), paging.parse_row_marker(query), limit + 1)
    page = paging.Page.of(list_rows(request.context, columns, wanted), limit)
    view = {'history': [_change(row) for row in page.items]}
    return Reply(view | paging.links(request, 'history', query, page))
