# SPDX-License-Identifier: Apache-2.0
"""From rows to a `Snapshot`, kept by a worker and brought up to date before each search.

A fixed number of statements loads everything; after that a search costs one small statement that
reads the change feed. Where it tells of claims, one more reads what is used now; only providers
that changed in other ways are read again.
"""

from __future__ import annotations

import bisect
import dataclasses
import datetime
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.transactions import READ_ATTEMPTS, retry
from placement.db.schema.tables import (
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.statements.inventories import MEMBERS
from placement.feed import changes
from placement.feed.audit import figures_in, figures_of
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.snapshot import Snapshot

LOG = logging.getLogger(__name__)

# No transaction lives longer than this, in seconds: an id of the feed that has not appeared by
# then never will.
LONGEST_TRANSACTION = 120

# When more providers than this changed at once, reading everything costs less.
MAX_RELOADED = 500

# And so it does when more than this have other sums.
MAX_SUMMED = 5_000

# How often sums are read while others go on claiming elsewhere, before this is left to a
# transaction that sees one moment.
MAX_PASSES = 3

# How many rows are fetched at a time when everything is read: a driver that held all of them would
# take more memory than the snapshot that is made of them.
ROWS_AT_A_TIME = 1_000

# Inventories of one provider, by name of the class.
Inventories = tuple[tuple[str, InventoryRow], ...]

Shared = TypeVar('Shared')


class Question:
    """A statement that is asked about all providers or about some, and is built once for both."""

    def __init__(
        self, statement: sa.Select[*tuple[Any, ...]], provider_id: sa.Column[int]
    ) -> None:
        self._about_all = statement.execution_options(yield_per=ROWS_AT_A_TIME)
        self._about_some = statement.where(
            provider_id.in_(sa.bindparam('provider_ids', expanding=True))
        )

    def ask(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        """The rows of all providers, or of those among `ids`."""
        if ids is None:
            return connection.execute(self._about_all)
        return connection.execute(self._about_some, {'provider_ids': list(ids)})


_PROVIDERS = Question(
    sa.select(
        resource_providers.c.id,
        resource_providers.c.uuid,
        resource_providers.c.parent_provider_id,
        resource_providers.c.root_provider_id,
    ),
    resource_providers.c.id,
)
_TRAITS = Question(
    sa.select(resource_provider_traits.c.resource_provider_id, traits.c.name).join(
        traits, traits.c.id == resource_provider_traits.c.trait_id
    ),
    resource_provider_traits.c.resource_provider_id,
)
_AGGREGATES = Question(
    sa.select(
        resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid
    ).join(
        placement_aggregates,
        placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
    ),
    resource_provider_aggregates.c.resource_provider_id,
)
_INVENTORIES = Question(
    sa.select(
        inventories.c.resource_provider_id,
        inventories.c.resource_class_id,
        resource_classes.c.name,
        *MEMBERS,
    ).join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id),
    inventories.c.resource_provider_id,
)
_USED = Question(
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
    ).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id),
    allocations.c.resource_provider_id,
)


def load_providers(
    connection: sa.Connection, ids: Collection[int] | None = None
) -> Iterator[ProviderRow]:
    """Rows of all providers, or of those among `ids` that exist, in five statements.

    What was read for a provider is let go with its row, and what is equal is one object: drivers
    make new texts and numbers for each row, which would be most of the memory that this takes.
    """
    found = _inventories(connection, ids)
    with_traits = _names_by_provider(_TRAITS.ask(connection, ids))
    with_aggregates = _names_by_provider(_AGGREGATES.ask(connection, ids))
    for provider_id, uuid, parent_id, root_id in _PROVIDERS.ask(connection, ids):
        yield ProviderRow(
            provider_id,
            uuid,
            parent_id,
            root_id,
            dict(found.pop(provider_id, ())),
            with_traits.pop(provider_id, ()),
            with_aggregates.pop(provider_id, ()),
        )


def _names_by_provider(rows: Iterable[sa.Row[*tuple[Any, ...]]]) -> dict[int, list[str]]:
    grouped: dict[int, list[str]] = {}
    names: dict[str, str] = {}
    for provider_id, name in rows:
        grouped.setdefault(provider_id, []).append(names.setdefault(name, name))
    return grouped


def _inventories(connection: sa.Connection, ids: Collection[int] | None) -> dict[int, Inventories]:
    """Inventories by provider, with what is used of them; equal ones are one object."""
    used = {
        (provider_id, class_id): amount
        for provider_id, class_id, amount in _USED.ask(connection, ids)
    }
    found: dict[int, Inventories] = {}
    alike: dict[Any, Any] = {}

    def shared(value: Shared) -> Shared:
        one: Shared = alike.setdefault(value, value)
        return one

    for provider_id, class_id, name, *members in _INVENTORIES.ask(connection, ids):
        inventory = InventoryRow._make((*members, used.pop((provider_id, class_id), 0)))
        named = shared((shared(name), inventory))
        found[provider_id] = shared((*found.get(provider_id, ()), named))
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """How far the feed was read: the last entry, and the gaps before it that may yet be filled.

    `gaps` are ids that were given to transactions which may still be running, in their order: all
    between the first of them and `last` that have not appeared. `ends` says since when they have
    been missed: second by second, what the last entry was. Without gaps it is empty.

    On a Galera cluster each entry leaves gaps, thousands in all. So nothing is done for each of
    them, except that they are copied when there is news.
    """

    last: int
    gaps: tuple[int, ...] = ()
    ends: Mapping[int, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def at(cls, ids: Sequence[int], now: float) -> Position:
        """After the last of some ids, the first of which has nothing running below it."""
        if not ids:
            return cls(0)
        return cls(ids[0]).after(ids[1:], now)

    def after(self, ids: Sequence[int], now: float) -> Position:
        """The position when these entries were read as well, in the order of their ids."""
        if not ids:
            return self
        last, gaps = self.last, list(self.gaps)
        for entry_id in ids:
            if entry_id < last:
                del gaps[bisect.bisect_left(gaps, entry_id)]
            else:
                gaps.extend(range(last + 1, entry_id))
                last = entry_id
        # Rounded up, so that nothing is taken to be missing for longer than it is.
        return self._with(last, gaps, {**self.ends, math.ceil(now): last})

    def without_gaps_before(self, oldest: float) -> Position:
        """The position without what no running transaction can fill any more."""
        settled = [end for second, end in self.ends.items() if second < oldest]
        if not settled:
            return self
        gaps = self.gaps[bisect.bisect_left(self.gaps, settled[-1]) :]
        ends = {second: end for second, end in self.ends.items() if second >= oldest}
        return self._with(self.last, gaps, ends)

    @classmethod
    def _with(cls, last: int, gaps: Sequence[int], ends: Mapping[int, int]) -> Position:
        return cls(last, tuple(gaps), ends if gaps else {})


class State(NamedTuple):
    """A snapshot, the position of the feed at the same moment, and when they last were compared
    with everything there is."""

    snapshot: Snapshot
    position: Position
    audited_at: float


class SnapshotKeeper:
    """The snapshot of one worker, which all of its threads share.

    `current` returns a snapshot that has all that was committed before it was called. One thread
    at a time brings it up to date; what was handed out before stays as it is.
    """

    def __init__(
        self,
        database: Database,
        is_cached: bool = True,
        audit_interval: float = 300,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._is_cached = is_cached
        self._audit_interval = audit_interval
        self._clock = clock
        self._lock = threading.Lock()
        self._state: State | None = None

    def current(self) -> Snapshot:
        """The cloud as it is now; raises `errors.DatabaseUnavailable`."""
        return retry(self._current, 'SnapshotKeeper.current', READ_ATTEMPTS)

    def _current(self) -> Snapshot:
        if not self._is_cached:
            with self._database.consistent_reader() as connection:
                return Snapshot.of(load_providers(connection))
        with self._lock:
            # Assigned whole, and only when all of it was read: a failure on the way changes
            # nothing, so that the next search reads the same news again.
            self._state = state = self._up_to_date(self._state)
            return state.snapshot

    def _up_to_date(self, state: State | None) -> State:
        if state and not self._is_audit_due(state):
            newer = self._with_claims(state)
            if newer is not None:
                return newer
        with self._database.consistent_reader() as connection:
            if state is None:
                return self._loaded(connection)
            state = self._caught_up(connection, state)
            return self._audited(connection, state) if self._is_audit_due(state) else state

    def _is_audit_due(self, state: State) -> bool:
        return self._clock() - state.audited_at >= self._audit_interval

    def _with_claims(self, state: State) -> State | None:
        """The state after everything that was written down since; None unless that is of claims.

        One small statement while nothing was, and mostly one more when something was claimed.

        A snapshot has to be of one moment: a server that moved must not be missing on its new host
        when it has gone from the old one. REPEATABLE READ would see to that, and cost a statement
        to say so and one to read the feed again. Here each statement has a moment of its own, so
        the one that reads sums also reads how the feed went on. Where that names nobody else, all
        that changed until that moment is known as of that moment; where it does, sums are read
        once more, of those as well.
        """
        now = self._clock()
        snapshot, position, _audited_at = state
        used: changes.Used = {}
        summed: set[int] = set()
        passes = 0
        with self._database.fresh_reader() as connection:
            entries = changes.list_since(connection, position.last, position.gaps)
            while entries is not None and _is_of_claims(entries, snapshot):
                position = position.after([entry.id for entry in entries], now)
                claimed = {entry.provider_id for entry in entries}
                if claimed <= summed:
                    return state._replace(
                        snapshot=snapshot.with_used({one: used.get(one, {}) for one in summed}),
                        position=position.without_gaps_before(now - LONGEST_TRANSACTION),
                    )
                summed |= claimed
                if passes == MAX_PASSES or len(summed) > MAX_SUMMED:
                    break
                passes += 1
                entries, used = changes.list_since_with_used(
                    connection, position.last, position.gaps, summed
                )
        return None

    def _caught_up(self, connection: sa.Connection, state: State) -> State:
        """The state after everything that was written down since.

        It takes several statements to read a provider, of which the last must not say less or more
        than the first, nor than the feed. So this needs one moment for all of them, and reads the
        feed at that moment, whatever was read of it before.
        """
        now = self._clock()
        position = state.position
        entries = changes.list_since(connection, position.last, position.gaps)
        if entries is None:
            LOG.info('The change feed was pruned beyond what was read; loading everything.')
            return self._loaded(connection)
        touched = {entry.provider_id for entry in entries}
        if len(touched) > MAX_RELOADED:
            return self._loaded(connection)
        # Only now that they were asked for once more: the last time may be long ago.
        position = position.after([entry.id for entry in entries], now).without_gaps_before(
            now - LONGEST_TRANSACTION
        )
        if not touched:
            return state._replace(position=position)
        rows = list(load_providers(connection, touched))
        if not _fits(state.snapshot, rows, touched):
            LOG.warning(_FOREIGN_WRITER)
            return self._loaded(connection)
        removed = touched - {row.id for row in rows}
        return state._replace(
            snapshot=state.snapshot.with_changes(rows, removed), position=position
        )

    def _loaded(self, connection: sa.Connection) -> State:
        """Everything anew, with the feed read to where it stands."""
        now = self._clock()
        window = datetime.timedelta(seconds=LONGEST_TRANSACTION)
        position = Position.at(changes.list_recent(connection, window), now)
        return State(Snapshot.of(load_providers(connection)), position, now)

    def _audited(self, connection: sa.Connection, state: State) -> State:
        """The state, or everything anew when it does not say what the tables say."""
        if figures_of(state.snapshot) != figures_in(connection):
            LOG.warning(_FOREIGN_WRITER)
            return self._loaded(connection)
        return state._replace(audited_at=self._clock())


_FOREIGN_WRITER = (
    'The snapshot for candidate searches differs from the database: something writes that does '
    'not feed changes, such as another service during an upgrade. Loading everything.'
)


def _is_of_claims(entries: Iterable[changes.Entry], snapshot: Snapshot) -> bool:
    """Whether entries say no more than that other amounts are allocated of providers known.

    One that is not known was added by somebody who does not feed: all of it has to be read.
    """
    return all(
        entry.allocations_only and snapshot.has_provider(entry.provider_id) for entry in entries
    )


def _fits(snapshot: Snapshot, rows: Collection[ProviderRow], touched: Collection[int]) -> bool:
    """Whether rows can be put into a snapshot: it has what they refer to, and nobody else with
    their uuids.

    A provider that came or went unnoticed would otherwise fail every search from here on.
    """
    related = {one for row in rows for one in (row.parent_id, row.root_id) if one is not None}
    namesakes = [snapshot.find_by_uuid(row.uuid) for row in rows]
    return all(one in touched or snapshot.has_provider(one) for one in related) and all(
        one is None or one.id in touched for one in namesakes
    )
