# SPDX-License-Identifier: Apache-2.0
"""The snapshot of one worker, kept in memory and updated before each search.

A search costs one small statement, which reads the change feed. After claims a second one reads
the usage; providers that changed in other ways are read again. The page
``doc/source/change-feed.rst`` explains the rest.
"""

import contextlib
import gc
import logging
import time
from collections.abc import Callable, Collection, Iterable, Set
from typing import NamedTuple, Self, TypeVar

import sqlalchemy as sa

from placement.conf import ConfigOpts
from placement.db.engine.database import Database
from placement.db.engine.turn import Turn
from placement.db.mode import Mode
from placement.db.schema.own_tables import NO_PROVIDER
from placement.feed.audit import checksums_in, checksums_of
from placement.feed.change_feed import ChangeFeed
from placement.feed.loader import load_providers
from placement.feed.position import Entry, News, Position, Reload
from placement.metrics import catalog
from placement.search.model.provider import ProviderRow
from placement.search.model.snapshot import Snapshot

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

# Maximum number of changed providers to read again; above, a full load costs less.
MAX_RELOADED = 500

# Maximum number of providers whose usage is read again; above, a full load costs less.
MAX_USED = 5_000


# Reasons for a full load, labels of the metrics; `Reload` has further ones.
FIRST, MANY_CHANGES, BYPASSED = 'first', 'many_changes', 'feed_bypassed'


class FeedBypassed(Exception):
    """A transaction sees rows that the snapshot of the same moment lacks."""


class State(NamedTuple):
    """A snapshot, and the position in the feed at the same moment."""

    snapshot: Snapshot
    position: Position
    # Time of the last audit or full load, by the keeper's clock.
    audited_at: float
    # Replaced with each entry about no provider, and with each audit.
    epoch: object


class SnapshotKeeper:
    """The snapshot of one worker, which all of its threads share.

    `current` returns a snapshot that includes everything committed before the call. One thread at
    a time, by `turn`, updates it; if its statements fail, the waiting threads fail with it.
    Snapshots returned earlier do not change.
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
        self.turn = Turn()
        self._state: State | None = None

    @classmethod
    def from_conf(cls, conf: ConfigOpts, database: Database) -> Self:
        """The keeper of a database, with the options of the configuration."""
        return cls(
            database,
            is_cached=conf.placement.candidate_snapshot == 'cached',
            audit_interval=conf.placement.candidate_snapshot_audit_interval,
        )

    @property
    def epoch(self) -> object:
        """The identity of all data besides providers, as of the current snapshot or later.

        A new object after each transaction that changed no provider, such as one that sets a name,
        and after each audit.
        """
        state = self._state
        return object() if state is None or not self._is_cached else state.epoch

    def current(self) -> Snapshot:
        """The current snapshot.

        :raises errors.DatabaseUnavailable: the database does not answer
        """
        begun = time.perf_counter()
        snapshot = self._database.retry(self._current, 'SnapshotKeeper.current')
        recorder = self._database.recorder
        if recorder is not None:
            duration = time.perf_counter() - begun
            recorder.observe(catalog.SNAPSHOT_UPDATE_DURATION, (), duration)
            recorder.set(catalog.SNAPSHOT_UPDATED, (), time.time())
        return snapshot

    def _current(self) -> Snapshot:
        if not self._is_cached:
            with self._database.begin(Mode.READ_ONE_MOMENT) as connection:
                return Snapshot.of(load_providers(connection))
        with self.turn.taken():
            # Assigned in one piece after everything was read: after a failure the next search
            # reads the same changes again.
            self._state = state = self._up_to_date(self._state)
            return state.snapshot

    def read_at_one_moment(self, read: Callable[[sa.Connection, Snapshot], Result]) -> Result:
        """Call `read` with a transaction and the snapshot of the same moment; return its result.

        All statements of the transaction see that moment. `read` may be called several times. If
        it finds a contradiction, because a writer bypassed the change feed, it raises
        `FeedBypassed`, and is called again after a full load.

        :raises errors.DatabaseUnavailable: the database does not answer
        """
        name = 'SnapshotKeeper.read_at_one_moment'
        try:
            return self._database.retry(lambda: self._read(read), name)
        except FeedBypassed:
            return self._database.retry(lambda: self._read(read, is_bypassed=True), name)

    def _read(
        self, read: Callable[[sa.Connection, Snapshot], Result], is_bypassed: bool = False
    ) -> Result:
        with contextlib.ExitStack() as stack:
            # Take the turn before a connection, as `_current` does: otherwise two threads could
            # wait for each other when the pool has one connection left. The transaction, whose
            # moment is that of its first statement, must not see an older moment than the state.
            with self.turn.taken():
                connection = stack.enter_context(self._database.begin(Mode.READ_ONE_MOMENT))
                snapshot = self._at_moment_of(connection, is_bypassed)
            return read(connection, snapshot)

    def _at_moment_of(self, connection: sa.Connection, is_bypassed: bool) -> Snapshot:
        """The snapshot at the moment of a transaction; after a bypass, a full load."""
        if is_bypassed:
            state = self._after_bypass(connection)
        elif not self._is_cached:
            return Snapshot.of(load_providers(connection))
        elif self._state is None:
            state = self._loaded(connection, FIRST)
        else:
            state = self._after_changes(connection, self._state)
        self._state = state
        return state.snapshot

    def _up_to_date(self, state: State | None) -> State:
        """The state after all recorded changes, by the cheapest way.

        First without a transaction of one moment, which suffices for claims; then by reading the
        changed providers; or by a full load. When it is due, an audit follows the second way.
        """
        outcome: State | Reload | None = None
        if state is not None and not self._is_audit_due(state):
            with self._database.begin(Mode.READ) as connection:
                outcome = _after_claims(ChangeFeed(connection), state)
            if isinstance(outcome, State):
                return outcome
        with self._database.begin(Mode.READ_ONE_MOMENT) as connection:
            if state is None:
                return self._loaded(connection, FIRST)
            if isinstance(outcome, Reload):
                return self._reloaded(connection, outcome)
            state = self._after_changes(connection, state)
            if not self._is_audit_due(state):
                return state
            if checksums_of(state.snapshot) != checksums_in(connection):
                return self._after_bypass(connection)
            # The audit compares providers alone; what has no entry besides them is read again.
            return state._replace(audited_at=self._clock(), epoch=object())

    def _is_audit_due(self, state: State) -> bool:
        return self._clock() - state.audited_at >= self._audit_interval

    def _after_changes(self, connection: sa.Connection, state: State) -> State:
        """The state after all recorded changes, read in one transaction.

        Several statements read a provider. They have to agree with each other and with the feed,
        so the feed is read again in the same transaction.
        """
        feed = ChangeFeed(connection)
        news = state.position.read_on(feed.read(state.position))
        if isinstance(news, Reload):
            return self._reloaded(connection, news)
        touched = _providers(news.entries)
        if len(touched) > MAX_RELOADED:
            return self._loaded(connection, MANY_CHANGES)
        state = _after_entries(state, news)
        if not touched:
            return state
        rows = list(load_providers(connection, touched))
        if not _fits(state.snapshot, rows, touched):
            return self._after_bypass(connection)
        removed = touched - {row.id for row in rows}
        return state._replace(snapshot=state.snapshot.with_changes(rows, removed))

    def _loaded(self, connection: sa.Connection, reason: str) -> State:
        """The state after a full load; `reason` is a label of the metrics."""
        started_at = self._clock()
        position = ChangeFeed(connection).position()
        # All new objects stay, so the garbage collector would find nothing and slow down the load.
        is_collected = gc.isenabled()
        gc.disable()
        try:
            snapshot = Snapshot.of(load_providers(connection))
        finally:
            if is_collected:
                gc.enable()
        loaded_at = self._clock()
        LOG.info('Snapshot: %d providers in %.3f s.', len(snapshot), loaded_at - started_at)
        recorder = self._database.recorder
        if recorder is not None:
            recorder.add(catalog.SNAPSHOT_LOADS, (reason,))
            recorder.add(catalog.SNAPSHOT_LOAD_SECONDS, (), loaded_at - started_at)
        return State(snapshot, position, loaded_at, object())

    def _reloaded(self, connection: sa.Connection, reason: Reload) -> State:
        """The state after a full load, because the feed cannot be read on."""
        LOG.info('Loading everything, since the change feed cannot be read on: %s.', reason.value)
        return self._loaded(connection, f'feed_{reason.name.lower()}')

    def _after_bypass(self, connection: sa.Connection) -> State:
        """The state after a full load, with a warning about the bypassed feed."""
        LOG.warning(
            'The snapshot for candidate searches differs from the database: a writer bypassed the '
            'change feed, such as another service during an upgrade. Loading everything. Searches '
            'may have been up to %s s behind; [placement] candidate_snapshot = per_request '
            'prevents that.',
            self._audit_interval,
        )
        return self._loaded(connection, BYPASSED)


def _after_claims(feed: ChangeFeed, state: State) -> State | Reload | None:
    """The state after all recorded changes if these are claims only; else None.

    One small statement while nothing was recorded, and mostly one more after claims.

    A snapshot has to be of one moment: a server that moved must not be missing from both hosts.
    REPEATABLE READ would ensure that, at the cost of two more statements. Here each statement sees
    a moment of its own, so the statement that reads the usage also tests that the feed has not
    changed since. If it has, the result is None.
    """
    news = state.position.read_on(feed.read(state.position))
    if isinstance(news, Reload):
        return news
    touched = _providers(news.entries)
    if not _is_of_claims(news.entries, state.snapshot) or len(touched) > MAX_USED:
        return None
    state = _after_entries(state, news)
    if not touched:
        return state
    used = feed.used(news.position, touched)
    if used is None:
        return None
    return state._replace(snapshot=state.snapshot.with_used(used))


def _after_entries(state: State, news: News) -> State:
    """The state at the position after some entries, still with the old snapshot."""
    is_of_providers = all(entry.provider_id != NO_PROVIDER for entry in news.entries)
    return state._replace(
        position=news.position, epoch=state.epoch if is_of_providers else object()
    )


def _providers(entries: Iterable[Entry]) -> set[int]:
    """The ids of the providers in entries."""
    return {entry.provider_id for entry in entries} - {NO_PROVIDER}


def _is_of_claims(entries: Iterable[Entry], snapshot: Snapshot) -> bool:
    """True if entries report changed allocations of known providers only.

    A writer that bypassed the feed has added an unknown provider, which must be read completely.
    """
    return all(
        entry.provider_id == NO_PROVIDER
        or (entry.allocations_only and snapshot.has_provider(entry.provider_id))
        for entry in entries
    )


def _fits(snapshot: Snapshot, rows: Collection[ProviderRow], touched: Set[int]) -> bool:
    """True if rows are consistent with a snapshot.

    Their parents and roots must exist, and no other provider may have their uuids. A writer that
    bypassed the feed can break both, and every later search would fail.
    """
    related = {row.parent_id for row in rows} | {row.root_id for row in rows}
    namesakes = [snapshot.find_by_uuid(row.uuid) for row in rows]
    return all(
        related_id is None or related_id in touched or snapshot.has_provider(related_id)
        for related_id in related
    ) and all(namesake is None or namesake.id in touched for namesake in namesakes)
