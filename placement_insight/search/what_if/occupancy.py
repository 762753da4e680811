# SPDX-License-Identifier: Apache-2.0
"""Occupancy: a copy of a cloud in which amounts are taken and given back."""

import itertools
from collections.abc import Mapping, Set
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import Feasibility
from placement_insight.search.tree_sums import ClassSum, sums_of
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.places import (
    NOWHERE,
    STEPS_OF_CLAIM,
    Places,
    excess_of,
    sum_of,
    with_taken,
)
from placement_insight.search.what_if.scenario import Held


class Released(NamedTuple):
    """The amounts that a consumer gave back, and the last return before.

    `excess` is the usage of its pools beyond their capacity. Since a write may leave an excess
    that it does not increase, it is given back too while the consumer is placed, and taken again
    afterwards.
    """

    held: Held
    excess: Held
    before: tuple[int, int]


class Occupancy:
    """The trees of a snapshot in their present state, without those with the root ids `skipped`.

    Skipped trees must not have sharing providers (`Places.without`). `changed_trees` has the
    changed ones by root id, pools included, and `changes` is the number of changes so far.
    `given_back` has the root ids of trees that amounts were given back to, and `last_return` the
    numbers of the last return and of the last one to a pool.
    """

    def __init__(self, places: Places, skipped: Set[int] = NOWHERE) -> None:
        self.places = places
        self.skipped = skipped
        self.changes = 0
        self.given_back = set[int]()
        self.last_return = 0, 0
        self._returns = itertools.count(1)
        self.changed_trees: dict[int, Tree] = {}
        # The number of the last change of each tree by root id, the latest one last.
        self._last_changes: dict[int, int] = {}
        self._sums: dict[int, Mapping[str, ClassSum]] = {}
        self._snapshot = places.snapshot
        self._classes_of_pools = set[str]()
        self._searches: dict[Need, Feasibility] = {}

    def tree(self, root_id: int) -> Tree:
        """Return a tree in its present state."""
        return self.changed_trees.get(root_id) or self.places.snapshot.tree(root_id)

    def sums(self, root_id: int) -> Mapping[str, ClassSum]:
        """Return the present sums of a tree by class."""
        sums = self._sums.get(root_id)
        if sums is None:
            sums = self._sums[root_id] = sums_of(self.tree(root_id)).resources
        return sums

    @property
    def snapshot(self) -> Snapshot:
        """The cloud in its present state, without skipped trees."""
        used: dict[int, dict[str, int]] = {}
        for tree in self.changed_trees.values():
            for member in tree.members:
                used[member.id] = {name: amount for name, _, amount in member.inventories}
        after = self._snapshot.with_used(used)
        gone = [m.id for root_id in self.skipped for m in after.tree(root_id).members]
        return after.with_changes((), gone)

    def candidate(self, need: Need, root_id: int) -> Candidate | None:
        """Return the first candidate of a tree in its present state, None without any.

        :raises BudgetSpent: the budget is spent
        """
        fitting, search = self.places.fitting(need), self.search(need)
        if search is fitting.feasibility and root_id not in self.changed_trees:
            known = fitting.candidates.get(root_id)
            if known is not None:
                return known
        return search.candidate(self.tree(root_id), afresh=True)

    def search(self, need: Need) -> Feasibility:
        """Return the search for a need among trees and pools in their present state."""
        search = self._searches.get(need)
        if search is None:
            search = self.places.fitting(need).feasibility
            # Changes of other classes of pools make no difference.
            if not need.request.resource_classes.isdisjoint(self._classes_of_pools):
                search = Feasibility(self._snapshot, need.request, self.places.work)
            self._searches[need] = search
        return search

    def take(self, taken: Held) -> None:
        """Take amounts from providers; negative ones are given back."""
        self.places.work.spent += STEPS_OF_CLAIM
        snapshot = self._snapshot
        roots = {snapshot.indexes.roots[provider_id] for provider_id in taken}
        pools: dict[int, dict[str, int]] = {}
        for root_id in roots:
            tree = self.changed_trees[root_id] = with_taken(self.tree(root_id), taken)
            self._sums.pop(root_id, None)
            self.changes += 1
            self._last_changes.pop(root_id, None)
            self._last_changes[root_id] = self.changes
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

    def changed_since(self, changes: int) -> list[int]:
        """Return the root ids of trees changed after the first `changes`, the latest first."""
        latest = reversed(self._last_changes.items())
        return [root for root, _ in itertools.takewhile(lambda last: last[1] > changes, latest)]

    def give_back(self, held: Held) -> None:
        """Give amounts back."""
        if not held:
            return
        self.take({i: {n: -amount for n, amount in held[i].items()} for i in held})
        roots = {self._snapshot.indexes.roots[provider_id] for provider_id in held}
        self.given_back |= roots
        number = next(self._returns)
        is_of_pool = any(self.tree(root_id).shape.structure.has_sharing for root_id in roots)
        self.last_return = number, number if is_of_pool else self.last_return[1]

    def release(self, held: Held) -> Released:
        """Give back the allocations of a consumer to place, and the excess of its pools."""
        before = self.last_return
        excess = excess_of(held, self._provider)
        self.give_back(sum_of(held, excess))
        return Released(held, excess, before)

    def take_again(self, released: Released) -> None:
        """Undo a release."""
        self.take(sum_of(released.held, released.excess))
        self.last_return = released.before

    def _provider(self, provider_id: int) -> Provider:
        root_id = self._snapshot.indexes.roots[provider_id]
        return self.tree(root_id).member(provider_id)
