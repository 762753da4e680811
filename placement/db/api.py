# SPDX-License-Identifier: Apache-2.0
"""Engines and transactions.

A method of an object that reads or writes is wrapped in `reader` or `writer`; what it calls finds
the open transaction in `context.connection`. Nothing else opens one.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_errors
from oslo_db.sqlalchemy import engines, exc_filters

from placement import errors
from placement.conf import ConfigOpts

LOG = logging.getLogger(__name__)

Arguments = ParamSpec('Arguments')
Result = TypeVar('Result')

Connection = sa.Connection

# A row of whatever columns a statement has.
Row = sa.Row[*tuple[Any, ...]]

# Attempts at one transaction before the client is told that it conflicts, and the longest pause
# before the second of them, in seconds. The pause doubles, and is jittered.
ATTEMPTS = 10
FIRST_PAUSE = 0.004
LONGEST_PAUSE = 0.25

# What another transaction can do to ours that repeating ours cures: a deadlock, a lock that
# timed out, a Galera certification failure, a row that someone else inserted or began to refer
# to first, a connection that was cut (nothing of an unfinished transaction is kept by any engine).
REPEATABLE = (
    db_errors.DBDeadlock,
    db_errors.DBDuplicateEntry,
    db_errors.DBReferenceError,
    db_errors.DBConnectionError,
)

# How long a writer on SQLite waits for the one before it, in seconds.
SQLITE_BUSY_TIMEOUT = 60

# Options of [placement_database] that oslo.db takes as they are.
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


class Context(Protocol):
    """What statements need: the database, and the connection while a transaction is open."""

    database: Any
    connection: Any


class Database:
    """The engines of one configuration: one to write to, one to read from."""

    def __init__(
        self,
        engine: sa.Engine,
        read_engine: sa.Engine | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        self.engine = engine
        self.attempts = attempts
        self._writer = engine.execution_options(placement_writer=True)
        self._reader = engine if read_engine is None else read_engine

    @classmethod
    def from_conf(cls, conf: ConfigOpts) -> Database:
        """The database that `[placement_database]` names (contract: config_and_policy.md)."""
        group = conf.placement_database
        options = {name: getattr(group, name) for name in ENGINE_OPTIONS}
        read_engine = None
        if group.slave_connection:
            read_engine = create_engine(group.slave_connection, **options)
        attempts = max(1, conf.placement.allocation_conflict_retry_count)
        return cls(create_engine(group.connection, **options), read_engine, attempts)

    @contextlib.contextmanager
    def reader(self) -> Iterator[sa.Connection]:
        """A connection in one transaction that only reads."""
        with self._reader.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def fresh_reader(self) -> Iterator[sa.Connection]:
        """As `reader`, but never from a replica, which may lag behind."""
        with self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def consistent_reader(self) -> Iterator[sa.Connection]:
        """As `fresh_reader`, and all statements see the same moment."""
        with self.engine.begin() as connection:
            # On SQLite that is so in any transaction.
            if connection.dialect.name != 'sqlite':
                connection.execute(sa.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'))
            yield connection

    @contextlib.contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """A connection in one transaction that may write; on SQLite it holds the lock at once."""
        with self._writer.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()
        if self._reader is not self.engine:
            self._reader.dispose()


def create_engine(url: str, **options: Any) -> sa.Engine:
    """An engine whose errors are oslo.db's, prepared for the rules of its database."""
    if sa.make_url(url).get_backend_name() == 'sqlite':
        return _create_sqlite_engine(url, options)
    engine = engines.create_engine(url, **options)
    _use_read_committed(engine)
    return engine


def _create_sqlite_engine(url: str, options: dict[str, Any]) -> sa.Engine:
    """An engine for a file, or for memory.

    Not made by oslo.db, which opens the file anew for every transaction and begins each of them
    without a lock: two writers that have both read would then fail instead of queueing.
    """
    parsed = sa.make_url(url)
    if options.get('connection_parameters'):
        parsed = parsed.update_query_string(options['connection_parameters'], append=True)
    in_memory = parsed.database in (None, '', ':memory:')
    # A database in memory is its one connection, for which threads have to queue.
    pool = {'pool_size': 1, 'max_overflow': 0} if in_memory else {'max_overflow': -1}
    engine = sa.create_engine(
        parsed,
        poolclass=sa.QueuePool,
        connect_args={'check_same_thread': False, 'timeout': SQLITE_BUSY_TIMEOUT},
        **pool,
    )
    # The file is written once per commit either way: NORMAL in WAL mode may lose the last
    # commits in a power cut, and what was acknowledged must not be lost.
    synchronous = 'FULL' if options.get('sqlite_synchronous', True) else 'OFF'

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        _use_write_ahead_log(connection)
        connection.execute(f'PRAGMA synchronous = {synchronous}')
        connection.execute('PRAGMA foreign_keys = ON')

    @sa.event.listens_for(engine, 'begin')
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get('placement_writer')
        connection.exec_driver_sql('BEGIN IMMEDIATE' if writes else 'BEGIN')

    exc_filters.register_engine(engine)
    return engine


def _use_write_ahead_log(connection: Any) -> None:
    """Let readers and a writer work side by side.

    Several processes that open a new file at once get in each other's way here, which SQLite's
    own waiting does not cover.
    """
    deadline = time.monotonic() + SQLITE_BUSY_TIMEOUT
    for attempt in itertools.count():
        try:
            connection.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            _pause(attempt)


def _use_read_committed(engine: sa.Engine) -> None:
    """Let every statement see what is committed when it starts.

    Under MySQL's REPEATABLE READ the first plain read would fix the view of a transaction before
    its locks are taken, and looking for a row that is not there would lock the gap around it, so
    that claims of new consumers deadlock. PostgreSQL has this level by default.
    """
    if engine.dialect.name not in ('mysql', 'mariadb'):
        return

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')


def _context_of(subject: Any, arguments: tuple[Any, ...]) -> Any:
    """The context of an object, the first argument of a class method, or the context itself."""
    if isinstance(subject, type):
        return arguments[0]
    return getattr(subject, '_context', subject)


def reader(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Run a method of an object or class, or a function of a context, in one transaction."""

    @functools.wraps(function)
    def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        context = _context_of(subject, args)
        if context.connection is not None:
            return function(subject, *args, **kwargs)
        try:
            with context.database.reader() as connection, _opened(context, connection):
                return function(subject, *args, **kwargs)
        except db_errors.DBConnectionError as error:
            LOG.error('The database cannot be reached: %s', error)
            raise errors.DatabaseUnavailable() from error

    return run


def writer(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """As `reader`, for a transaction that writes, repeated from the start when others interfere.

    Raises `errors.TooManyConflicts` when every attempt was interfered with, and
    `errors.DatabaseUnavailable` when the last of them found no database. What the function
    does to its object must therefore be harmless when it is done again.
    """

    @functools.wraps(function)
    def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        context = _context_of(subject, args)
        if context.connection is not None:
            return function(subject, *args, **kwargs)
        failure: Exception | None = None
        attempts = context.database.attempts
        for attempt in range(attempts):
            try:
                with context.database.writer() as connection, _opened(context, connection):
                    return function(subject, *args, **kwargs)
            except REPEATABLE as error:
                failure = error
                LOG.debug('Attempt %d at %s: %s', attempt + 1, function.__qualname__, error)
                _pause(attempt)
            except db_errors.DBDataError as error:
                raise errors.BadRequest('A value is beyond what the database can hold.') from error
        LOG.warning('%s gave up after %d attempts.', function.__qualname__, attempts)
        if isinstance(failure, db_errors.DBConnectionError):
            raise errors.DatabaseUnavailable() from failure
        raise errors.TooManyConflicts() from failure

    return run


@contextlib.contextmanager
def _opened(context: Context, connection: sa.Connection) -> Iterator[None]:
    context.connection = connection
    try:
        yield
    finally:
        context.connection = None


def _pause(attempt: int) -> None:
    """Let the others finish: milliseconds, more each time, never the same for two of them."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt, 10))
    time.sleep(longest * random.uniform(0.5, 1.5))
