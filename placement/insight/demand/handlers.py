# SPDX-License-Identifier: Apache-2.0
"""Searches in vain (specification: insight, "GET /insight/unmet_demand")."""

from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.demand import pages, views
from placement.insight.pages import links, page_limit, parse_row_marker, parse_time
from placement.policies import rules


def list_unmet_demand(request: Request) -> Reply:
    """List what was searched for in vain, or the searches of one request of a client."""
    request.authorise(rules.LIST_UNMET_DEMAND)
    with request.context.insight.question('unmet_demand'):
        query = request.validated_query('insight.unmet_demand')
        since, before_id, limit = (
            parse_time(query, 'since'),
            parse_row_marker(query),
            page_limit(query),
        )
        request.context.insight.flush()
        request_id = query.last('global_request_id')
        if request_id is None:
            page, sums = pages.list_demands(request.context, since, before_id, limit)
            view = views.demands(page.items, sums)
        else:
            page = pages.list_searches(request.context, request_id, since, before_id, limit)
            view = views.searches(page.items)
    return Reply(view | links(request, 'unmet_demand', query, page))
