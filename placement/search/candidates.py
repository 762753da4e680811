# SPDX-License-Identifier: Apache-2.0
"""The search: a snapshot and a request in, candidates out.

The steps of `find_candidates` are lazy. `solver.resolved_request` splits the request into requests
of single providers. `solver.anchors` passes over blocks of trees that cannot serve them, gives
each remaining tree a plan, and yields the candidates of the plans until there are enough.
`solver.plan` determines the slots of a tree that can serve each provider request, and combines
them; many combinations are searched by `backtracking` over a constraint `problem`. Reasons for an
empty result are worked out after the answer was sent (`SearchDone`).

Specification:
allocation_candidates, "Terms of the search", "What can satisfy one group", "Combining groups",
"Request-wide filters", "Limits, order and randomisation", "Old microversions".
"""

import dataclasses
import itertools
import random
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest, Strategy
from placement.search.model.snapshot import Snapshot
from placement.search.solver.anchors import (
    anchors_among,
    breadth_first,
    depth_first,
    trees_to_search,
)
from placement.search.solver.search import Search
from placement.search.solver.work import UNBOUNDED, BudgetSpent, Work


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """The candidates that were found.

    `providers` are those of the provider summaries: all members of the trees that allocations are
    taken from, or only the allocated providers when whole trees are not wanted.
    """

    candidates: Sequence[Candidate]
    providers: Sequence[Provider]
    trees_examined: int
    # In steps.
    work: int = 0
    # The budget was spent before the search ended, so there may be more candidates.
    is_cut: bool = False


class SearchDone(NamedTuple):
    """A finished search, with everything needed to explain it."""

    snapshot: Snapshot
    request: CandidateRequest
    result: Result
    seconds: float
    # The number of trees with withheld candidates, by reason.
    withheld: Mapping[str, int] = MappingProxyType({})


def withheld_words(withheld: Mapping[str, int]) -> str:
    """Describe the trees with withheld candidates, given by reason."""
    return ', '.join(
        f'{trees} {"host is" if trees == 1 else "hosts are"} withheld by {reason}'
        for reason, trees in withheld.items()
    )


def find_candidates(
    snapshot: Snapshot,
    request: CandidateRequest,
    generator: random.Random | None = None,
    admits: Callable[[Candidate], bool] | None = None,
    closed: Container[int] = (),
) -> Result:
    """Find the candidates that serve the request, within its limit and its budget.

    Candidates that `admits` rejects are left out before the limit applies. It may add the ids of
    roots to `closed`: no further candidate of these trees is looked for.

    The same request against the same data gives the same candidates in the same order, unless the
    request is randomised: then the generator draws trees and the sharing providers that serve
    them.
    """
    work = Work(request.budget or UNBOUNDED)
    drawing = (generator or random.Random()) if request.randomize else None
    search = Search(
        snapshot, request, work, generator=drawing, keeps_solutions=True, closed=closed
    )
    trees = trees_to_search(search)
    anchors = anchors_among(trees, search)
    is_broad = search.random or request.strategy is Strategy.BREADTH_FIRST
    candidates = breadth_first(anchors) if is_broad else depth_first(anchors)
    once = _distinct(candidates) if snapshot.has_sharing else candidates
    offered = once if admits is None else filter(admits, once)
    found, is_cut = _collected(itertools.islice(offered, request.wanted))
    if not found:
        return Result((), (), search.trees_examined, work.spent, is_cut)
    summarised = _summarised(snapshot, request, found)
    return Result(found, summarised, search.trees_examined, work.spent, is_cut)


def _collected(candidates: Iterable[Candidate]) -> tuple[list[Candidate], bool]:
    """The candidates, and True if the budget was spent before the last."""
    found = list[Candidate]()
    try:
        # The list keeps the candidates found before the budget was spent.
        found.extend(candidates)
    except BudgetSpent:
        return found, True
    return found, False


def _distinct(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """Each candidate once.

    Only candidates that consist of sharing providers alone can come from several anchors, so only
    their identities are held.
    """
    seen: set[tuple[int, ...]] = set()
    for candidate in candidates:
        if candidate.is_all_shared:
            identity = candidate.identity
            if identity in seen:
                continue
            seen.add(identity)
        yield candidate


def _summarised(
    snapshot: Snapshot, request: CandidateRequest, candidates: Sequence[Candidate]
) -> list[Provider]:
    allocated = {
        candidate.providers[number]
        for candidate in candidates
        for number in candidate.layout.allocated
    }
    if not request.summarise_whole_trees:
        return sorted(allocated, key=lambda provider: provider.id)
    roots = sorted({provider.root_id for provider in allocated})
    return [member for root_id in roots for member in snapshot.tree(root_id).members]
