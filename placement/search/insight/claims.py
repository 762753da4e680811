# SPDX-License-Identifier: Apache-2.0
"""Claiming a request on a copy of the cloud until it is refused.

What is claimed is the first candidate that a search of the tree finds. Trees that reach no sharing
provider are claimed on by themselves; where providers are shared, the whole snapshot is carried
along. A tree that has refused the request goes on refusing it, since claims only add to what is
used, so each tree is visited once.
"""

from collections.abc import Mapping

from placement.search.insight.feasibility import Feasibility
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, Usage
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.layout import Candidate
from placement.search.solver.work import BudgetSpent, Work

# How many consumers are claimed to find out how many there could be.
MAX_CLAIMS = 1_000

# For how many states of trees the number of claims is remembered.
MAX_STATES = 10_000


class Claims:
    """Claims of one request, which begin at a snapshot.

    `made` counts them. Once as many were made as may be, or the work is at an end, `BudgetSpent`
    is raised.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: Work) -> None:
        self.snapshot = snapshot
        self.request = request
        self.work = work
        self.made = 0
        self.in_tree = 0
        self._feasibility = Feasibility(snapshot, request, work)
        self._known: BoundedCache[tuple[object, Usage], int] = BoundedCache(MAX_STATES)

    def on_tree(self, tree: Tree) -> int:
        """How many are claimed on a tree that shares nothing.

        While it goes on, and when it is cut, `in_tree` is how many were claimed so far.
        """
        self.in_tree = 0
        state = (tree.shape, tree.usage)
        known = self._known.get(state)
        if known is not None and tree.root_id not in self._feasibility.named_roots:
            return known
        while (candidate := self._next(self._feasibility, tree)) is not None:
            tree = tree.with_used(
                {
                    provider.id: provider.with_used(_used_after(provider, amounts))
                    for provider, amounts in candidate.allocations.items()
                }
            )
        if tree.root_id not in self._feasibility.named_roots:
            self._known.add(state, self.in_tree)
        return self.in_tree

    def on_shared(self, root_id: int) -> int:
        """How many are claimed on a tree and the sharing providers it reaches; what they take
        remains taken."""
        self.in_tree = 0
        while True:
            # To prepare a search takes time too, more with many groups, and it is done for every
            # tree; so nothing is prepared that the work does not suffice for.
            self.work.spent += 2 * len(self.request.groups)
            self.work.check()
            feasibility = Feasibility(self.snapshot, self.request, self.work)
            candidate = self._next(feasibility, self.snapshot.tree(root_id))
            if candidate is None:
                return self.in_tree
            self.snapshot = self.snapshot.with_used(
                {
                    provider.id: _used_after(provider, amounts)
                    for provider, amounts in candidate.allocations.items()
                }
            )

    def _next(self, feasibility: Feasibility, tree: Tree) -> Candidate | None:
        """The candidate of the next claim, None where it is refused."""
        candidate = feasibility.candidate(tree)
        if candidate is not None:
            if self.made >= MAX_CLAIMS:
                raise BudgetSpent
            self.made += 1
            self.in_tree += 1
        return candidate


def _used_after(provider: Provider, amounts: Mapping[str, int]) -> dict[str, int]:
    """What is used of a provider after a claim, by class."""
    used = dict(zip(provider.kind.classes, provider.used, strict=True))
    for name, amount in amounts.items():
        used[name] += amount
    return used


def emptied(snapshot: Snapshot) -> Snapshot:
    """The cloud as it would be if nothing were used."""
    return snapshot.with_used({provider.id: {} for provider in snapshot if any(provider.used)})


def emptied_tree(tree: Tree) -> Tree:
    """A tree as it would be if nothing were used."""
    return tree.with_used({member.id: member.with_used({}) for member in tree.members})
