# SPDX-License-Identifier: Apache-2.0
"""`Database`: the engines of one configuration, and the four ways to open a transaction.

=====================  ==========================================================================
`reader`               Reads what was committed before each statement.
`consistent_reader`    Reads one moment: all statements see what was committed before the first.
`writer`               Writes. The outcome of its COMMIT is found out when the reply is lost.
`brief_writer`         Writes what can be left undone, and waits for nothing for long.
=====================  ==========================================================================

Objects use them as decorators of the same names, from `db.engine.transactions`, which begin a
failed transaction again and bind the connection to the context.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from placement import errors
from placement.conf import ConfigOpts
from placement.db.engine import failures, pool, sqlite, timeouts
from placement.db.engine.causes import LASTING, Cause
from placement.db.engine.engines import create_engine
from placement.db.engine.timeouts import Timeouts
from placement.db.engine.transactions import WRITE_ATTEMPTS
from placement.feed import commit_outcome

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

# Seconds for which the worker is not ready after a write that failed for a reason that lasts.
WRITE_FAILURE_SECONDS = 30


class Database:
    """The engines of one configuration: one for writes, and one for reads.

    `attempts` is how many times a transaction that writes is tried before the client is told
    about the conflict. `recorder` counts what is done here, where that is wanted: see
    `count_with`. As a context manager it is disposed of at the end of the block.
    """

    def __init__(
        self,
        engine: sa.Engine,
        read_engine: sa.Engine | None = None,
        attempts: int = WRITE_ATTEMPTS,
    ) -> None:
        self.engine = engine
        self.attempts = attempts
        self.recorder: Recorder | None = None
        # When the last write failed for a reason that lasts, by the monotonic clock.
        self._write_failed_at: float | None = None
        self._writer = sqlite.writing(engine)
        self._brief_writer = sqlite.writing(engine, timeouts.BRIEF_LOCK_SECONDS)
        if engine.dialect.name != 'sqlite':
            commit_outcome.note_writes(engine)
        self._reader = engine if read_engine is None else read_engine

    @classmethod
    def from_conf(cls, conf: ConfigOpts) -> Database:
        """Return the database that `[placement_database]` names.

        Specification: configuration, "Options". Raises what `create_engine` raises.
        """
        group = conf.placement_database
        options = {name: getattr(group, name) for name in ENGINE_OPTIONS}
        options['bounds'] = Timeouts(
            group.connect_timeout, group.response_timeout, group.lock_timeout
        )
        # oslo.db would set an empty mode as it is, where the option promises the server's own.
        options['mysql_sql_mode'] = group.mysql_sql_mode or None
        read_engine = None
        if group.slave_connection:
            read_engine = create_engine(group.slave_connection, **options)
        attempts = max(1, conf.placement.allocation_conflict_retry_count)
        return cls(create_engine(group.connection, **options), read_engine, attempts)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_error: object) -> None:
        self.dispose()

    def count_with(self, recorder: Recorder) -> None:
        """Count statements, connections, and transactions from now on."""
        # Imported here because only those who count anything need it.
        from placement.db.engine import activity

        self.recorder = recorder
        activity.count(self.engine, 'primary', recorder)
        if self._reader is not self.engine:
            activity.count(self._reader, 'replica', recorder)

    @contextlib.contextmanager
    def reader(self, may_lag: bool = False, is_brief: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction that only reads.

        It may be on the replica, if one is configured, where what it reads may lag behind. A brief
        one reads tables that an operator may have locked, and waits as `brief_writer` does.
        """
        engine = self._reader if may_lag else self.engine
        with (
            engine.connect() as connection,
            timeouts.shortened(connection) if is_brief else contextlib.nullcontext(),
            connection.begin(),
        ):
            yield connection

    @contextlib.contextmanager
    def consistent_reader(self) -> Iterator[sa.Connection]:
        """Open a transaction on the primary that only reads, and sees one moment."""
        with self.engine.begin() as connection:
            # Every transaction of SQLite is like that.
            if connection.dialect.name != 'sqlite':
                connection.execute(sa.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'))
            yield connection

    @contextlib.contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """Open a transaction that may write; on SQLite it takes the write lock at once.

        Where the reply to its COMMIT is lost, it ends as if that had come if it has committed
        nevertheless. Raises `errors.OutcomeUnknown` where the database does not say that in time.
        """
        # On SQLite no reply can be lost between a process and its file.
        is_marked = self.engine.dialect.name != 'sqlite'
        try:
            with self._marked_writer() if is_marked else self._writer.begin() as connection:
                yield connection
        except failures.DATABASE_ERRORS as error:
            if failures.cause_of(error) in LASTING:
                self._write_failed_at = time.monotonic()
            raise
        self._write_failed_at = None

    @contextlib.contextmanager
    def _marked_writer(self) -> Iterator[sa.Connection]:
        mark, is_committing = commit_outcome.Mark(), False
        try:
            with (
                self._writer.connect() as connection,
                commit_outcome.marked(connection, mark),
                connection.begin(),
            ):
                yield connection
                commit_outcome.leave(connection, mark)
                is_committing = True
        except failures.DATABASE_ERRORS as error:
            # What ran in the transaction is done if it has committed after all.
            is_in_doubt = is_committing and failures.cause_of(error) is not Cause.CONFLICT
            if not is_in_doubt or not commit_outcome.has_committed(self.engine, mark):
                raise

    @contextlib.contextmanager
    def brief_writer(self) -> Iterator[sa.Connection]:
        """Open a connection for transactions that write what can be left undone.

        They wait for a lock, and for a response of a server, as `timeouts.shortened` says, and not
        at all for a free connection of the pool: where there is none, this raises
        `sqlalchemy.exc.TimeoutError`. Nobody finds out whether one has committed.
        """
        pool.check_room(self.engine)
        with (
            self._brief_writer.connect() as connection,
            timeouts.shortened(connection),
        ):
            yield connection

    def check_writable(self) -> None:
        """Raise `errors.DatabaseUnusable` if the database was full or damaged a moment ago.

        Only a write shows that. So a load balancer that takes the worker out of service for it
        lets it try again `WRITE_FAILURE_SECONDS` later.
        """
        failed_at = self._write_failed_at
        if failed_at is not None and time.monotonic() - failed_at < WRITE_FAILURE_SECONDS:
            raise errors.DatabaseUnusable

    @property
    def readers(self) -> Sequence[Callable[[], contextlib.AbstractContextManager[sa.Connection]]]:
        """The functions that open a transaction that only reads, one for each engine."""
        if self._reader is self.engine:
            return (self.reader,)
        return self.reader, functools.partial(self.reader, may_lag=True)

    def dispose(self) -> None:
        """Close every pooled connection, and let go of the files with counts."""
        self.engine.dispose()
        if self._reader is not self.engine:
            self._reader.dispose()
        if self.recorder is not None:
            self.recorder.close()
