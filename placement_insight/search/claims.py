# SPDX-License-Identifier: Apache-2.0
"""Successive claims of one request on a copy of the cloud."""

from placement.search.candidate import Candidate
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import Feasibility
from placement.search.solver.work import BudgetSpent, Work
from placement_insight.search.closed_form import quotients
from placement_insight.search.sliced_work import ITEMS_BETWEEN_CHECKS, SlicedWork


class Claims:
    """Claims one request repeatedly, tree by tree, beginning at a snapshot.

    Each search of a tree yields its first candidate, which is claimed as many times as there is
    room. Where providers are shared, usage is carried along in a copy of the whole snapshot,
    otherwise in one of the tree. Each tree is visited once: claims only add usage, so a tree that
    has refused the request stays full.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: Work) -> None:
        self.request = request
        self.work = work
        self._snapshot = snapshot
        self._feasibility: Feasibility | None = None

    def begin(self, snapshot: Snapshot, work: Work) -> None:
        """Begin again at another snapshot of the same providers, with another budget."""
        self.work = work
        if self._snapshot is not snapshot:
            self._snapshot = snapshot
            self._feasibility = None

    def claim(self, tree: Tree, shares: bool) -> tuple[int, bool]:
        """Claim on a tree; if it `shares` providers with others, their usage is kept.

        Return the number of consumers, and True if the budget was spent before the request was
        refused.
        """
        consumers = 0
        if shares:
            tree = self._snapshot.tree(tree.root_id)
        try:
            # A search prepared before the last claims may find candidates without room, but misses
            # none.
            while (candidate := self._search().candidate(tree)) is not None:
                often = self._count_fits(candidate, tree)
                consumers += often
                if often:
                    tree = self._with_claims(candidate, tree, often, shares)
                else:
                    self._feasibility = None
        except BudgetSpent:
            return consumers, True
        return consumers, False

    def _search(self) -> Feasibility:
        """Return the prepared search; a new one sees the usage of the claims so far."""
        if self._feasibility is None:
            # Preparing a search takes time for each group.
            self.work.spend(2 * len(self.request.groups))
            self._feasibility = Feasibility(self._snapshot, self.request, self.work)
        return self._feasibility

    def _current(self, provider: Provider, tree: Tree) -> Provider:
        """Return a provider of a candidate with its present usage."""
        if provider.root_id == tree.root_id:
            return tree.member(provider.id)
        return self._snapshot.provider(provider.id)

    def _count_fits(self, candidate: Candidate, tree: Tree) -> int:
        """Return how many times a candidate of a tree can be claimed."""
        return min(
            quotients(self._current(provider, tree), amounts)[0]
            for provider, amounts in candidate.allocations.items()
        )

    def _with_claims(self, candidate: Candidate, tree: Tree, often: int, shares: bool) -> Tree:
        """Return the tree after claims of a candidate by this number of consumers."""
        used = {
            provider.id: self._current(provider, tree).used_after(
                {name: often * amount for name, amount in amounts.items()}
            )
            for provider, amounts in candidate.allocations.items()
        }
        if shares:
            self._snapshot = self._snapshot.with_used(used)
            return self._snapshot.tree(tree.root_id)
        return tree.with_used({n: tree.member(n).with_used(used[n]) for n in used})


def emptied(snapshot: Snapshot, work: SlicedWork) -> Snapshot:
    """Return the cloud without usage."""
    used = [provider.id for provider in snapshot if any(provider.used)]
    for start in range(0, len(used), ITEMS_BETWEEN_CHECKS):
        part = used[start : start + ITEMS_BETWEEN_CHECKS]
        snapshot = snapshot.with_used({key: {} for key in part})
        work.count(len(part))
    return snapshot


def emptied_tree(tree: Tree) -> Tree:
    """Return a tree without usage."""
    return tree.with_used({member.id: member.with_used({}) for member in tree.members})
