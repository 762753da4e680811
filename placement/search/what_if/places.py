# SPDX-License-Identifier: Apache-2.0
"""Places for consumers in a snapshot: the trees that can serve a need, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from placement.search.candidate import Candidate
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.search import BlockFilter
from placement.search.what_if.inferred import Need

NOWHERE: frozenset[int] = frozenset()
# Who fits so many trees is in no hurry.
MANY = 1_000
# How many places a claim counts beside those that its search looks at.
PLACES_OF_CLAIM = 10


class FittingTrees:
    """The trees that can serve a need now, in the order of the snapshot, found when asked for.

    Trees over capacity take nothing.
    """

    def __init__(self, places: Places, need: Need) -> None:
        self._places = places
        self._need = need
        self.feasibility = Feasibility(places.snapshot, need.request, places.work)
        # By root id, the first candidate of each tree that is known.
        self.candidates: dict[int, Candidate] = {}
        self._known = list[Tree]()
        self._others = self._trees()
        self._are_all_known = False

    @property
    def every(self) -> list[Tree] | None:
        """All of them, where it is known which these are."""
        return self._known if self._are_all_known else None

    def at(self, number: int) -> Tree | None:
        """The tree with this number; None where there are fewer.

        Raises `BudgetSpent`, and does so from then on.
        """
        while number >= len(self._known):
            self._places.work.check()
            tree = next(self._others, None)
            if tree is None:
                self._are_all_known = True
                return None
            self._known.append(tree)
        return self._known[number]

    @property
    def scarcity(self) -> int:
        """How many there are, which is not counted beyond `MANY`. Raises `BudgetSpent`."""
        while len(self._known) < MANY and self.at(len(self._known)) is not None:
            pass
        return min(len(self._known), MANY)

    def has_others(self, roots: Set[int]) -> bool:
        """Tell if there are any but those with these roots. Raises `BudgetSpent`."""
        number = 0
        while (tree := self.at(number)) is not None:
            if tree.root_id not in roots:
                return True
            number += 1
        return False

    def _trees(self) -> Iterator[Tree]:
        need, feasibility = self._need, self.feasibility
        if feasibility.search.resolved.names_missing_tree:
            return
        for tree in self._every() if need.less is None else self._of(need.less):
            if is_pool(tree) or not need.admits(tree):
                continue
            candidate = feasibility.candidate(tree, afresh=True)
            # Asked last, of few.
            if candidate is not None and not is_over_capacity(tree):
                self.candidates[tree.root_id] = candidate
                yield tree

    def _every(self) -> Iterator[Tree]:
        """The trees of blocks in which some tree may serve the request."""
        work, block_filter = self._places.work, BlockFilter(self.feasibility.search)
        for block in filter(block_filter.admits, self._places.snapshot.blocks.values()):
            yield from block.trees.values()
            work.spend(len(block.trees))

    def _of(self, less: Need) -> Iterator[Tree]:
        """The trees that serve a need."""
        fitting, number = self._places.fitting(less), 0
        while (tree := fitting.at(number)) is not None:
            yield tree
            number += 1


class Slots:
    """How often a need could be claimed of each tree, all at once.

    Only claims count in whose place a smaller need would be served as well: of providers that
    nobody shares, in any amounts, the whole group without suffix of one of them.
    """

    def __init__(self, places: Places, need: Need) -> None:
        self._places = places
        self._fitting = places.fitting(need)
        self._known = list[tuple[int, int]]()

    def suffice(self, consumers: int, skipped: Set[int]) -> bool:
        """Tell if so many consumers find a place outside the trees with these roots.

        Raises `BudgetSpent`.
        """
        number, slots = 0, 0
        while slots < consumers:
            if number == len(self._known):
                tree = self._fitting.at(number)
                if tree is None:
                    return False
                self._known.append((tree.root_id, self._count(tree)))
            root_id, often = self._known[number]
            if root_id not in skipped:
                slots += often
            number += 1
        return True

    def _count(self, tree: Tree) -> int:
        often, candidate = 0, self._fitting.candidates.get(tree.root_id)
        while candidate is not None and _serves_smaller(candidate):
            often += 1
            self._places.work.spent += PLACES_OF_CLAIM
            tree = with_taken(tree, amounts_of(candidate))
            candidate = self._fitting.feasibility.candidate(tree, afresh=True)
        return often


def _serves_smaller(candidate: Candidate) -> bool:
    unsuffixed = candidate.mappings.get('', ())
    return len(unsuffixed) <= 1 and not any(
        provider.kind.profile.is_sharing
        or any(
            capacity.min_unit > 1 or capacity.step_size > 1
            for capacity in provider.kind.capacities
        )
        for provider in candidate.providers
    )


class Places:
    """The places of a snapshot."""

    def __init__(self, snapshot: Snapshot, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.work = work
        self._fitting: dict[Need, FittingTrees] = {}
        self._slots: dict[Need, Slots] = {}

    def fitting(self, need: Need) -> FittingTrees:
        """The trees that can serve a need."""
        if need not in self._fitting:
            self._fitting[need] = FittingTrees(self, need)
        return self._fitting[need]

    def slots(self, need: Need) -> Slots:
        """How often a need could be claimed."""
        if need not in self._slots:
            self._slots[need] = Slots(self, need)
        return self._slots[need]

    def without(self, roots: Set[int]) -> Places:
        """The places of the cloud without these trees, by root id. Raises `BudgetSpent`."""
        gone = [member.id for root_id in roots for member in self.snapshot.tree(root_id).members]
        self.work.spend(PLACES_OF_CLAIM * len(gone))
        return Places(self.snapshot.with_changes((), gone), self.work)


def amounts_of(candidate: Candidate) -> dict[int, Mapping[str, int]]:
    """The amounts by class that a candidate takes, by the id of the provider."""
    return {provider.id: amounts for provider, amounts in candidate.allocations.items()}


def with_taken(tree: Tree, taken: Mapping[int, Mapping[str, int]]) -> Tree:
    """A tree of whose members so much is taken as well, or given back where it is below zero."""
    changed = {
        member.id: member.with_used(member.used_after(taken[member.id]))
        for member in tree.members
        if member.id in taken
    }
    return tree.with_used(changed)


def is_pool(tree: Tree) -> bool:
    """Tell if a tree is but a pool, where nobody has a place."""
    return len(tree.members) == 1 and tree.shape.structure.has_sharing


def is_over_capacity(tree: Tree) -> bool:
    """Tell if more is used of some provider of a tree than there is."""
    return any(
        used > capacity.ceiling
        for member in tree.members
        for capacity, used in zip(member.kind.capacities, member.used, strict=True)
    )
