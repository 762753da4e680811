# SPDX-License-Identifier: Apache-2.0
"""Why nothing was found: the condition that emptied the answer, and whether the request could
ever be served.

This is the line for the log, made at little cost after each search that found nothing; the full
explanation, which somebody has to ask for, is that of `placement.search.insight`.

Only an empty answer is explained.  Whole blocks of trees are weighed by their bounds; single
providers and trees are looked at as far as the budget of the search allows, and no further than
the limits below.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from placement.search.explanation import Condition, Explanation, ProviderFunnel, Verdict
from placement.search.funnel import FunnelOf
from placement.search.insight.whole_search import could_be_found
from placement.search.model.request import AnyOf, CandidateRequest, RequestGroup
from placement.search.room_in_trees import scarcest_in_trees, too_small_for_trees
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.search_state import Search
from placement.search.solver.tally import Reason
from placement.search.solver.work import BudgetSpent

# How many places are looked at to find a candidate in the cloud as it would be if nothing were
# used, and in the same cloud without one of the conditions.
UNUSED_PLACES = 200_000
RELAXED_PLACES = 20_000

# How many provider requests are held against all providers once instead of twice.
MAX_FUNNELS = 4


def explain(search: Search, is_cut: bool) -> Explanation:
    """Why a search found nothing.  Its budget is shared: what was spent is not spent again."""
    explanation = _explain(search, is_cut)
    return dataclasses.replace(
        explanation, providers=len(search.snapshot), places=search.work.spent
    )


def _explain(search: Search, is_cut: bool) -> Explanation:
    providers = len(search.snapshot)
    if is_cut:
        return Explanation(Verdict.UNKNOWN, providers, is_cut=True)
    if search.resolved.names_missing_tree:
        missing = [uuid for uuid, root in search.resolved.tree_ids.items() if root is None]
        condition = Condition(Reason.TREE_UNKNOWN, tuple(missing))
        return Explanation(Verdict.INFEASIBLE, providers, condition)
    try:
        return _explain_whole(search)
    except BudgetSpent:
        return Explanation(Verdict.UNKNOWN, providers)


def _explain_whole(search: Search) -> Explanation:
    providers, requests = len(search.snapshot), search.resolved.distinct_requests
    # Only some are kept: with many groups in a large cloud they would fill the memory together.
    kept: BoundedCache[int, FunnelOf] = BoundedCache(MAX_FUNNELS)
    for request in requests:
        if funnel := _funnel_of(search, request, kept).if_infeasible():
            return Explanation(Verdict.INFEASIBLE, providers, _last_condition(funnel), funnel)
    fits = _fits_unused(search, search.request, UNUSED_PLACES)
    if fits:
        funnels = (_funnel_of(search, one, kept) for one in requests)
        full = next(filter(None, (one.if_full() for one in funnels)), None)
        decisive = _last_condition(full) if full else scarcest_in_trees(search)
        return Explanation(Verdict.FULL, providers, decisive, full)
    verdict = Verdict.UNKNOWN if fits is None else Verdict.INFEASIBLE
    decisive = too_small_for_trees(search) or _decisive_condition(search)
    return Explanation(verdict, providers, decisive)


def _funnel_of(
    search: Search, request: ProviderRequest, kept: BoundedCache[int, FunnelOf]
) -> FunnelOf:
    funnel = kept.get(request.number)
    if funnel is None:
        funnel = FunnelOf(search, request)
        kept.add(request.number, funnel)
    return funnel


def _last_condition(funnel: ProviderFunnel) -> Condition | None:
    return funnel.rejections[-1].condition if funnel.rejections else None


def _fits_unused(search: Search, request: CandidateRequest, places: int) -> bool | None:
    """Whether the request could be served if nothing were used; None where that is too hard to
    tell."""
    return could_be_found(search.snapshot, request, search.work, places, True, search.random)


def _decisive_condition(search: Search) -> Condition | None:
    """The condition without which something could be found."""
    for condition, without in _relaxations(search.request):
        if _fits_unused(search, without, RELAXED_PLACES):
            return condition
    return None


def _relaxations(request: CandidateRequest) -> Iterator[tuple[Condition, CandidateRequest]]:
    """Each condition of a request with the request as it is without it."""
    if request.root_required or request.root_forbidden:
        names = (
            *sorted(request.root_required),
            *[f'!{one}' for one in sorted(request.root_forbidden)],
        )
        nothing: frozenset[str] = frozenset()
        without = dataclasses.replace(request, root_required=nothing, root_forbidden=nothing)
        yield Condition(Reason.ROOT, names), without
    if request.isolate:
        yield Condition(Reason.ISOLATE), dataclasses.replace(request, isolate=False)
    if request.same_subtree:
        names = tuple(','.join(sorted(suffixes)) for suffixes in request.same_subtree)
        yield Condition(Reason.SUBTREE, names), dataclasses.replace(request, same_subtree=())
    for reason, names_of, changes in GROUP_CONDITIONS:
        if names := tuple(dict.fromkeys(n for group in request.groups for n in names_of(group))):
            yield Condition(reason, names), _with_groups(request, changes)


def _with_groups(request: CandidateRequest, changes: Mapping[str, Any]) -> CandidateRequest:
    groups = tuple(dataclasses.replace(group, **changes) for group in request.groups)
    return dataclasses.replace(request, groups=groups)


def _trait_names(group: RequestGroup) -> Iterator[str]:
    yield from _alternatives(group.required)
    yield from (f'!{name}' for name in sorted(group.forbidden))


def _aggregate_names(group: RequestGroup) -> Iterator[str]:
    yield from _alternatives(group.member_of)
    yield from (f'!{name}' for name in sorted(group.forbidden_aggregates))


def _tree_names(group: RequestGroup) -> Iterator[str]:
    if group.in_tree is not None:
        yield group.in_tree


def _alternatives(sets: Iterable[AnyOf]) -> Iterator[str]:
    return (' or '.join(sorted(names)) for names in sets)


# Conditions on groups: the reason, what names there are, and a group without the condition.
GROUP_CONDITIONS: tuple[
    tuple[Reason, Callable[[RequestGroup], Iterable[str]], Mapping[str, Any]], ...
] = (
    (Reason.REQUIRED_TRAIT, _trait_names, {'required': (), 'forbidden': frozenset()}),
    (Reason.AGGREGATE, _aggregate_names, {'member_of': (), 'forbidden_aggregates': frozenset()}),
    (Reason.TREE, _tree_names, {'in_tree': None}),
)
