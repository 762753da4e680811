# SPDX-License-Identifier: Apache-2.0
"""Questions to the search itself: can one tree, or any, serve a whole request, and how often?"""

from __future__ import annotations

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

# How many consumers are claimed to find out how many there could be.
MAX_CLAIMS = 1_000


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
        self.search = Search(snapshot, request, work, ignores_usage)
        self._plans = Plans(self.search)
        self._known: BoundedCache[object, bool] = BoundedCache(MAX_STATES)

    def fits(self, tree: Tree) -> bool:
        """Tell if there is a candidate with this tree as its anchor."""
        key = self._key(tree)
        known = self._known.get(key)
        if known is None:
            known = self.candidate(tree) is not None
            self._known.add(key, known)
        return known

    def candidate(self, tree: Tree, afresh: bool = False) -> Candidate | None:
        """The first candidate with this tree as its anchor, None where there is none.

        With `afresh` it does not depend on which trees were asked about before.
        Where trees are single sharing providers of the same aggregates, ask it of the first only:
        the candidates of the others are the same.
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
        """Equal for trees of which the same is true."""
        structure = tree.shape.structure
        if tree.root_id in self._plans.named_roots:
            return tree.root_id
        if structure.has_sharing:
            return self._plans.pool_key(structure) or tree.root_id
        return (tree.shape, self.search.usage_of(tree))


def first_candidate(
    snapshot: Snapshot, request: CandidateRequest, work: Work, ignores_usage: bool = False
) -> Candidate | None:
    """The first candidate anywhere, now or if nothing were used; None where there is none.

    Whole blocks of trees are passed over. Raises `BudgetSpent`.
    """
    search = Search(snapshot, request, work, ignores_usage)
    return next(breadth_first(Anchors(search).trees()), None)


def could_be_found(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: Work,
    places: int,
    ignores_usage: bool = False,
) -> bool | None:
    """Tell if there is a candidate anywhere, now or if nothing were used.

    None where so many places, or the rest of the work, do not suffice.
    """
    part = work.part(places)
    try:
        return first_candidate(snapshot, request, part, ignores_usage) is not None
    except BudgetSpent:
        return None
    finally:
        work.spent += part.spent


class Claims:
    """Claims of one request on a copy of the cloud, which begin at a snapshot.

    What is claimed is the first candidate that a search of the tree finds. Trees that reach no
    sharing provider are claimed on by themselves; where providers are shared, the whole snapshot
    is carried along. A tree that has refused the request goes on refusing it, since claims only
    add to what is used, so each tree is visited once.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: Work) -> None:
        self.snapshot = snapshot
        self.request = request
        self.work = work
        self._made = 0
        self._feasibility = Feasibility(snapshot, request, work)

    def on(self, tree: Tree, shares: bool) -> tuple[int, bool]:
        """Claim on a tree; where it `shares` providers with others, these remain taken.

        The number of consumers, and True where that ended before the request was refused: as many
        were claimed as may be, or the work is at an end.
        """
        before = self._made
        try:
            while (candidate := self._next(tree, shares)) is not None:
                if self._made >= MAX_CLAIMS:
                    raise BudgetSpent
                self._made += 1
                used = {
                    provider.id: provider.used_after(amounts)
                    for provider, amounts in candidate.allocations.items()
                }
                if shares:
                    self.snapshot = self.snapshot.with_used(used)
                else:
                    changed = {
                        n: tree.member(n).with_used(of_member) for n, of_member in used.items()
                    }
                    tree = tree.with_used(changed)
        except BudgetSpent:
            return self._made - before, True
        return self._made - before, False

    def _next(self, tree: Tree, shares: bool) -> Candidate | None:
        """The candidate of the next claim, None where it is refused."""
        if not shares:
            return self._feasibility.candidate(tree)
        # To prepare a search takes time too, more with many groups, and it is done for every
        # tree; so nothing is prepared that the work does not suffice for.
        self.work.spend(2 * len(self.request.groups))
        feasibility = Feasibility(self.snapshot, self.request, self.work)
        return feasibility.candidate(self.snapshot.tree(tree.root_id))


def emptied(snapshot: Snapshot) -> Snapshot:
    """The cloud as it would be if nothing were used."""
    return snapshot.with_used({provider.id: {} for provider in snapshot if any(provider.used)})


def emptied_tree(tree: Tree) -> Tree:
    """A tree as it would be if nothing were used."""
    return tree.with_used({member.id: member.with_used({}) for member in tree.members})
