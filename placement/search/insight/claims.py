# SPDX-License-Identifier: Apache-2.0
"""Claiming a request on a copy of the cloud until it is refused.

What is claimed is the first candidate that a search of the tree finds. Trees that reach no sharing
provider are claimed on by themselves; where providers are shared, the whole snapshot is carried
along. A tree that has refused the request goes on refusing it, since claims only add to what is
used, so each tree is visited once.
"""

from __future__ import annotations

from collections.abc import Mapping

from placement.search.candidate import Candidate
from placement.search.insight.feasibility import Feasibility
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent, Work

# How many consumers are claimed to find out how many there could be.
MAX_CLAIMS = 1_000


class Claims:
    """Claims of one request, which begin at a snapshot.

    `made` counts them. Each method returns how many were claimed, and True where that ended before
    the request was refused: as many were made as may be, or the work is at an end.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: Work) -> None:
        self.snapshot = snapshot
        self.request = request
        self.work = work
        self.made = 0
        self._feasibility = Feasibility(snapshot, request, work)

    def on_tree(self, tree: Tree) -> tuple[int, bool]:
        """Claim on a tree that shares nothing."""
        before = self.made
        try:
            while (candidate := self._next(self._feasibility, tree)) is not None:
                changed = {
                    provider.id: provider.with_used(_used_after(provider, amounts))
                    for provider, amounts in candidate.allocations.items()
                }
                tree = tree.with_used(changed)
        except BudgetSpent:
            return self.made - before, True
        return self.made - before, False

    def on_shared(self, tree: Tree) -> tuple[int, bool]:
        """Claim on a tree and the sharing providers it reaches; what that takes remains taken."""
        before = self.made
        try:
            while (candidate := self._next_on_shared(tree)) is not None:
                changed = {
                    provider.id: _used_after(provider, amounts)
                    for provider, amounts in candidate.allocations.items()
                }
                self.snapshot = self.snapshot.with_used(changed)
        except BudgetSpent:
            return self.made - before, True
        return self.made - before, False

    def _next_on_shared(self, tree: Tree) -> Candidate | None:
        # To prepare a search takes time too, more with many groups, and it is done for every
        # tree; so nothing is prepared that the work does not suffice for.
        self.work.spent += 2 * len(self.request.groups)
        self.work.check()
        feasibility = Feasibility(self.snapshot, self.request, self.work)
        return self._next(feasibility, self.snapshot.tree(tree.root_id))

    def _next(self, feasibility: Feasibility, tree: Tree) -> Candidate | None:
        """The candidate of the next claim, None where it is refused."""
        candidate = feasibility.candidate(tree)
        if candidate is not None:
            if self.made >= MAX_CLAIMS:
                raise BudgetSpent
            self.made += 1
        return candidate


def _used_after(provider: Provider, amounts: Mapping[str, int]) -> dict[str, int]:
    """The amounts in use of a provider after a claim, by class."""
    return {name: used + amounts.get(name, 0) for name, _, used in provider.inventories}


def emptied(snapshot: Snapshot) -> Snapshot:
    """The cloud as it would be if nothing were used."""
    return snapshot.with_used({provider.id: {} for provider in snapshot if any(provider.used)})


def emptied_tree(tree: Tree) -> Tree:
    """A tree as it would be if nothing were used."""
    return tree.with_used({member.id: member.with_used({}) for member in tree.members})
