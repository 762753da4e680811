# SPDX-License-Identifier: Apache-2.0
"""The room for a request before changes, which are undone one after the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.provider import InventoryRow, Provider, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ResolvedRequest
from placement_insight.search.promised_room import has_pool
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_counts import TreeCounts


class Former(NamedTuple):
    """What a change made different of a provider, as it was before; None for what it left.

    `taken` has the amounts that the change took by class, negative where it released them.
    `inventories` has the members of each by class, without usage.
    """

    uuid: str
    taken: Mapping[str, int] | None = None
    inventories: Mapping[str, InventoryRow] | None = None
    traits: Collection[str] | None = None
    aggregates: Collection[str] | None = None
    is_created: bool = False
    is_known: bool = True


class RoomBefore:
    """Counts the consumers of a request for which changes took room.

    The changes are those that led to a snapshot, given from the last one on. After a change of a
    tree that is not known, its earlier ones are not known either.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, work: SlicedWork) -> None:
        # Another thread may be adding to the pool of the given one.
        self._snapshot = snapshot.with_own_pool()
        self._request = request
        self._work = work
        self._classes = ResolvedRequest.of(snapshot, request).totals.keys()
        self._unknown: set[int] = set()
        self._counts: dict[int, int | None] = {}

    def may_concern(self, formers: Sequence[Former]) -> bool:
        """True if a change is of a tree that serves the request when it is empty.

        So is one of a provider that is gone, and one that changes what an empty tree has.
        """
        for former in formers:
            root_id = self._snapshot.find_root(former.uuid)
            if root_id is None or former.taken is None:
                return True
            if self._counts_of(root_id).if_empty.at_most > 0:
                return True
        return False

    def undo(self, formers: Sequence[Former]) -> int | None:
        """Undo a change; return the number of consumers for which it took room.

        Negative where it made room; None if that is unknown.
        """
        # With sharing providers the count of a tree depends on other trees.
        is_known = not has_pool(self._snapshot, self._classes)
        of_trees: dict[int, list[Former]] = {}
        for former in formers:
            root_id = self._snapshot.find_root(former.uuid)
            if root_id is None:
                is_known = False
            else:
                of_trees.setdefault(root_id, []).append(former)
        taken = 0
        for root_id, of_tree in of_trees.items():
            after = self._count(root_id)
            for former in of_tree:
                self._undo(root_id, former)
            before = self._count(root_id)
            if before is None or after is None:
                is_known = False
            else:
                taken += before - after
        is_known = is_known and not has_pool(self._snapshot, self._classes)
        return taken if is_known else None

    def _undo(self, root_id: int, former: Former) -> None:
        self._counts.pop(root_id, None)
        provider = self._snapshot.find_by_uuid(former.uuid)
        if provider is None or not former.is_known:
            self._unknown.add(root_id)
        elif root_id not in self._unknown:
            before = self._before(provider, former)
            self._snapshot = before or self._snapshot
            if before is None:
                self._unknown.add(root_id)

    def _before(self, provider: Provider, former: Former) -> Snapshot | None:
        """Return the snapshot before a change; None if the change does not fit to it."""
        if former.is_created:
            tree = self._snapshot.tree(provider.root_id)
            if any(member.parent_id == provider.id for member in tree.members):
                return None
            return self._snapshot.with_changes((), [provider.id])
        used = {name: used for name, _, used in provider.inventories}
        for name, amount in (former.taken or {}).items():
            used[name] = used.get(name, 0) - amount
        if min(used.values(), default=0) < 0:
            return None
        row = provider.as_row()
        limits = row.inventories if former.inventories is None else former.inventories
        if any(amount for name, amount in used.items() if name not in limits):
            return None
        if former.inventories is former.traits is former.aggregates is None:
            return self._snapshot.with_used({provider.id: used})
        return self._snapshot.with_changes([_row_before(row, former, used)])

    def _count(self, root_id: int) -> int | None:
        """Count the consumers that a tree has room for; None if unknown."""
        if root_id in self._unknown:
            return None
        if root_id not in self._snapshot.indexes.roots:
            return 0
        if root_id not in self._counts:
            now = self._counts_of(root_id).now
            self._counts[root_id] = now.at_least if now.at_least == now.at_most else None
        return self._counts[root_id]

    def _counts_of(self, root_id: int) -> TreeCounts:
        only = [self._snapshot.tree(root_id)]
        return TreeCounts(self._snapshot, self._request, self._work, only=only)


def _row_before(row: ProviderRow, former: Former, used: Mapping[str, int]) -> ProviderRow:
    limits = row.inventories if former.inventories is None else former.inventories
    return row._replace(
        inventories={n: one._replace(used=used.get(n, 0)) for n, one in limits.items()},
        traits=row.traits if former.traits is None else former.traits,
        aggregates=row.aggregates if former.aggregates is None else former.aggregates,
    )
