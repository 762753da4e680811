# SPDX-License-Identifier: Apache-2.0
"""Questions of operators beside the API (specification: insight)."""

from __future__ import annotations

from placement.http import (
    candidate_query,
    capacity_views,
    explanation_views,
    insight_query,
    insight_views,
)
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects import insight_question, unmet_demand
from placement.policies import insight as policy

CAPACITY = '/insight/capacity'
UNMET_DEMAND = '/insight/unmet_demand'


def show(request: Request) -> Reply:
    """Show which questions are answered."""
    request.authorise(policy.SHOW)
    return Reply(insight_views.questions(request.context.insight, request.mount_point))


def explain(request: Request) -> Reply:
    """Explain why a request finds no allocation candidates, or where it does not fit."""
    request.authorise(policy.ALLOCATION_CANDIDATES)
    with request.context.insight.question('allocation_candidates'):
        query = request.validated_query('insight.explain')
        wanted = candidate_query.parse(request.api, query)
        with candidate_query.unknown_names_refused():
            found = insight_question.explain(request.context, wanted, query.last('provider'))
        names = insight_question.list_names(request.context, explanation_views.uuids_in(found))
    return Reply(explanation_views.explanation(found, names))


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree."""
    request.authorise(policy.CAPACITY)
    with request.context.insight.question('capacity'):
        query = request.validated_query('insight.capacity')
        wanted = candidate_query.parse(request.api, query)
        page = insight_query.parse_page_of_roots(query)
        with candidate_query.unknown_names_refused():
            found = insight_question.capacity(request.context, wanted, page)
        roots = [one.root for one in found.trees or ()]
        names = insight_question.list_names(request.context, roots)
    view = capacity_views.capacity(found) | capacity_views.by_root(found, names)
    marker = roots[-1] if found.has_more else None
    return Reply(view | insight_views.links(request.mount_point, CAPACITY, query, marker))


def capacities(request: Request) -> Reply:
    """Show how many consumers of each of several requests could be claimed at one moment."""
    request.authorise(policy.CAPACITY)
    with request.context.insight.question('capacity'):
        wanted = insight_query.parse_requests(request)
        found = insight_question.capacities(request.context, wanted)
    return Reply(capacity_views.capacities(found))


def list_unmet_demand(request: Request) -> Reply:
    """List what was searched for in vain, or the searches of one request of a client."""
    request.authorise(policy.UNMET_DEMAND)
    with request.context.insight.question('unmet_demand'):
        query = request.validated_query('insight.unmet_demand')
        since, page = insight_query.parse_time(query, 'since'), insight_query.parse_page(query)
        request.context.insight.flush()
        request_id = query.last('global_request_id')
        if request_id is None:
            found = unmet_demand.list_demands(request.context, since, page.before_id, page.limit)
            view = insight_views.demands(found)
        else:
            found = unmet_demand.list_searches(
                request.context, request_id, since, page.before_id, page.limit
            )
            view = insight_views.searches(found)
    marker = found.rows[-1].id if found.has_more else None
    return Reply(view | insight_views.links(request.mount_point, UNMET_DEMAND, query, marker))
