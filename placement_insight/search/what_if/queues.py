# SPDX-License-Identifier: Apache-2.0
"""Queues: the trees of an occupancy that are tried for a place, in one of three orders.

A tree that has refused a need is not tried again until amounts are given back.
"""

import enum
import heapq
from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.model.tree import Tree
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.occupancy import Occupancy
from placement_insight.search.what_if.places import is_over_capacity, is_pool

# Steps to rank a tree.
STEPS_OF_RANK = 3


class Place(NamedTuple):
    """A tree that serves a need, and the candidate, which may include pools that it reaches."""

    root_id: int
    candidate: Candidate
    need: Need


# True if a consumer may take a candidate of a tree with room.
Suits = Callable[[Candidate], bool]


def suits_all(_candidate: Candidate) -> bool:
    """Accept every candidate."""
    return True


class Order(enum.Enum):
    """The order in which trees are tried: that of the snapshot, or by the room left afterwards."""

    FIRST = 'first'
    ROOMIEST = 'roomiest'
    FULLEST = 'fullest'


# The sign of the used part in ranks, the lowest of which comes first.
SIGNS = {Order.FIRST: 0, Order.ROOMIEST: 1, Order.FULLEST: -1}


class FirstTrees:
    """The trees that may still serve a need, in the order of the snapshot.

    `find` returns the next place outside of `barred` trees that suits, and raises `BudgetSpent`.
    Trees that fit only since amounts were given back are missing.
    """

    def __init__(self, occupancy: Occupancy, need: Need) -> None:
        self._occupancy = occupancy
        self._need = need
        self._fitting = occupancy.places.fitting(need)
        self._first = 0

    @property
    def is_outdated(self) -> bool:
        """True if amounts were given back, so that other trees may serve."""
        return self._occupancy.last_return[0] > 0

    def find(self, barred: Set[int], suits: Suits) -> Place | None:
        occupancy, number = self._occupancy, self._first
        while (tree := self._fitting.at(number)) is not None:
            occupancy.places.work.spend(1)
            root_id, candidate = tree.root_id, None
            if root_id not in occupancy.skipped and root_id not in barred:
                candidate = occupancy.candidate(self._need, root_id)
                if candidate is not None and suits(candidate):
                    return Place(root_id, candidate, self._need)
            if number == self._first and candidate is None and root_id not in barred:
                self._first = number + 1
            number += 1
        return None


class RankedTrees:
    """The trees that may still serve a need, ranked by how full they are afterwards.

    They are `trees`, or by default those that fit the original snapshot. `find` is that of
    `FirstTrees`.
    """

    def __init__(
        self, occupancy: Occupancy, need: Need, order: Order, trees: Iterable[Tree] | None = None
    ) -> None:
        self._last_return = 0 if trees is None else occupancy.last_return[0]
        self._occupancy = occupancy
        self._need = need
        self._amounts = need.request.totals.items()
        self._sign = SIGNS[order]
        # Number of changes of trees that ranks include.
        self._noted = occupancy.changes
        if trees is None:
            trees = occupancy.places.fitting(need).every
        if trees is None:
            trees = occupancy.places.few_with_traits(need)
        if trees is None:
            trees = occupancy.places.snapshot.trees()
        self._ranks = {
            tree.root_id: self._rank(tree.root_id) for tree in trees if self._admits(tree)
        }
        self._heap = [(rank, root_id) for root_id, rank in self._ranks.items()]
        heapq.heapify(self._heap)
        occupancy.places.work.spend(STEPS_OF_RANK * len(self._heap))

    @property
    def is_outdated(self) -> bool:
        """True if amounts of a pool were given back, so that trees without changes may serve."""
        return self._last_return < self._occupancy.last_return[1]

    def __len__(self) -> int:
        return len(self._heap)

    def find(self, barred: Set[int], suits: Suits) -> Place | None:
        self._note_changes()
        occupancy, aside = self._occupancy, list[tuple[float, int]]()
        place = None
        while self._heap and place is None:
            occupancy.places.work.spend(1)
            rank, root_id = heapq.heappop(self._heap)
            if rank != self._ranks.get(root_id):
                continue
            if root_id not in barred:
                candidate = occupancy.candidate(self._need, root_id)
                if candidate is None or is_over_capacity(occupancy.tree(root_id)):
                    del self._ranks[root_id]
                    continue
                if suits(candidate):
                    place = Place(root_id, candidate, self._need)
            aside.append((rank, root_id))
        for entry in aside:
            heapq.heappush(self._heap, entry)
        return place

    def _note_changes(self) -> None:
        occupancy = self._occupancy
        roots = occupancy.changed_since(self._noted)
        self._noted = occupancy.changes
        occupancy.places.work.spend(STEPS_OF_RANK * len(roots))
        for root_id in roots:
            # A tree that has refused is tried again only if amounts were given back.
            if root_id not in self._ranks and root_id not in occupancy.given_back:
                continue
            rank = self._rank(root_id)
            if rank != self._ranks.get(root_id) and self._admits(occupancy.tree(root_id)):
                self._ranks[root_id] = rank
                heapq.heappush(self._heap, (rank, root_id))

    def _admits(self, tree: Tree) -> bool:
        skipped = tree.root_id in self._occupancy.skipped
        return not skipped and not is_pool(tree) and self._need.admits(tree)

    def _rank(self, root_id: int) -> float:
        """Return the used part of the tree's fullest class after the need, signed by the order."""
        sums = self._occupancy.sums(root_id)
        parts = [
            (sums[name].used + amount) / max(sums[name].capacity, 1)
            for name, amount in self._amounts
            if name in sums
        ]
        return self._sign * max(parts, default=0.0)
