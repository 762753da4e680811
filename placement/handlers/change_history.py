# SPDX-License-Identifier: Apache-2.0
"""Who changed what (specification: insight, "GET /insight/history")."""

from __future__ import annotations

from placement.http import change_history_query, change_history_views, insight_query, insight_views
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects import change_history
from placement.policies import insight as policy

PATH = '/insight/history'


def list_changes(request: Request) -> Reply:
    """List the states of providers, consumers and names after changes, the last change first."""
    request.authorise(policy.HISTORY)
    with request.context.insight.question('history'):
        query = request.validated_query('insight.history')
        filters = change_history_query.parse(query)
        page = insight_query.parse_page(query)
        found = change_history.list_changes(request.context, filters, page.before_id, page.limit)
    marker = found.rows[-1].id if found.has_more else None
    links = insight_views.links(request.mount_point, PATH, query, marker)
    return Reply(change_history_views.changes(found.rows) | links)
