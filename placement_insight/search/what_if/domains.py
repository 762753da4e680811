# SPDX-License-Identifier: Apache-2.0
"""Failure domains: trees that fail together."""

import heapq
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from placement.search.model.snapshot import Snapshot


class Domain(NamedTuple):
    """Trees that fail together, by root id, and the aggregates that fail with them."""

    name: str
    roots: frozenset[int]
    aggregates: frozenset[str] = frozenset()


def root_domains(snapshot: Snapshot, after: str, limit: int) -> tuple[list[Domain], bool]:
    """Return the first `limit` domains of one tree each, and True if more follow.

    Trees come in the order of root uuids, after `after`; only trees with allocations and without
    sharing providers count.
    """
    roots = (
        (tree.members[0].uuid, tree.root_id)
        for tree in snapshot.trees()
        if tree.members[0].uuid > after
        and not tree.shape.structure.has_sharing
        and any(map(any, tree.usage))
    )
    first = heapq.nsmallest(limit + 1, roots)
    domains = [Domain(uuid, frozenset([root_id])) for uuid, root_id in first[:limit]]
    return domains, len(first) > limit


def roots_by_aggregate(snapshot: Snapshot) -> Mapping[str, frozenset[int]]:
    """Return the ids of the roots in each aggregate, without sharing providers."""
    roots: dict[str, set[int]] = defaultdict(set)
    for tree in snapshot.trees():
        root = tree.members[0]
        for aggregate in () if root.kind.profile.is_sharing else root.aggregates:
            roots[aggregate].add(tree.root_id)
    return {aggregate: frozenset(ids) for aggregate, ids in roots.items()}
