# SPDX-License-Identifier: Apache-2.0
"""The changes that took room from a promise, by the history."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement.db.rows import Connection, Row
from placement.db.statements import providers
from placement.feed.keeper import FeedBypassed
from placement.search.model.provider import InventoryRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight.history import statements
from placement_insight.history.statements import SubjectKind
from placement_insight.promises.promise import Promise
from placement_insight.search.capacity import capacity_of
from placement_insight.search.closed_form import Count
from placement_insight.search.room_before import Former, RoomBefore, Undone
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.statements import RowPage

# Maximum number of rows of providers that are read, and of earlier rows of the same consumers and
# providers; and of changes that are listed.
MAX_ROWS = 2_000
MAX_EARLIER = 20_000
MAX_TAKERS = 20

# Number of steps of counts before changes: some seconds where trees share providers.
BUDGET = 400_000

# Parts of a provider that each row with one has in full.
_PARTS = ('inventories', 'traits', 'aggregates')
_CREATED = 'resource_providers.create'


class Change(NamedTuple):
    """The changes of providers by one request: its last row, and what was before it."""

    row: Row
    owners: frozenset[str | None]
    formers: Sequence[Former]


class Past(NamedTuple):
    """A snapshot, and the changes that led to it, the last one first."""

    snapshot: Snapshot
    changes: Sequence[Change]


class Taker(NamedTuple):
    """A change that took room, and what it had done."""

    change: Change
    undone: Undone


class Takers(NamedTuple):
    """The latest changes that took room from a promise, the last one first.

    `breaking` is the one of them that broke the promise; None if it is kept, or was broken before
    the changes that are known. `followed_to` is the last row of the earliest change.
    """

    room: Count
    listed: Sequence[Taker] = ()
    breaking: Taker | None = None
    followed_to: Row | None = None

    @property
    def known(self) -> Sequence[Taker]:
        """All that are known."""
        return self.listed if self.breaking is None else (*self.listed, self.breaking)


# Those of a promise whose request is refused.
NONE = Takers(Count.exactly(0))


def read_past(connection: Connection, snapshot: Snapshot) -> Past:
    """Read the changes that led to a snapshot, in a transaction of its moment.

    :raises FeedBypassed: the snapshot has a provider that does not exist
    """
    newest = RowPage(None, None, MAX_ROWS)
    listed = statements.list_rows(connection, {'kind': str(SubjectKind.PROVIDER)}, newest)
    # Earlier versions wrote rows without uuid, of providers that were deleted by hand before.
    rows = [row for row in listed if row.uuid is not None]
    known = _Known(connection, snapshot, rows)
    by_request: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_request[row.request_id].append(row)
    changes = [
        Change(some[0], frozenset(row.project_id for row in some), list(map(known.former, some)))
        for some in by_request.values()
    ]
    return Past(snapshot, changes)


def find_takers(past: Past, promise: Promise, request: CandidateRequest) -> Takers:
    """Undo changes until `MAX_TAKERS` are found that took room, and the one that broke it."""
    room = capacity_of(past.snapshot, request).now
    is_broken = room.at_most < promise.count
    work = SlicedWork(BUDGET)
    now = room.at_least if room.is_exact else None
    former_room = RoomBefore(past.snapshot, request, now, work)
    listed, breaking, followed_to = list[Taker](), None, None
    for change in past.changes:
        if work.left <= 0 or (len(listed) >= MAX_TAKERS and (breaking or not is_broken)):
            break
        followed_to = change.row
        undone = former_room.undo(change.formers)
        if not undone.has_taken:
            continue
        taker = Taker(change, undone)
        listed.append(taker)
        if is_broken and breaking is None and (undone.before or 0) >= promise.count:
            breaking = taker
    return Takers(room, listed[:MAX_TAKERS], breaking, followed_to)


class _Known:
    """The states of providers and consumers before some rows of providers, by the history."""

    def __init__(self, connection: Connection, snapshot: Snapshot, rows: Sequence[Row]) -> None:
        self._states = {row.id: _state(row) for row in rows}
        changed, consumers = set[str](), set[str]()
        for row in rows:
            state = self._states[row.id]
            consumers |= state.get('allocations', {}).keys()
            if not state.keys() <= {'allocations'}:
                changed.add(row.uuid)
        self._of_consumer = self._read(connection, SubjectKind.CONSUMER, consumers)
        self._of_provider = self._read(connection, SubjectKind.PROVIDER, changed)
        generations = _generations(connection, snapshot, {row.uuid for row in rows})
        self._gaps = _gaps(rows, generations)

    def _read(
        self, connection: Connection, kind: SubjectKind, uuids: Collection[str]
    ) -> Mapping[str, Sequence[Row]]:
        """Read rows by uuid, the last one first; those of providers without those of claims."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in statements.list_of_subjects(connection, kind, uuids, MAX_EARLIER):
            found[row.uuid].append(row)
            self._states[row.id] = _state(row)
        return found

    def former(self, row: Row) -> Former:
        """Return the provider of a row before the change."""
        state = self._states[row.id]
        held = state.get('allocations')
        parts = {name: self._before(row, name) for name in _PARTS if name in state}
        releases = held is not None and not any(one['resources'] for one in held.values())
        unknown = Former(
            row.uuid,
            only_releases=releases and not parts,
            keeps_inventories=bool(state) and 'inventories' not in parts,
            is_known=False,
        )
        if row.action == _CREATED:
            return unknown._replace(is_created=True, is_known=True)
        taken = None if held is None else self._taken(row, held)
        is_unknown = not state or row.id in self._gaps or self._moved(row)
        if is_unknown or None in parts.values() or (held is not None and taken is None):
            return unknown
        if 'inventories' in parts:
            limits = parts['inventories'].items()
            parts['inventories'] = {name: InventoryRow(**members) for name, members in limits}
        return unknown._replace(taken=taken, is_known=True, **parts)

    def _earlier(self, row: Row) -> Iterator[Row]:
        """Yield the rows of a provider before a row, without those of claims."""
        return (each for each in self._of_provider.get(row.uuid, ()) if each.id < row.id)

    def _before(self, row: Row, part: str) -> Any:
        """Return a part of a provider before a row; None if unknown."""
        for each in self._earlier(row):
            state = self._states[each.id]
            if part in state:
                return state[part]
            if each.action == _CREATED:
                return {}
        return None

    def _moved(self, row: Row) -> bool:
        """True if the provider had another parent or root before a row, or may have had."""
        now = self._states[row.id]
        if 'name' not in now:
            return False
        names = ('parent_provider_uuid', 'root_provider_uuid')
        states = (self._states[each.id] for each in self._earlier(row))
        former = next((state for state in states if 'name' in state), None)
        return former is None or any(former[name] != now[name] for name in names)

    def _taken(self, row: Row, allocations: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the amounts that a change of allocations took; None if unknown."""
        taken: dict[str, int] = defaultdict(int)
        for consumer, held in allocations.items():
            former = self._held_before(row, consumer)
            if former is None:
                return None
            for name, amount in held['resources'].items():
                taken[name] += amount
            for name, amount in former.items():
                taken[name] -= amount
        return taken

    def _held_before(self, row: Row, consumer: str) -> Mapping[str, int] | None:
        """Return the amounts that a consumer held of the provider of a row; None if unknown."""
        rows = (each for each in self._of_consumer.get(consumer, ()) if each.id < row.id)
        written, former = next(rows, None), next(rows, None)
        if written is None or written.request_id != row.request_id:
            return None
        if written.generation == 1:
            return {}
        if former is None:
            return None
        if None not in (written.generation, former.generation) and (
            written.generation != former.generation + 1
        ):
            return None
        allocations = self._states[former.id].get('allocations', {})
        held: Mapping[str, int] = allocations.get(row.uuid, {}).get('resources', {})
        return held


def _state(row: Row) -> dict[str, Any]:
    state: dict[str, Any] = {} if row.state is None else json.loads(row.state)
    return state


def _generations(
    connection: Connection, snapshot: Snapshot, uuids: Iterable[str]
) -> Mapping[str, int]:
    """Return the generations of the providers that are still there, by uuid.

    :raises FeedBypassed: one of them does not exist
    """
    found = [provider for provider in map(snapshot.find_by_uuid, uuids) if provider]
    rows = providers.list_generations(connection, ids=[provider.id for provider in found])
    by_id = {row.id: row.generation for row in rows}
    if len(by_id) < len(found):
        raise FeedBypassed
    return {provider.uuid: by_id[provider.id] for provider in found}


def _gaps(rows: Iterable[Row], current: Mapping[str, int]) -> set[int]:
    """Return the ids of rows after which a provider was changed without a row.

    Each change of a provider increments its generation, apart from one of its aggregates by an
    old microversion, whose row has none.
    """
    gaps, next_changes = set[int](), dict[str, int]()
    for row in rows:
        if row.generation is None:
            continue
        expected = next_changes.get(row.uuid, current.get(row.uuid, -1))
        if row.generation != expected:
            gaps.add(row.id)
        next_changes[row.uuid] = row.generation - 1
    return gaps
