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
from placement.search.model.request import CandidateRequest, Strategy

INCOMPLETE = ('openstack-placement-search', 'incomplete')


def list_candidates(request: Request) -> Reply:
    """List the candidates that satisfy a request for resources; none are no error."""
    query = request.validated_query('allocation_candidates.list')
    wanted = _as_configured(request, candidate_query.parse(request.api, query))
    with unknown_names_reported():
        result = allocation_candidate.find(request.context, wanted)
    request.context.insight.searches.note(request.origin, wanted, result)
    if request.api.shows_newest('allocation_candidates.list'):
        return Reply(candidate_views.as_pieces(result), headers=_headers(result))
    all_classes = request.api.allows(Rule.SUMMARIES_OF_ALL_CLASSES)
    values = candidate_views.as_values(result, None if all_classes else wanted.resource_classes)
    return Reply(values, headers=_headers(result))


def _headers(result: Result) -> tuple[tuple[str, str], ...]:
    """Tells an empty answer of a search that was cut from that of a full cloud."""
    return (INCOMPLETE,) if result.is_cut and not result.candidates else ()


def _as_configured(request: Request, wanted: CandidateRequest) -> CandidateRequest:
    """The search with what the operator says about all of them."""
    options = request.conf.placement
    return dataclasses.replace(
        wanted,
        bound=options.max_allocation_candidates,
        strategy=Strategy(options.allocation_candidates_generation_strategy),
        randomize=options.randomize_allocation_candidates,
        budget=options.search_budget,
    )
