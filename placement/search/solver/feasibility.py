# SPDX-License-Identifier: Apache-2.0
"""Feasibility of a whole request: on one tree, or on any tree at all.

For callers that need no list of candidates.
"""

from __future__ import annotations

from placement.search.candidate import Candidate
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.anchors import Plans, anchors_among, breadth_first, trees_to_search
from placement.search.solver.search import Search
from placement.search.solver.work import BoundedCache, Work

# Steps to prepare the search, for each group of the request.
STEPS_TO_PREPARE = 10

# Maximum number of states of trees with a cached result.
MAX_STATES = 10_000


class Feasibility:
    """Tests one request on single trees, each as an anchor.

    With `ignores_usage` the cloud counts as empty.

    :raises BudgetSpent: the budget is spent
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: Work,
        ignores_usage: bool = False,
    ) -> None:
        # Callers try requests with many groups in many variants, each with a search of its own.
        work.spent += STEPS_TO_PREPARE * len(request.groups)
        self.search = Search(snapshot, request, work, ignores_usage)
        self._plans = Plans(self.search)
        self._known: BoundedCache[object, bool] = BoundedCache(MAX_STATES)

    def fits(self, tree: Tree) -> bool:
        """True if there is a candidate with this tree as its anchor."""
        key = self._key(tree)
        known = self._known.get(key)
        if known is None:
            known = self.candidate(tree) is not None
            self._known.add(key, known)
        return known

    def candidate(self, tree: Tree, afresh: bool = False) -> Candidate | None:
        """The first candidate with this tree as its anchor, or None.

        With `afresh` the candidate does not depend on the trees tested before. Of trees that are
        single sharing providers in the same aggregates, test the first only: the others have the
        same candidates.
        """
        search = self.search
        search.work.spend(len(tree.members))
        if search.resolved.names_missing_tree:
            return None
        plan = self._plans.plan_for(tree)
        if plan.is_infeasible:
            return None
        if afresh:
            plan.forget_last()
        return next(plan.candidates(tree), None)

    def _key(self, tree: Tree) -> object:
        """Key of the result: equal for trees that must have the same one."""
        structure = tree.shape.structure
        if tree.root_id in self._plans.named_roots:
            return tree.root_id
        if structure.has_sharing:
            return self._plans.pool_key(structure) or tree.root_id
        return (tree.shape, self.search.usage_of(tree))


def first_candidate(
    snapshot: Snapshot, request: CandidateRequest, work: Work, ignores_usage: bool = False
) -> Candidate | None:
    """The first candidate on any tree, or None. With `ignores_usage` the cloud counts as empty.

    Blocks of trees that cannot serve the request are passed over.

    :raises BudgetSpent: the budget is spent
    """
    search = Search(snapshot, request, work, ignores_usage)
    return next(breadth_first(anchors_among(trees_to_search(search), search)), None)
