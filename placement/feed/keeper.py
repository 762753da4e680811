# SPDX-License-Identifier: Apache-2.0
"""The snapshot of one worker, kept in memory and brought up to date before each search.

A search costs one small statement, which reads the change feed. After claims a second one reads
what is used now; only providers that changed in other ways are read again. The page
``doc/source/change-feed.rst`` explains the rest.
"""

import contextlib
import gc
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Self, TypeVar

import sqlalchemy as sa

from placement.conf import ConfigOpts
from placement.db.engine.database import Database
from placement.db.engine.transactions import READ_ATTEMPTS, retry
from placement.db.schema.own_tables import NO_PROVIDER
from placement.feed.audit import checksums_in, checksums_of
from placement.feed.change_feed import ChangeFeed
from placement.feed.loader import load_providers
from placement.feed.position import Entry, Position, Reload
from placement.metrics import catalog
from placement.search.model.provider import ProviderRow
from placement.search.model.snapshot import Snapshot

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

# When more providers than this changed at once, to load everything costs less.
MAX_RELOADED = 500

# And so it does when what is used of more than this has changed.
MAX_USED = 5_000


# Why everything was read, in the metrics. Reasons that lie in the feed are those of `Reload`.
FIRST, MANY_CHANGES, BYPASSED = 'first', 'many_changes', 'feed_bypassed'


class FeedBypassed(Exception):
    """A transaction sees what the snapshot of the same moment does not have."""


class State(NamedTuple):
    """A snapshot, the position in the feed at the same moment, and when an audit last compared
    the snapshot with the tables."""

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

    @classmethod
    def from_conf(cls, conf: ConfigOpts, database: Database) -> Self:
        """The snapshot of a database, kept as the configuration says."""
        return cls(
            database,
            is_cached=conf.placement.candidate_snapshot == 'cached',
            audit_interval=conf.placement.candidate_snapshot_audit_interval,
        )

    def current(self) -> Snapshot:
        """The cloud as it is now; raises `errors.DatabaseUnavailable`."""
        begun = time.perf_counter()
        snapshot = self._retry(self._current, 'SnapshotKeeper.current')
        recorder = self._database.recorder
        if recorder is not None:
            duration = time.perf_counter() - begun
            recorder.observe(catalog.SNAPSHOT_UPDATE_DURATION, (), duration)
            recorder.set(catalog.SNAPSHOT_UPDATED, (), time.time())
        return snapshot

    def _current(self) -> Snapshot:
        if not self._is_cached:
            with self._database.consistent_reader() as connection:
                return Snapshot.of(load_providers(connection))
        with self._lock:
            # Assigned whole, and only when all of it was read: a failure on the way changes
            # nothing, so that the next search reads the same news again.
            self._state = state = self._up_to_date(self._state)
            return state.snapshot

    def read_at_one_moment(self, read: Callable[[sa.Connection, Snapshot], Result]) -> Result:
        """Return what `read` returns, given a transaction and the snapshot of the same moment.

        All statements of the transaction see that moment, so that what they read agrees with the
        snapshot. `read` may be called several times. Where it finds that they do not agree,
        because a writer bypassed the change feed, it raises `FeedBypassed`, and is called again
        with everything read anew. Raises `errors.DatabaseUnavailable`.
        """
        name = 'SnapshotKeeper.read_at_one_moment'
        try:
            return self._retry(lambda: self._read(read), name)
        except FeedBypassed:
            return self._retry(lambda: self._read(read, is_bypassed=True), name)

    def _retry(self, transaction: Callable[[], Result], name: str) -> Result:
        return retry(transaction, name, READ_ATTEMPTS, self._database.recorder)

    def _read(
        self, read: Callable[[sa.Connection, Snapshot], Result], is_bypassed: bool = False
    ) -> Result:
        with contextlib.ExitStack() as stack:
            # The lock before the connection, as in `_current`: otherwise two threads could wait
            # for each other where the pool has one connection left. And the moment of the
            # transaction, which begins with its first statement, must not be before that of the
            # state.
            with self._lock:
                connection = stack.enter_context(self._database.consistent_reader())
                snapshot = self._at_moment_of(connection, is_bypassed)
            return read(connection, snapshot)

    def _at_moment_of(self, connection: sa.Connection, is_bypassed: bool) -> Snapshot:
        """The snapshot as a transaction sees the tables, whose statements all see one moment.

        Everything is read anew after a writer bypassed the change feed.
        """
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
        outcome: State | Reload | None = None
        if state is not None and not self._is_audit_due(state):
            with self._database.reader() as connection:
                outcome = _after_claims(ChangeFeed(connection), state)
            if isinstance(outcome, State):
                return outcome
        with self._database.consistent_reader() as connection:
            if state is None:
                return self._loaded(connection, FIRST)
            if isinstance(outcome, Reload):
                return self._reloaded(connection, outcome)
            state = self._after_changes(connection, state)
            if not self._is_audit_due(state):
                return state
            if checksums_of(state.snapshot) != checksums_in(connection):
                return self._after_bypass(connection)
            return state._replace(audited_at=self._clock())

    def _is_audit_due(self, state: State) -> bool:
        return self._clock() - state.audited_at >= self._audit_interval

    def _after_changes(self, connection: sa.Connection, state: State) -> State:
        """The state after everything that was recorded since, read at one moment.

        It takes several statements to read a provider, which have to agree with each other and
        with the feed. So the feed is read again here, whatever was read of it before.
        """
        feed = ChangeFeed(connection)
        news = state.position.read_on(feed.read(state.position))
        if isinstance(news, Reload):
            return self._reloaded(connection, news)
        touched = _providers(news.entries)
        if len(touched) > MAX_RELOADED:
            return self._loaded(connection, MANY_CHANGES)
        if not touched:
            return state._replace(position=news.position)
        rows = list(load_providers(connection, touched))
        if not _fits(state.snapshot, rows, touched):
            return self._after_bypass(connection)
        removed = touched - {row.id for row in rows}
        return state._replace(
            snapshot=state.snapshot.with_changes(rows, removed), position=news.position
        )

    def _loaded(self, connection: sa.Connection, reason: str) -> State:
        """Everything anew, and the position of the feed at the same moment.

        The metrics have `reason`.
        """
        started_at = self._clock()
        position = ChangeFeed(connection).position()
        # All of it stays, so there is no garbage to find: to look for it takes longer than half of
        # all the rest.
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
        return State(snapshot, position, loaded_at)

    def _reloaded(self, connection: sa.Connection, reason: Reload) -> State:
        """Everything anew, because the feed cannot be read on."""
        LOG.info('Loading everything, since the change feed cannot be read on: %s.', reason.value)
        return self._loaded(connection, f'feed_{reason.name.lower()}')

    def _after_bypass(self, connection: sa.Connection) -> State:
        """Everything anew, with a warning."""
        LOG.warning(
            'The snapshot for candidate searches differs from the database: a writer bypassed the '
            'change feed, such as another service during an upgrade. Loading everything. Searches '
            'may have been up to %s s behind; [placement] candidate_snapshot = per_request '
            'prevents that.',
            self._audit_interval,
        )
        return self._loaded(connection, BYPASSED)


def _after_claims(feed: ChangeFeed, state: State) -> State | Reload | None:
    """The state after everything that was recorded since; None where that was not only claims.

    One small statement while nothing was recorded, and mostly one more after claims.

    A snapshot has to be of one moment: a server that moved must not be missing on its new host
    when it has gone from the old one. REPEATABLE READ would see to that, and cost a statement to
    say so and one to read the feed again. Here each statement has a moment of its own, so the one
    that reads what is used also tells whether the feed was still as it had been read. None where
    it was not, too.
    """
    news = state.position.read_on(feed.read(state.position))
    if isinstance(news, Reload):
        return news
    touched = _providers(news.entries)
    if not _is_of_claims(news.entries, state.snapshot) or len(touched) > MAX_USED:
        return None
    if not touched:
        return state._replace(position=news.position)
    used, is_unchanged = feed.used(news.position, touched)
    if not is_unchanged:
        return None
    return state._replace(snapshot=state.snapshot.with_used(used), position=news.position)


def _providers(entries: Iterable[Entry]) -> set[int]:
    """The ids of the providers that entries are about."""
    return {entry.provider_id for entry in entries} - {NO_PROVIDER}


def _is_of_claims(entries: Iterable[Entry], snapshot: Snapshot) -> bool:
    """Return whether entries say only that other amounts are allocated of known providers.

    One that is not known was added by a writer that bypassed the feed: all of it has to be read.
    """
    return all(
        entry.provider_id == NO_PROVIDER
        or (entry.allocations_only and snapshot.has_provider(entry.provider_id))
        for entry in entries
    )


def _fits(snapshot: Snapshot, rows: Collection[ProviderRow], touched: Collection[int]) -> bool:
    """Return whether rows can be put into a snapshot.

    It has all that they refer to, and no other provider with their uuids.

    A provider that came or went unnoticed would otherwise fail every search from here on.
    """
    related = {row.parent_id for row in rows} | {row.root_id for row in rows}
    namesakes = [snapshot.find_by_uuid(row.uuid) for row in rows]
    return all(
        related_id is None or related_id in touched or snapshot.has_provider(related_id)
        for related_id in related
    ) and all(namesake is None or namesake.id in touched for namesake in namesakes)
