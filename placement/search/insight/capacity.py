# SPDX-License-Identifier: Apache-2.0
"""How many consumers of a request could be claimed one after another, now and on an empty cloud.

Where one provider serves the request it is a division (`closed_form`). Elsewhere consumers are
claimed on a copy of the cloud until they are refused (`claims`), and after so many of them bounds
are told instead.
"""

import heapq
import sys
from collections.abc import Mapping, Sequence

from placement.search.insight.capacity_answer import (
    ClassFragmentation,
    Count,
    Page,
    RequestCapacity,
    TreeCapacity,
)
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_counts import TreeCounts
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree

# How many places are looked at by claims, unless it is told otherwise.
CAPACITY_BUDGET = 2_000_000


def capacity_of(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork | None = None,
    by_root: Page | None = None,
) -> RequestCapacity:
    """How often a request would fit, with a page of rows by tree where one is wanted.

    The request's limit makes no difference. Where claims or the budget do not suffice, counts are
    bounds.
    """
    work = work or SlicedWork(CAPACITY_BUDGET)
    trees, has_more = ([], False) if by_root is None else _page(snapshot, by_root)
    counts = TreeCounts(snapshot, request, work)
    total, rows = counts.all_trees({tree.root_id for tree in trees})
    sums = _sums(snapshot, counts.amounts, work)
    now = _bounded(total.now, counts.amounts, {name: free for name, (_, _, free) in sums.items()})
    if_empty = _bounded(total.if_empty, counts.amounts, {name: s[0] for name, s in sums.items()})
    return RequestCapacity(
        now,
        if_empty,
        tuple(
            [
                ClassFragmentation(name, *sums[name], now.at_least * amount)
                for name, amount in counts.amounts.items()
            ]
        ),
        counts.shares_pools,
        None
        if by_root is None
        else tuple([TreeCapacity(one.members[0].uuid, *rows[one.root_id]) for one in trees]),
        has_more,
        work.spent,
        counts.claims_made,
    )


def capacities_of(
    snapshot: Snapshot, requests: Mapping[str, CandidateRequest], work: SlicedWork | None = None
) -> dict[str, RequestCapacity]:
    """How often each request would fit, by the names of the requests.

    They share one budget: each may spend an equal part of what those before it have left over.
    """
    work = work or SlicedWork(CAPACITY_BUDGET)
    found = {}
    for number, (name, request) in enumerate(requests.items()):
        left = sys.maxsize if work.budget is None else max(work.budget - work.spent, 0)
        part = work.part(left // (len(requests) - number))
        found[name] = capacity_of(snapshot, request, part)
        work.spent += part.spent
    return found


def _page(snapshot: Snapshot, page: Page) -> tuple[Sequence[Tree], bool]:
    """The trees of a page by the uuid of the root, and whether more follow."""
    uuids = (
        (tree.members[0].uuid, tree.root_id)
        for block in snapshot.blocks.values()
        for tree in block.trees.values()
        if tree.members[0].uuid > page.after
    )
    found = heapq.nsmallest(page.limit + 1, uuids)
    return [snapshot.tree(root) for _, root in found[: page.limit]], len(found) > page.limit


def _sums(
    snapshot: Snapshot, amounts: Mapping[str, int], work: SlicedWork
) -> dict[str, tuple[int, int, int]]:
    """By class the capacity, what is used, and what is free, of all providers."""
    sums = {name: [0, 0, 0] for name in amounts}
    for block in snapshot.blocks.values():
        for tree in block.trees.values():
            for provider in tree.members:
                kind, used = provider.kind, provider.used
                for name, of_class in sums.items():
                    position = kind.profile.position.get(name)
                    if position is not None:
                        ceiling, taken = kind.capacities[position].ceiling, used[position]
                        # A capacity below zero, or used beyond, takes nothing from the others.
                        if ceiling > 0:
                            of_class[0] += ceiling
                        of_class[1] += taken
                        if ceiling > taken:
                            of_class[2] += ceiling - taken
            work.spent += len(tree.members)
        work.pause_if_due()
    return {name: (of_all, used, free) for name, (of_all, used, free) in sums.items()}


def _bounded(count: Count, amounts: Mapping[str, int], room: Mapping[str, int]) -> Count:
    """The count, where it is not exact within what there is of each class in the whole cloud."""
    most = min([room[name] // amount for name, amount in amounts.items()], default=0)
    return Count(count.at_least, max(count.at_least, min(count.at_most, most)))
