# SPDX-License-Identifier: Apache-2.0
"""Capacity of a request: how many consumers could be claimed, now and on an empty cloud.

Where one provider serves the request, or each provider request has one provider in reach, counts
are exact: minima of quotients (`closed_form`). Elsewhere these are upper bounds, and claims on a
copy of the cloud, until one is refused, give lower bounds (`claims`).
"""

import dataclasses
import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement_insight.search.closed_form import Count
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_counts import Side, TreeCounts
from placement_insight.search.tree_sums import ClassSum

# Requests by name.
Requests = Mapping[str, CandidateRequest]

# Default budget of claims in steps.
CAPACITY_BUDGET = 2_000_000


class CapacityRow(NamedTuple):
    """The counts of one tree by itself, without claims on other trees, or of one aggregate.

    `uuid` is that of the root or the aggregate, empty for providers in no aggregate.
    """

    uuid: str
    now: Count
    if_empty: Count


class ClassFragmentation(NamedTuple):
    """The free amount of one class, and the part of it that this request can use.

    `free` is the sum over all providers of the class; `usable` is the amount that `now.at_least`
    consumers would take.
    """

    resource_class: str
    capacity: int
    used: int
    free: int
    usable: int


class RowPage(NamedTuple):
    """A page of rows by tree or aggregate, in the order of uuids: the first `limit` after `after`.

    A tree or aggregate with the uuid `after` need not exist.
    """

    limit: int
    after: str = ''


class RequestCapacity(NamedTuple):
    """The counts of a request.

    `trees` and `aggregates` are the requested rows, None if not requested. With `shares_pools` the
    rows of trees do not add up, since several trees reach the same sharing provider; those of
    aggregates never do, since aggregates overlap. `has_more` is True if rows follow the last one.
    """

    now: Count
    if_empty: Count
    fragmentation: tuple[ClassFragmentation, ...]
    shares_pools: bool
    trees: Sequence[CapacityRow] | None = None
    aggregates: Sequence[CapacityRow] | None = None
    has_more: bool = False

    @property
    def is_exact(self) -> bool:
        """True if both counts are exact."""
        return self.now.is_exact and self.if_empty.is_exact

    @property
    def last(self) -> str:
        """The uuid of the last row, after which the next page begins; empty without rows."""
        rows = self.aggregates or self.trees
        return rows[-1].uuid if rows else ''

    @property
    def note(self) -> str | None:
        """A sentence that explains why the rows do not add up, None if they do."""
        if self.aggregates is not None:
            return 'Aggregates overlap, so their rows do not add up: each is for itself.'
        if self.trees is None or not self.shares_pools:
            return None
        return 'Trees share providers, so their rows do not add up: each is for itself.'


def capacity_of(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork | None = None,
    by_root: RowPage | None = None,
    by_aggregate: RowPage | None = None,
) -> RequestCapacity:
    """Count how many times a request would fit, with a page of rows by tree or aggregate.

    The limit of the request is ignored. Where there is a choice of candidates, counts are bounds,
    which usually meet, and are wider apart once the budget is spent.
    """
    work = work or SlicedWork(CAPACITY_BUDGET)
    trees, has_more = ([], False) if by_root is None else _page(snapshot, by_root)
    counts = TreeCounts(snapshot, request, work, {tree.root_id for tree in trees})
    sums = _sums(snapshot, counts.totals, work)
    now, if_empty = _counted(counts, sums)
    rows = [
        CapacityRow(
            tree.members[0].uuid, counts.now.rows[tree.root_id], counts.if_empty.rows[tree.root_id]
        )
        for tree in trees
    ]
    fragmentation = [
        ClassFragmentation(name, of.capacity, of.used, of.free, now.at_least * counts.totals[name])
        for name, of in sums.items()
    ]
    counted = RequestCapacity(
        now,
        if_empty,
        tuple(fragmentation),
        snapshot.has_sharing,
        None if by_root is None else tuple(rows),
        has_more=has_more,
    )
    if by_aggregate is None:
        return counted
    of_each, has_more = _by_aggregate(snapshot, request, work, by_aggregate, sums)
    return counted._replace(aggregates=of_each, has_more=has_more)


def capacities_of(
    snapshot: Snapshot, requests: Requests, work: SlicedWork | None = None
) -> dict[str, RequestCapacity]:
    """Count how many times each request would fit, by name.

    The requests share one budget, of which each may spend an equal part of the remainder.
    """
    work = work or SlicedWork(CAPACITY_BUDGET)
    capacities = {}
    for number, (name, request) in enumerate(requests.items()):
        part = work.part(work.left // (len(requests) - number))
        capacities[name] = capacity_of(snapshot, request, part)
        work.spent += part.spent
    return capacities


def _page(snapshot: Snapshot, page: RowPage) -> tuple[Sequence[Tree], bool]:
    """Return the trees of a page in the order of root uuids, and True if more follow."""
    uuids = (
        (tree.members[0].uuid, tree.root_id)
        for tree in snapshot.trees()
        if tree.members[0].uuid > page.after
    )
    first = heapq.nsmallest(page.limit + 1, uuids)
    return [snapshot.tree(root) for _, root in first[: page.limit]], len(first) > page.limit


def _by_aggregate(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork,
    page: RowPage,
    sums: Mapping[str, ClassSum],
) -> tuple[Sequence[CapacityRow], bool]:
    """Return a page of rows by aggregate, the row of no aggregate last, and True if more follow.

    The rows share the rest of the budget as in `capacities_of`.
    """
    trees = _trees_by_aggregate(snapshot, work)
    every = frozenset(trees)
    uuids = sorted(uuid for uuid in every if uuid > page.after)
    first: Sequence[str | None] = [*uuids, None][: page.limit + 1]
    rows = []
    for number, uuid in enumerate(first[: page.limit]):
        part = work.part(work.left // (len(first) - number))
        only = None if uuid is None else _reaching(snapshot, uuid, trees)
        counts = TreeCounts(snapshot, _within(request, uuid, every), part, only=only)
        rows.append(CapacityRow(uuid or '', *_counted(counts, sums)))
        work.spent += part.spent
    return rows, len(first) > page.limit


def _trees_by_aggregate(snapshot: Snapshot, work: SlicedWork) -> Mapping[str, list[Tree]]:
    """Return the trees with members in each aggregate, in one pass over all trees."""
    trees: dict[str, list[Tree]] = {}
    for tree in snapshot.trees():
        aggregates = tree.shape.structure.aggregates
        for aggregate in aggregates:
            trees.setdefault(aggregate, []).append(tree)
        work.count(1 + len(aggregates))
    return trees


def _reaching(
    snapshot: Snapshot, aggregate: str, trees: Mapping[str, list[Tree]]
) -> Sequence[Tree]:
    """Return the trees that providers of an aggregate may serve, in the order of the snapshot."""
    # Sharing providers of the aggregate may serve trees outside of it.
    sharing = [provider.aggregates for provider in snapshot.sharing_in([aggregate])]
    reached = frozenset([aggregate]).union(*sharing)
    by_root = {tree.root_id: tree for one in reached for tree in trees[one]}
    return [by_root[root_id] for root_id in sorted(by_root)]


def _within(
    request: CandidateRequest, aggregate: str | None, every: frozenset[str]
) -> CandidateRequest:
    """Return the request restricted to an aggregate, or with None to providers in no aggregate.

    The condition goes to the unsuffixed group, or if there is none, to all groups.
    """
    are_all_suffixed = all(group.is_suffixed for group in request.groups)
    groups = [
        group
        if group.is_suffixed and not are_all_suffixed
        else dataclasses.replace(group, forbidden_aggregates=group.forbidden_aggregates | every)
        if aggregate is None
        else dataclasses.replace(group, member_of=(*group.member_of, frozenset([aggregate])))
        for group in request.groups
    ]
    return dataclasses.replace(request, groups=tuple(groups))


def _sums(snapshot: Snapshot, amounts: Mapping[str, int], work: SlicedWork) -> dict[str, ClassSum]:
    """Return capacity, usage and free amount of each class in the whole cloud."""
    sums = {name: ClassSum() for name in amounts}
    for tree in snapshot.trees():
        for provider in tree.members:
            kind, used = provider.kind, provider.used
            for name, of_class in sums.items():
                position = kind.profile.position.get(name)
                if position is not None:
                    # A negative capacity counts as 0.
                    ceiling = max(kind.capacities[position].ceiling, 0)
                    of_class.add(ceiling, used[position])
        work.count(len(tree.members))
    return sums


def _counted(counts: TreeCounts, sums: Mapping[str, ClassSum]) -> tuple[Count, Count]:
    """Return the counts of all trees, now and if empty."""
    asked = counts.totals.items()
    return (
        _bounded(counts.now, [sums[name].free // amount for name, amount in asked]),
        _bounded(counts.if_empty, [sums[name].capacity // amount for name, amount in asked]),
    )


def _bounded(side: Side, bounds: Iterable[int]) -> Count:
    """Return the count, with an upper bound by the amounts of each class in the whole cloud."""
    return Count(side.at_least, max(side.at_least, min(side.at_most, min(bounds, default=0))))
