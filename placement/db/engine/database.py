# SPDX-License-Identifier: Apache-2.0
"""`Database`: the engines of one configuration, and their transactions.

Objects run in the transaction of a context, which retries it: see `db.transaction`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from placement import errors
from placement.conf import ConfigOpts
from placement.db.changes import Changes, FirstSink, Sink, list_unnamed
from placement.db.engine import failures, pool, sqlite, sqlite_file, timeouts
from placement.db.engine.causes import LASTING, Cause
from placement.db.engine.engines import create_engine
from placement.db.engine.lock_waits import LockWaits
from placement.db.engine.timeouts import Timeouts
from placement.db.engine.transactions import READ_ATTEMPTS, WRITE_ATTEMPTS, Result, retry
from placement.db.engine.written_tables import WrittenTables
from placement.db.mode import Mode

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

# Options of [placement_database] that `create_engine` takes.
ENGINE_OPTIONS = (
    'mysql_sql_mode',
    'connection_recycle_time',
    'connection_debug',
    'max_pool_size',
    'max_overflow',
    'pool_timeout',
    'sqlite_synchronous',
    'connection_trace',
    'max_retries',
    'retry_interval',
    'connection_parameters',
)

# Seconds for which the worker is not ready after a write failed for a lasting cause.
WRITE_FAILURE_SECONDS = 30


class UnnamedChangeError(Exception):
    """A transaction wrote a table that others read, without recording a change: a defect."""


class Database:
    """The engines of one configuration: one for writes, and one for reads.

    With `has_standard_names` the standard traits and resource classes of this release are inserted
    on demand; without it only stored names exist. `first_sink` creates the first sink of each

    attempt at a transaction that writes, of which there are at most `attempts`. `checks_changes`
    fails a transaction that has written a table without recording a change. `count_with` sets the
    `recorder`, which counts statements, connections and transactions. `lock_waits` limits the
    threads that wait for locks of rows. As a context manager, the object is disposed of at the end
    of the block.
    """

    def __init__(
        self,
        engine: sa.Engine,
        first_sink: Callable[[], FirstSink],
        read_engine: sa.Engine | None = None,
        attempts: int = WRITE_ATTEMPTS,
        checks_changes: bool = False,
        has_standard_names: bool = True,
    ) -> None:
        self.engine = engine
        self.has_standard_names = has_standard_names
        self.attempts = attempts
        self._first_sink = first_sink
        self._checks_changes = checks_changes
        self._written_tables = WrittenTables(engine)
        self.recorder: Recorder | None = None
        self.lock_waits = LockWaits()
        # Monotonic time of the last write that failed for a lasting cause.
        self._write_failed_at: float | None = None
        self._writer = sqlite.writing(engine)
        self._brief_writer = sqlite.writing(engine, timeouts.BRIEF_LOCK_SECONDS)
        self._reader = engine if read_engine is None else read_engine

    @classmethod
    def from_conf(cls, conf: ConfigOpts, first_sink: Callable[[], FirstSink]) -> Database:
        """Return the database that `[placement_database]` names.

        Specification: configuration, "Options".

        :raises Exception: see `create_engine`
        """
        group = conf.placement_database
        options = {name: getattr(group, name) for name in ENGINE_OPTIONS}
        lock_timeout = group.lock_timeout or timeouts.default_lock(group.connection)
        options['bounds'] = Timeouts(group.connect_timeout, group.response_timeout, lock_timeout)
        # An empty value keeps the server's mode; oslo.db would set an empty mode.
        options['mysql_sql_mode'] = group.mysql_sql_mode or None
        read_engine = None
        if group.slave_connection:
            read_engine = create_engine(group.slave_connection, **options)
        attempts = max(1, conf.placement.allocation_conflict_retry_count)
        engine = create_engine(group.connection, **options)
        return cls(engine, first_sink, read_engine, attempts, conf.placement.check_changes)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_error: object) -> None:
        self.dispose()

    def count_with(self, recorder: Recorder) -> None:
        """Count statements, connections, and transactions from now on."""
        # Imported here because it is needed only with metrics.
        from placement.db.engine import activity

        self.recorder = recorder
        activity.count(self.engine, 'primary', recorder)
        if self.has_replica:
            activity.count(self._reader, 'replica', recorder)

    def begin(
        self,
        mode: Mode,
        may_lag: bool = False,
        changes: Changes | None = None,
        sinks: Sequence[Sink] = (),
    ) -> contextlib.AbstractContextManager[sa.Connection]:
        """Begin a transaction: COMMIT at the end of the block, ROLLBACK after an exception.

        A read that `may_lag` uses the replica, if one is configured. A write records its changes
        in `changes`, which the first sink and `sinks` write before its COMMIT.

        A brief transaction has the timeouts of `timeouts.shortened`. A brief write does not wait
        for a free connection of the pool.

        :raises sqlalchemy.exc.TimeoutError: no connection of the pool is free
        :raises placement.errors.OutcomeUnknown: the reply to COMMIT of `Mode.WRITE` was lost, and
            the database does not report its outcome in time
        """
        if mode is Mode.WRITE:
            return self._write(Changes() if changes is None else changes, sinks)
        if mode is Mode.WRITE_BRIEFLY:
            pool.check_room(self.engine)
            return _begin(self._brief_writer, mode)
        return _begin(self._reader if may_lag else self.engine, mode)

    @contextlib.contextmanager
    def _write(self, changes: Changes, sinks: Sequence[Sink]) -> Iterator[sa.Connection]:
        """A transaction whose changes the sinks write before COMMIT.

        On SQLite it begins with the write lock. A lost reply to COMMIT is ignored if the first
        sink finds the transaction committed. A failure with a lasting cause is recorded.
        """
        first, is_committing = self._first_sink(), False
        try:
            with (
                self._writer.connect() as connection,
                self._written_tables.of(connection) as written,
            ):
                with connection.begin():
                    yield connection
                    if self._checks_changes:
                        _check_named(changes, written)
                    if changes or written:
                        for sink in (first, *sinks):
                            sink.write(connection, changes)
                    is_committing = True
                if connection.dialect.name == 'sqlite':
                    # SQLite cannot lose the reply to a COMMIT, but its log may be removed.
                    sqlite_file.check_log(connection)
        except failures.DATABASE_ERRORS as error:
            cause = failures.cause_of(error)
            # After an error at COMMIT the outcome is open, except for a conflict.
            is_in_doubt = is_committing and cause is not Cause.CONFLICT
            if not is_in_doubt or not first.has_committed(self.engine):
                if cause in LASTING:
                    self._write_failed_at = time.monotonic()
                raise
        self._write_failed_at = None

    def retry(self, work: Callable[[], Result], name: str) -> Result:
        """Run work that only reads, or that may run again; retry after temporary failures.

        :raises Exception: see `transactions.retry`
        """
        return retry(work, name, READ_ATTEMPTS, self.recorder)

    def check_writable(self) -> None:
        """Raise `errors.DatabaseUnusable` if the database was full or damaged at the last write.

        The error ends after `WRITE_FAILURE_SECONDS`, because only another write can show that the
        database works again, and load balancers send none to a worker that is not ready.
        """
        failed_at = self._write_failed_at
        if failed_at is not None and time.monotonic() - failed_at < WRITE_FAILURE_SECONDS:
            raise errors.DatabaseUnusable

    @property
    def has_replica(self) -> bool:
        """True if reads that may lag have an engine of their own."""
        return self._reader is not self.engine

    def dispose(self) -> None:
        """Close all pooled connections, and release the files with counts."""
        self.engine.dispose()
        if self.has_replica:
            self._reader.dispose()
        if self.recorder is not None:
            self.recorder.close()


@contextlib.contextmanager
def _begin(engine: sa.Engine, mode: Mode) -> Iterator[sa.Connection]:
    """A transaction of any mode but `Mode.WRITE`."""
    is_brief = mode in (Mode.READ_BRIEFLY, Mode.WRITE_BRIEFLY)
    is_of_one_moment = mode in (Mode.READ_ONE_MOMENT, Mode.READ_BRIEFLY)
    with (
        engine.connect() as connection,
        timeouts.shortened(connection) if is_brief else contextlib.nullcontext(),
        connection.begin(),
    ):
        # Every transaction of SQLite sees one moment.
        if is_of_one_moment and connection.dialect.name != 'sqlite':
            connection.execute(sa.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'))
        yield connection


def _check_named(changes: Changes, written: set[str]) -> None:
    unnamed = list_unnamed(changes, written)
    if unnamed:
        raise UnnamedChangeError(f'written, and no change named: {", ".join(unnamed)}')
