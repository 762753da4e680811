# SPDX-License-Identifier: Apache-2.0
"""Questions to the search itself: can one tree, or any, serve a whole request?"""

from __future__ import annotations

import dataclasses
import random

from placement.search.candidate import Candidate
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.anchors import Anchors, Plans, breadth_first
from placement.search.solver.search import Search
from placement.search.solver.work import BoundedCache, BudgetSpent, Work

# What it takes to prepare the search, for each group of the request, in places.
PLACES_TO_PREPARE = 10

# For how many states of trees it is remembered whether they fit.
MAX_STATES = 10_000


class Feasibility:
    """One request, asked of one tree after the other, each as an anchor for itself.

    With `ignores_usage` nothing counts as used. Raises `BudgetSpent` when the work is at an end.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: Work,
        ignores_usage: bool = False,
    ) -> None:
        # Requests with many groups are tried out with many changes, each of which is a search.
        work.spent += PLACES_TO_PREPARE * len(request.groups)
        once = dataclasses.replace(request, limit=1, randomize=False)
        self.search = Search(snapshot, once, random.Random(0), work, ignores_usage)
        self._plans = Plans(self.search)
        self.named_roots = self.search.resolved.named_roots
        self._known: BoundedCache[object, bool] = BoundedCache(MAX_STATES)

    def fits(self, tree: Tree) -> bool:
        """Tell if there is a candidate with this tree as its anchor."""
        key = self._key(tree)
        known = self._known.get(key)
        if known is None:
            known = self.candidate(tree) is not None
            self._known.add(key, known)
        return known

    def candidate(self, tree: Tree) -> Candidate | None:
        """The first candidate with this tree as its anchor, None where there is none.

        Where trees are single sharing providers of the same aggregates, ask it of the first only:
        the candidates of the others are the same.
        """
        search = self.search
        search.work.spent += len(tree.members)
        search.work.check()
        if search.resolved.names_missing_tree:
            return None
        plan = self._plans.plan_for(tree)
        if plan.is_infeasible:
            return None
        return next(plan.candidates(tree), None)

    def _key(self, tree: Tree) -> object:
        """Equal for trees of which the same is true."""
        structure = tree.shape.structure
        if tree.root_id in self.named_roots:
            return tree.root_id
        if structure.has_sharing:
            return self._plans.pool_key(structure) or tree.root_id
        return (tree.shape, self.search.usage_of(tree))


def could_be_found(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: Work,
    places: int,
    ignores_usage: bool = False,
) -> bool | None:
    """Tell if there is a candidate anywhere, now or if nothing were used.

    None where so many places, or the rest of the work, do not suffice. Whole blocks of trees are
    passed over.
    """
    part = work.part(places)
    once = dataclasses.replace(request, limit=1, randomize=False)
    search = Search(snapshot, once, random.Random(0), part, ignores_usage)
    if search.resolved.names_missing_tree:
        return False
    try:
        return any(True for _ in breadth_first(Anchors(search).streams()))
    except BudgetSpent:
        return None
    finally:
        work.spent += part.spent
