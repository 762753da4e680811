# SPDX-License-Identifier: Apache-2.0
"""Filling: the one engine that places consumers for survival, drains and moves.

Consumers are placed on a copy, one after another, in one of three orders of trees. As long as
nothing is given back, a tree that has refused a need goes on refusing it.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.insight.feasibility import Feasibility
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import ClassSum, Tree, sums_of
from placement.search.what_if.inferred import Need
from placement.search.what_if.places import (
    NOWHERE,
    PLACES_OF_CLAIM,
    Places,
    amounts_of,
    is_over_capacity,
    is_pool,
    with_taken,
)
from placement.search.what_if.scenario import Held

MAX_FULLEST = 5
# To see how full a tree is takes as long as to look at so many places.
PLACES_OF_RANK = 3


class Place(NamedTuple):
    """A tree that serves a need, and what the consumer takes there and of the pools that the tree
    reaches."""

    root_id: int
    candidate: Candidate
    need: Need


# Tells if a candidate of a tree that has room suits a consumer, too.
Suits = Callable[[Candidate], bool]


def suits_all(_candidate: Candidate) -> bool:
    """Every candidate suits."""
    return True


class Order(enum.Enum):
    """The order in which trees are asked for a place: of the snapshot; those first that have most
    room left afterwards; those first that have least."""

    FIRST = 'first'
    ROOMIEST = 'roomiest'
    FULLEST = 'fullest'


class Fullness(NamedTuple):
    """A root, and the class of which its tree is fullest: what is used, and what there is."""

    root: Provider
    resource_class: str
    used: int
    capacity: int

    def rank(self) -> tuple[float, str]:
        """Smallest for the fullest."""
        return -self.used / max(self.capacity, 1), self.root.uuid


class Filling:
    """Consumers that are placed one after another, outside the trees with some roots.

    These must not share anything: `Places.without` sees to that.
    """

    def __init__(
        self, places: Places, skipped: Set[int] = NOWHERE, order: Order = Order.FIRST
    ) -> None:
        self.places = places
        self.skipped = skipped
        self.order = order
        # The trees that were claimed of, by root id, and pools as they are after that.
        self._changed: dict[int, Tree] = {}
        self._sums: dict[int, Mapping[str, ClassSum]] = {}
        self._snapshot = places.snapshot
        self._classes_of_pools = set[str]()
        self._searches: dict[Need, Feasibility] = {}
        self._queues: dict[Need, _FirstTrees | _RankedTrees] = {}
        # The roots of trees that were changed, in turn, and those that were given something back.
        self.changes = list[int]()
        self.given_back = set[int]()

    @property
    def trees(self) -> Mapping[int, Tree]:
        """The trees that were claimed of, as they are then, by root id."""
        return self._changed

    def tree(self, root_id: int) -> Tree:
        """A tree as it is then."""
        return self._changed.get(root_id) or self.places.snapshot.tree(root_id)

    def sums(self, root_id: int) -> Mapping[str, ClassSum]:
        """The sums of a tree as it is then, by class."""
        sums = self._sums.get(root_id)
        if sums is None:
            sums = self._sums[root_id] = sums_of(self.tree(root_id)).resources
        return sums

    @property
    def snapshot(self) -> Snapshot:
        """The cloud with what was claimed, and without the trees that are skipped."""
        used: dict[int, dict[str, int]] = {}
        for tree in self._changed.values():
            for member in tree.members:
                used[member.id] = {name: amount for name, _, amount in member.inventories}
        after = self._snapshot.with_used(used)
        gone = [m.id for root_id in self.skipped for m in after.tree(root_id).members]
        return after.with_changes((), gone)

    def fill(
        self,
        need: Need,
        consumers: int,
        barred: Set[int] = NOWHERE,
        suits: Suits = suits_all,
    ) -> list[Place]:
        """Place so many consumers of a need, outside of `barred` trees: where they are.

        Only a candidate that `suits` them is taken. Fewer where no tree takes another one. Raises
        `BudgetSpent`.
        """
        if need not in self._queues:
            of_order = _FirstTrees if self.order is Order.FIRST else _RankedTrees
            self._queues[need] = of_order(self, need)
        filled = list[Place]()
        while len(filled) < consumers:
            place = self._queues[need].find(barred, suits)
            if place is None:
                break
            self.take(amounts_of(place.candidate))
            filled.append(place)
        return filled

    def candidate(self, need: Need, root_id: int) -> Candidate | None:
        """The first candidate of a tree after what was claimed. Raises `BudgetSpent`."""
        fitting, search = self.places.fitting(need), self._searches.get(need)
        if search is None:
            search = fitting.feasibility
            # What else is claimed of pools makes no difference.
            if not need.request.resource_classes.isdisjoint(self._classes_of_pools):
                search = Feasibility(self._snapshot, need.request, self.places.work)
            self._searches[need] = search
        if search is fitting.feasibility and root_id not in self._changed:
            known = fitting.candidates.get(root_id)
            if known is not None:
                return known
        return search.candidate(self.tree(root_id), afresh=True)

    def take(self, taken: Held) -> None:
        """Take amounts of providers, or give them back where they are below zero."""
        self.places.work.spent += PLACES_OF_CLAIM
        snapshot = self._snapshot
        roots = {snapshot.indexes.roots[provider_id] for provider_id in taken}
        pools: dict[int, dict[str, int]] = {}
        for root_id in roots:
            tree = self._changed[root_id] = with_taken(self.tree(root_id), taken)
            self._sums.pop(root_id, None)
            self.changes.append(root_id)
            if tree.shape.structure.has_sharing:
                pools |= {
                    member.id: {name: used for name, _, used in member.inventories}
                    for member in tree.members
                    if member.id in taken and member.kind.profile.is_sharing
                }
        if pools:
            self._classes_of_pools.update(*pools.values())
            self._snapshot = snapshot.with_used(pools)
            self._searches.clear()

    def give_back(self, held: Held) -> None:
        """Give amounts back."""
        self.take({i: {n: -amount for n, amount in held[i].items()} for i in held})
        self.given_back |= {self._snapshot.indexes.roots[provider_id] for provider_id in held}

    def fullest(self, roots: Iterable[int]) -> list[Fullness]:
        """The fullest of the trees with these roots, up to five."""
        fullness = [
            # Of a tree without inventories, which pools serve, nothing is.
            min(of_tree, key=Fullness.rank)
            for root_id in roots
            if (of_tree := self._fullness(root_id))
        ]
        return heapq.nsmallest(MAX_FULLEST, fullness, key=Fullness.rank)

    def _fullness(self, root_id: int) -> list[Fullness]:
        root = self.tree(root_id).members[0]
        return [
            Fullness(root, name, of_class.used, of_class.capacity)
            for name, of_class in sorted(self.sums(root_id).items())
        ]


class _FirstTrees:
    """The trees that may still serve a need, in the order of the snapshot.

    `find` returns the next place outside of `barred` trees that suits. It raises `BudgetSpent`.
    """

    def __init__(self, filling: Filling, need: Need) -> None:
        self._filling = filling
        self._need = need
        self._fitting = filling.places.fitting(need)
        self._first = 0

    def find(self, barred: Set[int], suits: Suits) -> Place | None:
        filling, number = self._filling, self._first
        while (tree := self._fitting.at(number)) is not None:
            filling.places.work.spend(1)
            root_id, candidate = tree.root_id, None
            if root_id not in filling.skipped and root_id not in barred:
                candidate = filling.candidate(self._need, root_id)
                if candidate is not None and suits(candidate):
                    return Place(root_id, candidate, self._need)
            if number == self._first and candidate is None and root_id not in barred:
                self._first = number + 1
            number += 1
        return None


class _RankedTrees:
    """The trees that may still serve a need, by how full they are afterwards; `find` as above."""

    def __init__(self, filling: Filling, need: Need) -> None:
        self._filling = filling
        self._need = need
        self._amounts = need.totals.items()
        self._sign = 1 if filling.order is Order.ROOMIEST else -1
        # How many of the changes of trees are in the ranks.
        self._noted = len(filling.changes)
        every = filling.places.fitting(need).every
        self._ranks = {
            tree.root_id: self._rank(tree.root_id)
            for tree in (filling.places.snapshot.trees() if every is None else every)
            if self._admits(tree)
        }
        self._heap = [(rank, root_id) for root_id, rank in self._ranks.items()]
        heapq.heapify(self._heap)
        filling.places.work.spend(PLACES_OF_RANK * len(self._heap))

    def find(self, barred: Set[int], suits: Suits) -> Place | None:
        self._note_changes()
        filling, aside = self._filling, list[tuple[float, int]]()
        place = None
        while self._heap and place is None:
            filling.places.work.spend(1)
            rank, root_id = heapq.heappop(self._heap)
            if rank != self._ranks.get(root_id):
                continue
            if root_id not in barred:
                candidate = filling.candidate(self._need, root_id)
                if candidate is None or is_over_capacity(filling.tree(root_id)):
                    del self._ranks[root_id]
                    continue
                if suits(candidate):
                    place = Place(root_id, candidate, self._need)
            aside.append((rank, root_id))
        for entry in aside:
            heapq.heappush(self._heap, entry)
        return place

    def _note_changes(self) -> None:
        filling = self._filling
        roots = dict.fromkeys(filling.changes[self._noted :])
        self._noted = len(filling.changes)
        filling.places.work.spend(PLACES_OF_RANK * len(roots))
        for root_id in roots:
            # One that has refused goes on refusing, unless something was given back.
            if root_id not in self._ranks and root_id not in filling.given_back:
                continue
            rank = self._rank(root_id)
            if rank != self._ranks.get(root_id) and self._admits(filling.tree(root_id)):
                self._ranks[root_id] = rank
                heapq.heappush(self._heap, (rank, root_id))

    def _admits(self, tree: Tree) -> bool:
        skipped = tree.root_id in self._filling.skipped
        return not skipped and not is_pool(tree) and self._need.admits(tree)

    def _rank(self, root_id: int) -> float:
        """The part that would be used of that class of the need of which the tree would be
        fullest, negative where fuller trees come first."""
        sums = self._filling.sums(root_id)
        parts = [
            (sums[name].used + amount) / max(sums[name].capacity, 1)
            for name, amount in self._amounts
            if name in sums
        ]
        return self._sign * max(parts, default=0.0)
