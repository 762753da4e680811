# SPDX-License-Identifier: Apache-2.0
"""The room for a request before changes, which are undone one after the other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.kind import SHARING_TRAIT
from placement.search.model.provider import InventoryRow, Provider, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight.search.capacity import capacity_of
from placement_insight.search.closed_form import Count
from placement_insight.search.promised_room import has_pool
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_counts import TreeCounts

# Stands for the trees of providers that are gone.
_GONE = 0


class Former(NamedTuple):
    """A provider before a change, as far as the change made it different; otherwise None.

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
    """The effect of a change on the room.

    `has_taken` is True if it took room, or may have. `taken` is the number of consumers for which
    it did, negative where it made room; `before` and `after` are the numbers for which there was
    room in all trees; None if unknown. `roots` are the uuids of the trees that lost room, or may
    have, and those of providers that are gone.
    """

    has_taken: bool
    taken: int | None = None
    before: int | None = None
    after: int | None = None
    roots: Sequence[str] = ()


class RoomBefore:
    """Counts the consumers of a request for which changes took room.

    The changes are those that led to a snapshot, given from the last one on; `room` is the number
    in it, None if unknown. After a change of a tree that is not known, its earlier ones are not
    known either.
    """

    def __init__(
        self, snapshot: Snapshot, request: CandidateRequest, room: int | None, work: SlicedWork
    ) -> None:
        # Another thread may be adding to the pool of the given one.
        self._snapshot = snapshot.with_own_pool()
        self._request = request
        self._work = work
        self._classes = request.resource_classes
        # Of the trees without a class of the request, whatever else is not known of them.
        self._useless: set[int] = set()
        self._unknown: set[int] = set()
        # By root; of all trees with None.
        self._counts: dict[int | None, int | None] = {None: room}

    def undo(self, formers: Sequence[Former]) -> Undone:
        """Undo a change."""
        gone, of_trees = list[str](), dict[int, list[Former]]()
        for former in formers:
            root_id = self._snapshot.find_root(former.uuid)
            if root_id is None:
                gone.append(former.uuid)
                self._unknown.add(_GONE)
            else:
                of_trees.setdefault(root_id, []).append(former)
        uuids = {root_id: self._snapshot.tree(root_id).members[0].uuid for root_id in of_trees}
        may_take = any(not former.only_releases for former in formers)
        shares = any(SHARING_TRAIT in (former.traits or ()) for former in formers)
        if shares or has_pool(self._snapshot, self._classes):
            if not may_take:
                # A count of all trees takes long.
                self._undo(formers)
                return Undone(False)
            after, taken = self._count(None), self._undone(None, formers)
            before, roots = self._count(None), [*uuids.values()]
        else:
            after = self._count(None)
            by_root = {root_id: self._undone(root_id, some) for root_id, some in of_trees.items()}
            known = [one for one in by_root.values() if one is not None]
            taken = sum(known) if len(known) == len(by_root) else None
            before = None if after is None or taken is None else after + taken
            self._counts[None] = before
            roots = [uuids[root] for root, one in by_root.items() if one is None or one > 0]
        if gone or taken is None:
            has_taken = may_take and any(map(self._may_matter, formers))
            return Undone(has_taken, None, None, None, sorted([*roots, *gone]))
        return Undone(taken > 0, taken, before, after, sorted(roots))

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

    def _undone(self, root_id: int | None, formers: Iterable[Former]) -> int | None:
        """Undo changes, and return how much room they took in a tree; with None, in all."""
        after = self._count(root_id)
        self._undo(formers)
        before = self._count(root_id)
        return None if before is None or after is None else before - after

    def _undo(self, formers: Iterable[Former]) -> None:
        for former in formers:
            provider = self._snapshot.find_by_uuid(former.uuid)
            if provider is None or provider.root_id in self._unknown:
                continue
            for known in (provider.root_id, None):
                self._counts.pop(known, None)
            is_known = former.is_known and provider.root_id not in self._useless
            before = self._before(provider, former) if is_known else None
            self._snapshot = before or self._snapshot
            if before is None:
                lost = self._unknown if self._may_matter(former) else self._useless
                lost.add(provider.root_id)

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
            if root_id is None:
                count = capacity_of(self._snapshot, self._request, self._work).now
            else:
                only = [self._snapshot.tree(root_id)]
                now = TreeCounts(self._snapshot, self._request, self._work, only=only).now
                count = Count(now.at_least, now.at_most)
            self._counts[root_id] = count.at_least if count.is_exact else None
        return self._counts[root_id]


def _row_before(row: ProviderRow, former: Former, used: Mapping[str, int]) -> ProviderRow:
    limits = row.inventories if former.inventories is None else former.inventories
    return row._replace(
        inventories={n: one._replace(used=used.get(n, 0)) for n, one in limits.items()},
        traits=row.traits if former.traits is None else former.traits,
        aggregates=row.aggregates if former.aggregates is None else former.aggregates,
    )
