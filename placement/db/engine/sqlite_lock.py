# SPDX-License-Identifier: Apache-2.0
"""Waiting for the write lock of a SQLite file without occupying every thread of a server.

SQLite has one writer at a time. While a program has the lock and does not go on, a frozen one or
somebody's open transaction, every request that writes would wait for it, and reads would find no
thread. So one transaction of a process tries to get the lock, and those behind it are refused once
nobody has committed anything for a while.
"""

import sqlite3
import threading
import time
from typing import Any

import sqlalchemy as sa

from placement.db.engine import failures
from placement.db.engine.causes import Cause

# Seconds that SQLite itself waits at a time. A reader, too, may have to wait for a moment: while
# another process recovers or removes the write-ahead log.
BUSY_TIMEOUT = 1

# Seconds without a commit by anybody, after which the owner of the lock counts as stuck.
MAX_IDLE_SECONDS = 2

# Seconds after which a waiting transaction looks again whether the owner is stuck.
_POLL = 0.05


class WriteLock:
    """Begins the transactions of one engine that write."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        # Its owner is the one transaction of this process that tries to begin.
        self._turn = threading.Lock()
        self._is_stuck = False

    def begin(self, connection: sa.Connection, timeout: float | None = None) -> None:
        """Begin a transaction with the write lock; wait for it no longer than `timeout`, if given.

        Raises the error of SQLite for a locked database when the timeout has passed, or at once
        while another transaction of this process waits for an owner that is stuck.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        while not self._turn.acquire(timeout=_POLL):
            if self._is_stuck or time.monotonic() > deadline:
                raise _locked()
        try:
            self._begin_until(deadline, connection)
            self._is_stuck = False
        finally:
            self._turn.release()

    def _begin_until(self, deadline: float, connection: sa.Connection) -> None:
        version, changed = None, time.monotonic()
        while True:
            try:
                _begin_immediate(connection)
                return
            except failures.DATABASE_ERRORS as error:
                now = time.monotonic()
                if failures.cause_of(error) is not Cause.TIMEOUT or now > deadline:
                    raise
            # It changes whenever another connection has committed.
            before, version = version, _data_version(connection)
            if version != before:
                changed = now
            self._is_stuck = now - changed >= MAX_IDLE_SECONDS


def _begin_immediate(connection: sa.Connection) -> None:
    driver_connection: Any = connection.connection.dbapi_connection
    try:
        driver_connection.execute('BEGIN IMMEDIATE')
    except sqlite3.DatabaseError as error:
        if failures.cause_of(error) is Cause.TIMEOUT:
            raise _locked() from error
        # Once more through SQLAlchemy, which wraps the error and forgets lost connections. To
        # begin every transaction like that takes 4 % of the time of a claim.
        connection.exec_driver_sql('BEGIN IMMEDIATE')


def _data_version(connection: sa.Connection) -> int | None:
    version: int | None = connection.exec_driver_sql('PRAGMA data_version').scalar()
    return version


def _locked() -> sa.exc.OperationalError:
    """Return what SQLite raises."""
    error = sqlite3.OperationalError('database is locked')
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return sa.exc.OperationalError('BEGIN IMMEDIATE', {}, error)
