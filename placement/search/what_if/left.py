# SPDX-License-Identifier: Apache-2.0
"""How often requests could still be claimed after the loss of a domain, at the worst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from placement.search.insight.capacity import capacity_of
from placement.search.insight.closed_form import Count
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_counts import TreeCounts
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.what_if.domains import Domain
from placement.search.what_if.filling import Filling

# To prepare a count takes as long as to look at so many places.
PLACES_OF_COUNT = 200


class Left(NamedTuple):
    """The bounds of the count after the loss of the domain that leaves least."""

    at_least: int
    at_most: int
    domain: str


class LeftAfter:
    """Counts requests after the loss of one domain after the other: `worst` by their names.

    What is lost with a domain, and what those take that are placed, is counted tree by tree; where
    trees share providers, all of them are counted anew.
    """

    def __init__(
        self, snapshot: Snapshot, requests: Mapping[str, CandidateRequest], work: SlicedWork
    ) -> None:
        self._snapshot = snapshot
        self._requests = requests
        self._work = work
        self._before: dict[str, TreeCounts] = {}
        self.worst: dict[str, Left] = {}

    def note(self, domain: Domain, filling: Filling) -> None:
        """Count what is left after the loss of a domain. Raises `BudgetSpent`."""
        for name in self._requests:
            self._work.spend(PLACES_OF_COUNT * len(self._requests[name].groups))
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
        after = TreeCounts(self._snapshot, request, self._work, only=tuple(filling.trees.values()))
        gone = [before.now.rows[root_id] for root_id in {*domain.roots, *filling.trees}]
        return Count(
            before.now.least + after.now.least - sum(count.at_least for count in gone),
            before.now.most + after.now.most - sum(count.at_most for count in gone),
        )
