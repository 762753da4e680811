# SPDX-License-Identifier: Apache-2.0
"""Capacities of requests (specification: insight)."""

from placement.http import candidate_query
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight import answers
from placement.insight.capacity import views
from placement.insight.capacity.query import parse_page_of_roots, parse_requests
from placement.insight.pages import links_with
from placement.policies import rules


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree."""
    request.authorise(rules.SHOW_CAPACITY)
    with request.context.insight.question('capacity'):
        query = request.validated_query('insight.capacity')
        wanted = candidate_query.parse(request.api, query)
        page = parse_page_of_roots(query)
        with candidate_query.unknown_names_refused():
            found = answers.capacity(request.context, wanted, page)
        roots = [row.root for row in found.trees or ()]
        names = answers.list_names(request.context, roots)
    view = views.capacity(found) | views.by_root(found, names)
    following = {'marker': roots[-1]} if found.has_more else {}
    return Reply(view | links_with(request, 'capacity', query, following))


def capacities(request: Request) -> Reply:
    """Show how many consumers of each of several requests could be claimed at one moment."""
    request.authorise(rules.SHOW_CAPACITY)
    with request.context.insight.question('capacity'):
        wanted = parse_requests(request)
        found = answers.capacities(request.context, wanted)
    return Reply(views.capacities(found))
