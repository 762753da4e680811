# SPDX-License-Identifier: Apache-2.0
"""Engines for SQLite, created without oslo.db.

oslo.db opens the file for every transaction, and begins each without a lock. Then one of two
writers that have both read fails instead of waiting.
"""

import itertools
import logging
import os
import sqlite3
import time
import traceback
import urllib.parse
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import exc_filters

from placement.db.engine import backoff, pool, sqlite_file, sqlite_lock
from placement.db.engine.timeouts import LOCK_TIMEOUT
from placement.db.statements import text_hash

# The execution option of an engine whose transactions write.
_WRITES = 'placement_writes'


def create_engine(
    url: sa.URL,
    lock_timeout: int,
    sqlite_synchronous: bool = True,
    connection_debug: int = 0,
    connection_trace: bool = False,
    **_others: Any,
) -> sa.Engine:
    """Return an engine for a file or for memory; options for servers are ignored."""
    # An engine reads the log level once, when it is created.
    _log_statements(connection_debug)
    path = path_in(url)
    # A database in memory exists in its only connection, for which threads have to wait.
    sizes = {'pool_size': 1, 'max_overflow': 0} if path is None else {'max_overflow': -1}
    engine = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        connect_args={'check_same_thread': False, 'timeout': lock_timeout},
        **sizes,
    )
    _prepare_connections(engine, sqlite_synchronous, lock_timeout)
    _keep_to_one_process(engine)
    if connection_trace:
        _add_origins(engine)
    if path is not None:
        sqlite_file.watch(engine, path, may_make='mode' not in url.query)
    # A database in memory would be lost with its connection.
    pool.handle_errors(engine, drops_connections=path is not None)
    exc_filters.register_engine(engine)
    return engine


def path_in(url: sa.URL | str) -> str | None:
    """Return the path of the file in a URL, even in a URI; None for servers and memory."""
    parsed = sa.make_url(url)
    database = parsed.database
    if parsed.get_backend_name() != 'sqlite' or database in (None, '', ':memory:'):
        return None
    if parsed.query.get('uri'):
        database = urllib.parse.unquote(database.removeprefix('file:').partition('?')[0])
    return os.path.abspath(database)


def writing(engine: sa.Engine, lock_timeout: float | None = None) -> sa.Engine:
    """Return the engine for transactions that write.

    On SQLite they begin with the write lock, and wait for it up to `lock_timeout`, if given. Other
    databases use the engine itself, because execution options cost time in each statement.
    """
    if engine.dialect.name != 'sqlite':
        return engine
    return engine.execution_options(**{_WRITES: True, LOCK_TIMEOUT: lock_timeout})


def _log_statements(connection_debug: int) -> None:
    """Set the log level of SQLAlchemy as oslo.db does: 100 all, 50 statements, else warnings."""
    level = logging.INFO if connection_debug >= 50 else logging.WARNING
    if connection_debug >= 100:
        level = logging.DEBUG
    logging.getLogger('sqlalchemy.engine').setLevel(level)


def _add_origins(engine: sa.Engine) -> None:
    """Append a comment with the calling lines of code to each statement, as oslo.db does."""
    library = os.path.dirname(sa.__file__)

    @sa.event.listens_for(engine, 'before_cursor_execute', retval=True)
    def add_origin(
        _connection: sa.Connection,
        _cursor: Any,
        statement: str,
        parameters: Any,
        _context: Any,
        _is_many: bool,
    ) -> tuple[str, Any]:
        frames = itertools.takewhile(
            lambda frame: not frame.filename.startswith(library), traceback.extract_stack()
        )
        lines = [f'File: {frame.filename} ({frame.lineno}) {frame.name}' for frame in frames]
        return f'{statement}  -- {"; ".join(lines[-3:])}', parameters


def _prepare_connections(engine: sa.Engine, is_synchronous: bool, lock_timeout: int) -> None:
    # In WAL mode, NORMAL may lose the last commits in a power cut; FULL loses no acknowledged
    # write.
    synchronous = 'FULL' if is_synchronous else 'OFF'

    lock = sqlite_lock.WriteLock(lock_timeout)

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        _use_write_ahead_log(connection, lock_timeout)
        connection.execute(f'PRAGMA synchronous = {synchronous}')
        connection.execute('PRAGMA foreign_keys = ON')
        connection.create_function(text_hash.SQLITE_NAME, 1, text_hash.hash_of, deterministic=True)

    @sa.event.listens_for(engine, 'begin')
    def begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if options.get(_WRITES):
            lock.begin(connection, options[LOCK_TIMEOUT])
        else:
            # This takes no lock, so no error needs wrapping; SQLAlchemy would slow down small
            # reads.
            driver_connection: Any = connection.connection.dbapi_connection
            driver_connection.execute('BEGIN')


def _use_write_ahead_log(connection: Any, lock_timeout: int) -> None:
    """Enable the write-ahead log, so that readers and a writer do not wait for each other.

    SQLite's busy timeout does not apply when several processes do this to a new file at once.
    """
    deadline = time.monotonic() + lock_timeout
    for attempt in itertools.count():
        try:
            connection.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_busy or time.monotonic() > deadline:
                raise
            backoff.sleep(attempt)


def _keep_to_one_process(engine: sa.Engine) -> None:
    """Make a forked process open the file itself.

    A server may load the application before it forks its workers, and SQLite forbids a child to
    use a connection of its parent. oslo.db does the same for other databases.
    """

    @sa.event.listens_for(engine, 'connect')
    def note_process(_connection: Any, record: Any) -> None:
        record.info['pid'] = os.getpid()

    @sa.event.listens_for(engine, 'checkout')
    def check_process(_connection: Any, record: Any, proxy: Any) -> None:
        if record.info['pid'] != os.getpid():
            # Drop the connection without closing it: the parent uses it.
            record.dbapi_connection = proxy.dbapi_connection = None
            raise sa.exc.DisconnectionError('The connection belongs to another process.')
