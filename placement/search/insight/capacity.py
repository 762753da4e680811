# SPDX-License-Identifier: Apache-2.0
"""The number of consumers that could be claimed one after another, now and on an empty cloud.

Where one provider serves the request, or each provider request has one provider in reach, they are
minima of quotients (`closed_form`). Elsewhere consumers are claimed on a copy of the cloud until
they are refused (`feasibility`): one order of claims, which is a lower bound beside an upper one.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.insight.closed_form import Count
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_counts import Side, TreeCounts
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import ClassSum, Tree

# How many places are looked at by claims, unless it is told otherwise.
CAPACITY_BUDGET = 2_000_000


class CapacityRow(NamedTuple):
    """The count of one tree for itself, as if nobody claimed anything from any other tree; or that
    of the request when its providers have to be in one aggregate.

    `uuid` is that of the root or of the aggregate; empty where they have to be in no aggregate.
    """

    uuid: str
    now: Count
    if_empty: Count


@dataclasses.dataclass(frozen=True, slots=True)
class ClassFragmentation:
    """The free amount of one class, and the part of it that this request can use.

    `free` is the sum of what all providers of the class have beyond what is used; `usable` is
    what so many consumers as could be claimed (`now`, at least) would take of it.
    """

    resource_class: str
    capacity: int
    used: int
    free: int
    usable: int


@dataclasses.dataclass(frozen=True, slots=True)
class RowPage:
    """A part of the rows by tree or aggregate, which are in the order of the uuids of these: up to
    `limit` of those that come after the uuid `after`, which need not be there any more."""

    limit: int
    after: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class RequestCapacity:
    """The counts of a request.

    `trees` and `aggregates` are the rows that were asked for, None where none were. With
    `shares_pools` those of trees do not add up: several trees reach the same sharing provider.
    Those of aggregates never do, since they overlap. `has_more` tells whether rows follow the last
    one.
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
        """True where both counts are exact."""
        return self.now.is_exact and self.if_empty.is_exact

    @property
    def last(self) -> str:
        """The uuid of the last row, behind which the next page begins; empty without one."""
        rows = self.aggregates or self.trees
        return rows[-1].uuid if rows else ''

    @property
    def note(self) -> str | None:
        """A sentence on the rows, where they do not add up."""
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
    """Count how often a request would fit, with a page of rows by tree or aggregate if wanted.

    The request's limit makes no difference. Where candidates have to be chosen, counts are bounds,
    which mostly meet; after so many claims, or at the end of the budget, they are wider.
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
    return dataclasses.replace(counted, aggregates=of_each, has_more=has_more)


def capacities_of(
    snapshot: Snapshot, requests: Mapping[str, CandidateRequest], work: SlicedWork | None = None
) -> dict[str, RequestCapacity]:
    """Count how often each request would fit, by the names of the requests.

    They share one budget: each may spend an equal part of what those before it have left over.
    """
    work = work or SlicedWork(CAPACITY_BUDGET)
    capacities = {}
    for number, (name, request) in enumerate(requests.items()):
        part = work.part(work.left // (len(requests) - number))
        capacities[name] = capacity_of(snapshot, request, part)
        work.spent += part.spent
    return capacities


def _page(snapshot: Snapshot, page: RowPage) -> tuple[Sequence[Tree], bool]:
    """The trees of a page by the uuid of the root, and whether more follow."""
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
    """The rows of a page by the uuid of the aggregate, that of none last, and whether more follow.

    They share the rest of the budget as `capacities_of` does.
    """
    structures = {tree.shape.structure for tree in snapshot.trees()}
    every = frozenset[str]().union(*[structure.aggregates for structure in structures])
    uuids = sorted(uuid for uuid in every if uuid > page.after)
    first: Sequence[str | None] = [*uuids, None][: page.limit + 1]
    rows = []
    for number, uuid in enumerate(first[: page.limit]):
        part = work.part(work.left // (len(first) - number))
        counts = TreeCounts(snapshot, _within(request, uuid, every), part, aggregate=uuid)
        rows.append(CapacityRow(uuid or '', *_counted(counts, sums)))
        work.spent += part.spent
    return rows, len(first) > page.limit


def _within(
    request: CandidateRequest, aggregate: str | None, every: frozenset[str]
) -> CandidateRequest:
    """The request with `member_of` in addition, which the group without suffix has if there is
    any, otherwise each; in none of `every` aggregate where it is None."""
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
    """The sums of each of these classes."""
    sums = {name: ClassSum() for name in amounts}
    for tree in snapshot.trees():
        for provider in tree.members:
            kind, used = provider.kind, provider.used
            for name, of_class in sums.items():
                position = kind.profile.position.get(name)
                if position is not None:
                    # A capacity below zero takes nothing from the others.
                    ceiling = max(kind.capacities[position].ceiling, 0)
                    of_class.add(ceiling, used[position])
        work.count(len(tree.members))
    return sums


def _counted(counts: TreeCounts, sums: Mapping[str, ClassSum]) -> tuple[Count, Count]:
    """The counts of all trees, now and if empty."""
    asked = counts.totals.items()
    return (
        _bounded(counts.now, [sums[name].free // amount for name, amount in asked]),
        _bounded(counts.if_empty, [sums[name].capacity // amount for name, amount in asked]),
    )


def _bounded(side: Side, bounds: Iterable[int]) -> Count:
    """The count, where it is not exact within what there is of each class in the whole cloud."""
    return Count(side.least, max(side.least, min(side.most, min(bounds, default=0))))
