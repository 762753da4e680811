# SPDX-License-Identifier: Apache-2.0
"""Places for consumers: the one engine that survival, drains and moves ask.

`Places` knows for each need which trees can serve it now, `Filling` places consumers on a copy,
one after another. Nothing is released, so a tree that has refused a need goes on refusing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement.search.solver.search import BlockFilter
from placement.search.what_if.inferred import Need

NOWHERE: frozenset[int] = frozenset()
# Who fits so many trees is in no hurry.
MANY = 1_000
# How many places a claim counts beside those that its search looks at.
PLACES_OF_CLAIM = 10


class Place(NamedTuple):
    """A tree, and what a consumer takes there and of the pools that the tree reaches."""

    root_id: int
    candidate: Candidate


class FittingTrees:
    """The trees that can serve a need now, in the order of the snapshot, found when asked for.

    Trees over capacity take nothing.
    """

    def __init__(self, places: Places, need: Need) -> None:
        self._places = places
        self._need = need
        self.feasibility = Feasibility(places.snapshot, need.request, places.work)
        self._known = list[tuple[Tree, Candidate]]()
        self._others = self._trees()

    def at(self, number: int) -> tuple[Tree, Candidate] | None:
        """The tree with this number, and its first candidate; None where there are fewer.

        Raises `BudgetSpent`, and does so from then on.
        """
        while number >= len(self._known):
            self._places.work.check()
            fitting = next(self._others, None)
            if fitting is None:
                return None
            self._known.append(fitting)
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
        while (fitting := self.at(number)) is not None:
            if fitting[0].root_id not in roots:
                return True
            number += 1
        return False

    def _trees(self) -> Iterator[tuple[Tree, Candidate]]:
        need, feasibility = self._need, self.feasibility
        if feasibility.search.resolved.names_missing_tree:
            return
        for tree in self._every() if need.less is None else self._of(need.less):
            if is_pool(tree) or not need.admits(tree):
                continue
            candidate = feasibility.candidate(tree, afresh=True)
            # Asked last, of few.
            if candidate is not None and not is_over_capacity(tree):
                yield tree, candidate

    def _every(self) -> Iterator[Tree]:
        """The trees of blocks in which some tree may serve the request."""
        work, block_filter = self._places.work, BlockFilter(self.feasibility.search)
        for block in filter(block_filter.admits, self._places.snapshot.blocks.values()):
            yield from block.trees.values()
            work.spend(len(block.trees))

    def _of(self, less: Need) -> Iterator[Tree]:
        """The trees that serve a need."""
        fitting, number = self._places.fitting(less), 0
        while (at := fitting.at(number)) is not None:
            yield at[0]
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
                fitting = self._fitting.at(number)
                if fitting is None:
                    return False
                self._known.append((fitting[0].root_id, self._count(*fitting)))
            root_id, often = self._known[number]
            if root_id not in skipped:
                slots += often
            number += 1
        return True

    def _count(self, tree: Tree, candidate: Candidate | None) -> int:
        often = 0
        while candidate is not None and _serves_smaller(candidate):
            often += 1
            self._places.work.spent += PLACES_OF_CLAIM
            tree = claimed(tree, candidate)
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
        self._pools: dict[Structure, bool] = {}

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


class Filling:
    """Consumers that are placed one after another, outside the trees with some roots.

    These must not share anything: `Places.without` sees to that.
    """

    def __init__(self, places: Places, skipped: Set[int] = NOWHERE) -> None:
        self._places = places
        self._skipped = skipped
        # The trees that were claimed of, by root id, and pools as they are after that.
        self._changed: dict[int, Tree] = {}
        self._snapshot = places.snapshot
        # For each need the number of the first tree that may still serve it, and searches that
        # know what was claimed of pools.
        self._first = Counter[Need]()
        self._searches: dict[Need, Feasibility] = {}

    @property
    def trees(self) -> dict[int, Tree]:
        """The trees that were claimed of, as they are then, by root id."""
        return self._changed

    @property
    def snapshot(self) -> Snapshot:
        """The cloud with what was claimed, and without the trees that are skipped."""
        used: dict[int, dict[str, int]] = {}
        for tree in self._changed.values():
            for member in tree.members:
                used[member.id] = {name: amount for name, _, amount in member.inventories}
        after = self._snapshot.with_used(used)
        gone = [m.id for root_id in self._skipped for m in after.tree(root_id).members]
        return after.with_changes((), gone)

    def fill(self, need: Need, consumers: int, barred: Set[int] = NOWHERE) -> list[Place]:
        """Place so many consumers of a need, outside of `barred` trees: where they are.

        Fewer where no tree takes another one. Raises `BudgetSpent`.
        """
        filled = list[Place]()
        while len(filled) < consumers:
            place = self._next(need, barred)
            if place is None:
                break
            self._claim(place)
            filled.append(place)
        return filled

    def _next(self, need: Need, barred: Set[int]) -> Place | None:
        fitting = self._places.fitting(need)
        number = self._first[need]
        while (at := fitting.at(number)) is not None:
            tree, candidate = at
            self._places.work.spend(1)
            if tree.root_id not in self._skipped and tree.root_id not in barred:
                place = self._candidate(need, tree, candidate)
                if place is not None:
                    return Place(tree.root_id, place)
            if number == self._first[need] and tree.root_id not in barred:
                self._first[need] = number + 1
            number += 1
        return None

    def _candidate(self, need: Need, tree: Tree, first: Candidate) -> Candidate | None:
        """The first candidate of a tree after what was claimed; `first` was so before."""
        is_as_before = self._snapshot is self._places.snapshot
        if tree.root_id not in self._changed and is_as_before:
            return first
        tree = self._changed.get(tree.root_id, tree)
        if is_as_before:
            return self._places.fitting(need).feasibility.candidate(tree, afresh=True)
        if need not in self._searches:
            work = self._places.work
            self._searches[need] = Feasibility(self._snapshot, need.request, work)
        return self._searches[need].candidate(tree, afresh=True)

    def _claim(self, place: Place) -> None:
        self._places.work.spent += PLACES_OF_CLAIM
        for root_id in {provider.root_id for provider in place.candidate.providers}:
            tree = self._changed.get(root_id) or self._places.snapshot.tree(root_id)
            self._changed[root_id] = claimed(tree, place.candidate)
        pools = {
            provider.id: self._snapshot.provider(provider.id).used_after(amounts)
            for provider, amounts in place.candidate.allocations.items()
            if provider.kind.profile.is_sharing
        }
        if pools:
            self._snapshot = self._snapshot.with_used(pools)
            self._searches.clear()


def claimed(tree: Tree, candidate: Candidate) -> Tree:
    """A tree after a claim of a candidate."""
    changed = {
        provider.id: member.with_used(member.used_after(amounts))
        for provider, amounts in candidate.allocations.items()
        if provider.root_id == tree.root_id
        for member in [tree.member(provider.id)]
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
