# SPDX-License-Identifier: Apache-2.0
"""Claiming a request on a copy of the cloud until it is refused.

What is claimed is the first candidate that a search of the tree finds. Trees that reach no sharing
provider are claimed on by themselves; where providers are shared, the whole snapshot is carried
along. A tree that has refused the request goes on refusing it, since claims only add to what is
used, so each tree is visited once.
"""

from __future__ import annotations

from placement.search.candidate import Candidate
from placement.search.insight.feasibility import Feasibility
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent, Work

# How many consumers are claimed to find out how many there could be.
MAX_CLAIMS = 1_000


class Claims:
    """Claims of one request, which begin at a snapshot."""

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
                    provider.id: {n: u + amounts.get(n, 0) for n, _, u in provider.inventories}
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
        self.work.spent += 2 * len(self.request.groups)
        self.work.check()
        feasibility = Feasibility(self.snapshot, self.request, self.work)
        return feasibility.candidate(self.snapshot.tree(tree.root_id))


def emptied(snapshot: Snapshot) -> Snapshot:
    """The cloud as it would be if nothing were used."""
    return snapshot.with_used({provider.id: {} for provider in snapshot if any(provider.used)})


def emptied_tree(tree: Tree) -> Tree:
    """A tree as it would be if nothing were used."""
    return tree.with_used({member.id: member.with_used({}) for member in tree.members})
