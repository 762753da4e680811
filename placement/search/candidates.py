# SPDX-License-Identifier: Apache-2.0
"""The search: a snapshot and a request in, candidates out.

It reads from here downwards, in `solver`: `resolved_request` divides the request into what single
providers are asked for, `anchors` walks over the trees and lets them yield in turn, `plan` says
which slots of a tree could serve what and finds the ways to do so, if need be by `backtracking`
over a constraint `problem`. `insight.empty_search` says why nothing was found.

Specification:
allocation_candidates, "Terms of the search", "What can satisfy one group", "Combining groups",
"Request-wide filters", "Limits, order and randomisation", "Old microversions".
"""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence

from placement.search.candidate import Candidate
from placement.search.insight.condition import Verdict
from placement.search.insight.empty_search import Explanation, explain_empty
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest, Strategy
from placement.search.model.snapshot import Snapshot
from placement.search.solver.anchors import Anchors, breadth_first, depth_first
from placement.search.solver.search import Search
from placement.search.solver.work import UNBOUNDED, BudgetSpent, Work


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """The candidates that were found.

    `providers` are those to be summarised: the trees of all from which something is taken, or,
    when whole trees are not asked for, only those providers. `trees_examined` and `work`, in
    steps, tell how far the search went; `is_cut` whether it ended because its budget was spent, so
    that there may be more. `explanation` says of an empty answer why it is empty.
    """

    candidates: Sequence[Candidate]
    providers: Sequence[Provider]
    trees_examined: int
    work: int = 0
    is_cut: bool = False
    explanation: Explanation | None = None

    @property
    def verdict(self) -> Verdict:
        """Return that the request fits, or why it does not."""
        if self.candidates:
            return Verdict.FITS
        return Verdict.UNKNOWN if self.explanation is None else self.explanation.verdict


def find_candidates(
    snapshot: Snapshot, request: CandidateRequest, generator: random.Random | None = None
) -> Result:
    """The candidates that serve the request, as many as are wanted and the budget allows.

    The same request against the same data gives the same answer in the same order, unless it is to
    be random: then the generator decides.
    """
    work = Work(request.budget or UNBOUNDED)
    drawing = (generator or random.Random()) if request.randomize else None
    search = Search(snapshot, request, work, generator=drawing)
    candidates, is_cut = _collected(search)
    if not candidates:
        explanation = explain_empty(search, is_cut)
        return Result((), (), search.trees_examined, work.spent, is_cut, explanation)
    if search.random:
        search.random.shuffle(candidates)
    summarised = _summarised(snapshot, request, candidates)
    return Result(candidates, summarised, search.trees_examined, work.spent, is_cut)


def _collected(search: Search) -> tuple[list[Candidate], bool]:
    """As many candidates as are wanted, and whether the budget was spent before."""
    candidates = list[Candidate]()
    try:
        # It keeps those that came before the budget was spent.
        candidates.extend(itertools.islice(_in_order(search), search.request.wanted))
    except BudgetSpent:
        return candidates, True
    return candidates, False


def _in_order(search: Search) -> Iterator[Candidate]:
    """Every candidate once, in the order the request wants; random ones are of many trees, too."""
    request, trees = search.request, Anchors(search).trees()
    is_broad = search.random or request.strategy is Strategy.BREADTH_FIRST
    candidates = breadth_first(trees) if is_broad else depth_first(trees)
    return _distinct(candidates) if search.snapshot.has_sharing else candidates


def _distinct(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """Each candidate once.

    Only one that is made of sharing providers can be found under several anchors; any other
    names its anchor. So no more than some of what was yielded is held.
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
