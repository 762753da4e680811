# SPDX-License-Identifier: Apache-2.0
"""The capacity that is left for requests after the loss of the worst domain."""

from typing import NamedTuple

from placement.search.model.snapshot import Snapshot
from placement_insight.search.capacity import Requests, capacity_of
from placement_insight.search.closed_form import Count
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_counts import TreeCounts
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.filling import Filling

# Steps to prepare a count, for each group of the request.
STEPS_OF_COUNT = 200


class Left(NamedTuple):
    """The bounds of the count after the loss of the worst domain, and its name."""

    at_least: int
    at_most: int
    domain: str


class LeftAfter:
    """Counts requests after the loss of one domain after the other; `worst` by request name.

    Only lost trees, and those where consumers were placed, are counted again, unless trees share
    providers: then all of them are.
    """

    def __init__(self, snapshot: Snapshot, requests: Requests, work: SlicedWork) -> None:
        self._snapshot = snapshot
        self._requests = requests
        self._work = work
        self._before: dict[str, TreeCounts] = {}
        self.worst: dict[str, Left] = {}

    def count_after(self, domain: Domain, filling: Filling) -> None:
        """Count the requests after the loss of a domain, and keep the minima.

        :raises BudgetSpent: the budget is spent
        """
        for name in self._requests:
            self._work.spend(STEPS_OF_COUNT * len(self._requests[name].groups))
            count = self._count(name, domain, filling)
            left = Left(count.at_least, count.at_most, domain.name)
            self.worst[name] = min(left, self.worst.get(name, left))

    def _count(self, name: str, domain: Domain, filling: Filling) -> Count:
        request = self._requests[name]
        if self._snapshot.has_sharing:
            return capacity_of(filling.snapshot, request, self._work).now
        before = self._before.get(name)
        if before is None:
            roots = {tree.root_id for tree in self._snapshot.trees()}
            before = TreeCounts(self._snapshot, request, self._work, roots)
            self._before[name] = before
        changed = filling.changed_trees
        after = TreeCounts(self._snapshot, request, self._work, only=tuple(changed.values()))
        gone = [before.now.rows[root_id] for root_id in {*domain.roots, *changed}]
        return Count(
            before.now.at_least + after.now.at_least - sum(count.at_least for count in gone),
            before.now.at_most + after.now.at_most - sum(count.at_most for count in gone),
        )
