# SPDX-License-Identifier: Apache-2.0
"""Engines for SQLite, which are not made by oslo.db.

That would open the file anew for every transaction, and begin each of them without a lock: two
writers that have both read would then fail instead of queueing.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import time
import traceback
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import exc_filters

from placement.db.engine import backoff

# How long a writer waits for the one before it, in seconds.
BUSY_TIMEOUT = 60

# The option of an engine whose transactions write.
_WRITES = 'placement_writes'


def create_engine(
    url: str,
    sqlite_synchronous: bool = True,
    connection_parameters: str = '',
    connection_debug: int = 0,
    connection_trace: bool = False,
    **_others: Any,
) -> sa.Engine:
    """An engine for a file, or for memory. Options that are for servers mean nothing here."""
    # Before there is an engine, which asks only once what is to be logged.
    _log_statements(connection_debug)
    parsed = sa.make_url(url)
    if connection_parameters:
        parsed = parsed.update_query_string(connection_parameters, append=True)
    in_memory = parsed.database in (None, '', ':memory:')
    # A database in memory is its one connection, for which threads have to queue.
    pool = {'pool_size': 1, 'max_overflow': 0} if in_memory else {'max_overflow': -1}
    engine = sa.create_engine(
        parsed,
        poolclass=sa.QueuePool,
        connect_args={'check_same_thread': False, 'timeout': BUSY_TIMEOUT},
        **pool,
    )
    _prepare_connections(engine, sqlite_synchronous)
    _keep_to_one_process(engine)
    if connection_trace:
        _add_origins(engine)
    exc_filters.register_engine(engine)
    return engine


def writing(engine: sa.Engine) -> sa.Engine:
    """The engine for transactions that write, which SQLite has to know when they begin.

    Any other stays as it is: one with options of its own costs a little at each statement.
    """
    if engine.dialect.name != 'sqlite':
        return engine
    return engine.execution_options(**{_WRITES: True})


def _log_statements(connection_debug: int) -> None:
    """Let SQLAlchemy log what the option of oslo.db asks for: all, statements, or warnings."""
    level = logging.INFO if connection_debug >= 50 else logging.WARNING
    if connection_debug >= 100:
        level = logging.DEBUG
    logging.getLogger('sqlalchemy.engine').setLevel(level)


def _add_origins(engine: sa.Engine) -> None:
    """Say in a comment of each statement, as oslo.db does, which lines of code it comes from."""
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
        lines = [f'File: {one.filename} ({one.lineno}) {one.name}' for one in frames]
        return f'{statement}  -- {"; ".join(lines[-3:])}', parameters


def _prepare_connections(engine: sa.Engine, is_synchronous: bool) -> None:
    # The file is written once per commit either way: NORMAL in WAL mode may lose the last
    # commits in a power cut, and what was acknowledged must not be lost.
    synchronous = 'FULL' if is_synchronous else 'OFF'

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        _use_write_ahead_log(connection)
        connection.execute(f'PRAGMA synchronous = {synchronous}')
        connection.execute('PRAGMA foreign_keys = ON')

    @sa.event.listens_for(engine, 'begin')
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql('BEGIN IMMEDIATE' if writes else 'BEGIN')


def _use_write_ahead_log(connection: Any) -> None:
    """Let readers and a writer work side by side.

    Several processes that open a new file at once get in each other's way here, which SQLite's
    own waiting does not cover.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT
    for attempt in itertools.count():
        try:
            connection.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            backoff.sleep(attempt)


def _keep_to_one_process(engine: sa.Engine) -> None:
    """Have a process that was forked open the file itself.

    A server may load the application before it forks its workers. SQLite forbids them to go on
    with a connection of their parent; oslo.db guards other engines in the same way.
    """

    @sa.event.listens_for(engine, 'connect')
    def note_process(_connection: Any, record: Any) -> None:
        record.info['pid'] = os.getpid()

    @sa.event.listens_for(engine, 'checkout')
    def check_process(_connection: Any, record: Any, proxy: Any) -> None:
        if record.info['pid'] != os.getpid():
            # Let go of it without closing what is not ours.
            record.dbapi_connection = proxy.dbapi_connection = None
            raise sa.exc.DisconnectionError('The connection belongs to another process.')
