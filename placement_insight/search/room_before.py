# SPDX-License-Identifier: Apache-2.0
"""The room for a request before changes, which are undone one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.kind import SHARING_TRAIT
from placement.search.model.provider import InventoryRow, Provider, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ResolvedRequest
from placement_insight.search.capacity import capacity_of
from placement_insight.search.closed_form import Count
from placement_insight.search.promised_room import has_pool
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_counts import TreeCounts


class Former(NamedTuple):
    """What a change made different of a provider, as it was before; None for what it left.

    `taken` has the amounts that the change took by class, negative where it released them.
    `inventories` has the members of each by class, without usage. `is_known` is False where it
    was different, and nobody knows how. `only_releases` and `keeps_inventories` tell what the
    change cannot have done.
    """

    uuid: str
    taken: Mapping[str, int] | None = None
    inventories: Mapping[str, InventoryRow] | None = None
    traits: Collection[str] | None = None
    aggregates: Collection[str] | None = None
    is_created: bool = False
    only_releases: bool = False
    keeps_inventories: bool = False
    is_known: bool = True


class Undone(NamedTuple):
    """What a change had done to the room.

    `taken` is the number of consumers for which it took room, negative where it made room; None
    if unknown. `roots` are the uuids of the trees that lost room, or may have, and those of
    providers that are gone.
    """

    taken: int | None
    roots: Sequence[str]


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
        # Of the trees without a class of the request, whatever else is not known of them.
        self._useless: set[int] = set()
        self._unknown: set[int] = set()
        # By root; of all trees together if they share providers.
        self._counts: dict[int | None, int | None] = {}

    def may_have_taken(self, formers: Sequence[Former]) -> bool:
        """True if an unknown change may have taken room."""
        return any(not former.only_releases and self._may_matter(former) for former in formers)

    def _may_matter(self, former: Former) -> bool:
        """True if the tree of a provider may have served the request, whatever its usage was."""
        provider = self._snapshot.find_by_uuid(former.uuid)
        if provider is None or not former.keeps_inventories:
            return True
        tree = self._snapshot.tree(provider.root_id)
        near = (*tree.members, *self._snapshot.sharing_with(tree))
        classes = {name for each in near for name in each.kind.profile.classes}
        is_pool = provider.kind.profile.is_sharing and not self._classes.isdisjoint(classes)
        return is_pool or self._classes <= classes

    def undo(self, formers: Sequence[Former]) -> Undone:
        """Undo a change."""
        gone, of_trees = list[str](), dict[int, list[Former]]()
        for former in formers:
            root_id = self._snapshot.find_root(former.uuid)
            if root_id is None:
                gone.append(former.uuid)
            else:
                of_trees.setdefault(root_id, []).append(former)
        uuids = {root_id: self._snapshot.tree(root_id).members[0].uuid for root_id in of_trees}
        if self._is_shared or any(SHARING_TRAIT in (former.traits or ()) for former in formers):
            # With sharing providers the count of a tree depends on other trees.
            taken = self._undone(None, [one for some in of_trees.values() for one in some])
            return Undone(None if gone else taken, sorted([*uuids.values(), *gone]))
        by_root = {
            uuids[root_id]: self._undone(root_id, some) for root_id, some in of_trees.items()
        }
        roots = [uuid for uuid, amount in by_root.items() if amount is None or amount > 0]
        known = [amount for amount in by_root.values() if amount is not None]
        is_known = not gone and len(known) == len(by_root)
        return Undone(sum(known) if is_known else None, sorted([*roots, *gone]))

    @property
    def _is_shared(self) -> bool:
        return has_pool(self._snapshot, self._classes)

    def _undone(self, root_id: int | None, formers: Iterable[Former]) -> int | None:
        """Undo changes, and return how much room they took in a tree; with None, in all."""
        after = self._count(root_id)
        for former in formers:
            self._undo(former)
        before = self._count(root_id)
        return None if before is None or after is None else before - after

    def _undo(self, former: Former) -> None:
        provider = self._snapshot.find_by_uuid(former.uuid)
        root_id = self._snapshot.find_root(former.uuid)
        if provider is None or root_id is None or root_id in self._unknown:
            return
        for known in (root_id, None):
            self._counts.pop(known, None)
        is_known = former.is_known and root_id not in self._useless
        before = self._before(provider, former) if is_known else None
        self._snapshot = before or self._snapshot
        if before is None:
            (self._unknown if self._may_matter(former) else self._useless).add(root_id)

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

    def _count(self, root_id: int | None) -> int | None:
        """Count the consumers that a tree has room for, or all; None if unknown."""
        if root_id in self._unknown or (root_id is None and self._unknown):
            return None
        if root_id is not None and root_id not in self._snapshot.indexes.roots:
            return 0
        if root_id not in self._counts:
            count = (
                capacity_of(self._snapshot, self._request, self._work).now
                if root_id is None
                else self._counted(root_id)
            )
            self._counts[root_id] = count.at_least if count.is_exact else None
        return self._counts[root_id]

    def _counted(self, root_id: int) -> Count:
        now = self._counts_of(root_id).now
        return Count(now.at_least, now.at_most)

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
