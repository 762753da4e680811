# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates (specification: allocation_candidates)."""

import dataclasses

from placement.http import candidate_query, candidate_views
from placement.http.microversion import Rule
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects import allocation_candidate
from placement.search.candidates import Result
from placement.search.model.request import CandidateRequest, Order, Strategy

INCOMPLETE = ('openstack-placement-search', 'incomplete')


def list_candidates(request: Request) -> Reply:
    """List the candidates that satisfy a request for resources; may be empty."""
    query = request.validated_query('allocation_candidates.list')
    wanted = _as_configured(request, candidate_query.parse(request.api, query))
    service = request.service
    with service.searches.refusals(request.origin, wanted), unknown_names_reported():
        done = allocation_candidate.find(
            request.context, service.snapshots, wanted, service.offers
        )
    service.searches.note(request.origin, done)
    result = done.result
    shape = request.api.shape('allocation_candidates.list')
    all_classes = request.api.allows(Rule.SUMMARIES_OF_ALL_CLASSES)
    classes = None if all_classes else wanted.resource_classes
    return Reply(candidate_views.as_pieces(result, shape, classes), headers=_headers(result))


def _headers(result: Result) -> tuple[tuple[str, str], ...]:
    """The header that marks an empty answer of a search that spent its budget."""
    return (INCOMPLETE,) if result.is_cut and not result.candidates else ()


def _as_configured(request: Request, wanted: CandidateRequest) -> CandidateRequest:
    """The search with the operator's options."""
    options = request.service.conf.placement
    return dataclasses.replace(
        wanted,
        bound=options.max_allocation_candidates,
        strategy=Strategy(options.allocation_candidates_generation_strategy),
        order=Order(options.order_within_tree),
        spread_classes=frozenset(options.spread_classes),
        randomize=options.randomize_allocation_candidates,
        budget=options.search_budget,
    )
