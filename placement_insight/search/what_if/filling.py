# SPDX-License-Identifier: Apache-2.0
"""Filling: the engine that places consumers for survival, drains and moves.

Consumers are placed on a copy, one after another, with trees in one of three orders. A tree that
has refused a need is not tried again, unless amounts were given back: then all trees are tried
once more before a need is without a place.
"""

import heapq
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.tree import Tree
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.occupancy import Occupancy
from placement_insight.search.what_if.places import NOWHERE, Places, amounts_of
from placement_insight.search.what_if.queues import (
    FirstTrees,
    Order,
    Place,
    RankedTrees,
    Suits,
    suits_all,
)
from placement_insight.search.what_if.scenario import Held

MAX_FULLEST = 5

# Maximum number of ranked trees in memory, for all needs together.
MAX_RANKED = 1_000_000


class Fullness(NamedTuple):
    """The fullest class of a tree, given by its root: usage and capacity."""

    root: Provider
    resource_class: str
    used: int
    capacity: int

    def rank(self) -> tuple[float, str]:
        """Return the sort key, smallest for the fullest."""
        return -self.used / max(self.capacity, 1), self.root.uuid


class Filling(Occupancy):
    """Places consumers one after another, outside the trees with the root ids `skipped`.

    Skipped trees must not have sharing providers (`Places.without`).
    """

    def __init__(
        self, places: Places, skipped: Set[int] = NOWHERE, order: Order = Order.FIRST
    ) -> None:
        super().__init__(places, skipped)
        self._order = order
        self._queues: dict[Need, FirstTrees | RankedTrees] = {}
        self._ranked = 0

    def fill(
        self, need: Need, barred: Set[int] = NOWHERE, suits: Suits = suits_all
    ) -> Place | None:
        """Place a consumer of a need, and return its place.

        None if no tree outside of `barred` has a candidate that `suits`.

        :raises BudgetSpent: the budget is spent
        """
        if need not in self._queues:
            if self._order is Order.FIRST:
                self._queues[need] = FirstTrees(self, need)
            else:
                self._rank(need)
        place = self._queues[need].find(barred, suits)
        if place is None and self._queues[need].is_outdated:
            self._rank(need, self._trees_now(need))
            place = self._queues[need].find(barred, suits)
        if place is not None:
            self.take(amounts_of(place.candidate))
        return place

    def _rank(self, need: Need, trees: Iterable[Tree] | None = None) -> None:
        """Rank the trees for a need; if there are too many ranks, forget those of other needs."""
        ranked = self._queues[need] = RankedTrees(self, need, self._order, trees)
        self._ranked += len(ranked)
        if self._ranked > MAX_RANKED:
            self._queues = {need: ranked}
            self._ranked = len(ranked)

    def fill_leaving(
        self, need: Need, held: Held, barred: Set[int] = NOWHERE, is_kept_free: bool = False
    ) -> Place | None:
        """Place a consumer that gives back its allocations `held` if it finds a place.

        Others may take the amounts, unless they are to be kept free.

        :raises BudgetSpent: the budget is spent
        """
        released = self.release(held)
        place = self.fill(need, barred)
        if place is None:
            self.take_again(released)
            return None
        self.take(released.excess)
        if is_kept_free:
            self.take(_beyond(held, amounts_of(place.candidate)))
        return place

    def _trees_now(self, need: Need) -> Iterator[Tree]:
        """Yield the trees that may serve a need in their present state."""
        search = self.search(need)
        for tree in self.places.trees_that_may_serve(search, self._snapshot):
            if tree.root_id not in self.changed_trees:
                yield tree
        yield from self.changed_trees.values()

    def fullest(self, roots: Iterable[int]) -> list[Fullness]:
        """Return the five fullest of the trees with these roots."""
        fullness = [
            # A tree without inventories, which pools serve, has no fullness.
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


def _beyond(held: Held, taken: Held) -> Held:
    """Return the part of a consumer's former allocations that it does not take again."""
    return {
        i: {n: max(amount - taken.get(i, {}).get(n, 0), 0) for n, amount in held[i].items()}
        for i in held
    }
