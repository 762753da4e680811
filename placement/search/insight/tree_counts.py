# SPDX-License-Identifier: Apache-2.0
"""The count of each tree, by whichever way suits the request and the tree."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from placement.search.insight.capacity_answer import Count
from placement.search.insight.claims import Claims, emptied, emptied_tree
from placement.search.insight.closed_form import ClosedForm, upper_bound
from placement.search.insight.provider_masks import ProviderMasks
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent


class Counts(NamedTuple):
    """How many consumers could be claimed now, and if nothing were used."""

    now: Count
    if_empty: Count

    def plus(self, other: 'Counts') -> 'Counts':
        """The sum of both."""
        return Counts(self.now + other.now, self.if_empty + other.if_empty)


ZERO = Counts(Count(0, 0), Count(0, 0))


def exactly(now: int, if_empty: int) -> Counts:
    """Counts that were counted to the end."""
    return Counts(Count(now, now), Count(if_empty, if_empty))


class TreeCounts:
    """Counts the trees of a snapshot.

    `amounts` is all that one consumer takes, by class. `shares_pools` tells whether trees may
    reach providers of other ones.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.work = work
        resolved = ResolvedRequest.of(snapshot, request)
        self.amounts: Mapping[str, int] = resolved.totals
        self.shares_pools = snapshot.has_sharing
        self._is_one_request = len(resolved.provider_requests) == 1
        self._masks = ProviderMasks(snapshot, resolved, work)
        self._closed = ClosedForm(self._masks, self.amounts, sum(resolved.exclusive))
        self._claims_now = Claims(snapshot, request, work)
        self._claims_empty = Claims(snapshot, request, work)
        self._claims_alone = Claims(snapshot, request, work)
        self._emptied: Snapshot | None = None

    @property
    def claims_made(self) -> int:
        """How many consumers were claimed on copies."""
        return self._claims_now.made + self._claims_empty.made + self._claims_alone.made

    def all_trees(self, wanted: Collection[int]) -> tuple[Counts, dict[int, Counts]]:
        """The count of the whole cloud, and those of the wanted trees, by root id, each for
        itself."""
        if not self.amounts:
            return ZERO, dict.fromkeys(wanted, ZERO)
        count_tree = self._one_request if self._is_one_request else self._claimed
        # Providers that serve one request, each of which may be reached from several trees.
        served: dict[int, tuple[int, int]] = {}
        now = if_empty = 0
        total, rows = ZERO, dict[int, Counts]()
        for block in self.snapshot.blocks.values():
            for tree in block.trees.values():
                if self._masks.is_flat(tree):
                    both = self._closed.of_flat(tree)
                    now += both[0]
                    if_empty += both[1]
                    if tree.root_id in wanted:
                        rows[tree.root_id] = exactly(*both)
                    continue
                counts = count_tree(tree, served)
                total = total.plus(counts)
                if tree.root_id in wanted:
                    rows[tree.root_id] = self._alone(tree, counts)
            self.work.spent += len(block.trees) * len(self._masks.table.requests)
            self.work.pause_if_due()
        return total.plus(exactly(now, if_empty)), rows

    def _one_request(self, tree: Tree, served: dict[int, tuple[int, int]]) -> Counts:
        """What the providers add that were not reached from a tree before."""
        self.work.spent += len(tree.members)
        new = {
            provider_id: both
            for provider_id, both in self._closed.of_providers(tree).items()
            if provider_id not in served
        }
        served.update(new)
        return exactly(sum(now for now, _ in new.values()), sum(one for _, one in new.values()))

    def _claimed(self, tree: Tree, _: object) -> Counts:
        """What could be claimed on a tree after all trees before it."""
        if not self._is_sharing(tree):
            return Counts(
                self._count(self._claims_now, tree, lambda one: one.on_tree(tree)),
                self._count(
                    self._claims_empty, tree, lambda one: one.on_tree(emptied_tree(tree)), True
                ),
            )
        if self._emptied is None:
            self._emptied = self._claims_empty.snapshot = emptied(self.snapshot)
        return Counts(
            self._count(self._claims_now, tree, lambda one: one.on_shared(tree.root_id)),
            self._count(self._claims_empty, tree, lambda one: one.on_shared(tree.root_id), True),
        )

    def _alone(self, tree: Tree, counts: Counts) -> Counts:
        """The count of a tree as if nobody claimed from any other."""
        if not self.shares_pools or (not self._is_one_request and not self._is_sharing(tree)):
            return counts
        if self._is_one_request:
            both = self._closed.of_providers(tree).values()
            return exactly(sum(now for now, _ in both), sum(if_empty for _, if_empty in both))
        claims, root_id = self._claims_alone, tree.root_id
        claims.snapshot = self.snapshot
        now = self._count(claims, tree, lambda one: one.on_shared(root_id))
        claims.snapshot = self._emptied or emptied(self.snapshot)
        return Counts(now, self._count(claims, tree, lambda one: one.on_shared(root_id), True))

    def _count(
        self, claims: Claims, tree: Tree, claim: Callable[[Claims], int], is_empty: bool = False
    ) -> Count:
        try:
            made = claim(claims)
        except BudgetSpent:
            providers = [*tree.members, *self._masks.sharing_with(tree)]
            most = upper_bound(providers, self.amounts, is_empty)
            return Count(claims.in_tree, max(claims.in_tree, most))
        return Count(made, made)

    def _is_sharing(self, tree: Tree) -> bool:
        """Whether a tree shares providers with others."""
        return tree.shape.structure.has_sharing or bool(self._masks.sharing_with(tree))
