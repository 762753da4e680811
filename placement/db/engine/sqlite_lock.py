# SPDX-License-Identifier: Apache-2.0
"""The write lock of a SQLite file, which one transaction at a time holds.

SQLite polls for the lock with growing pauses, so waiting transactions would be served late and out
of order. So one transaction of a process polls, and the others wait for their turn.
"""

import sqlite3
import threading
import time
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import begin_statement


class WriteLock:
    """Begins the writing transactions of one engine."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._turn = threading.Lock()

    def begin(self, connection: sa.Connection, timeout: float | None = None) -> None:
        """Begin a transaction with the write lock; wait for it up to `timeout`.

        :raises oslo_db.exception.DBError: the timeout has passed, or SQLite failed
        """
        timeout = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        driver_connection: Any = connection.connection.dbapi_connection
        if not self._turn.acquire(timeout=timeout):
            raise _locked()
        # SQLite waits until the deadline instead of for the timeout of the engine.
        try:
            _set_seconds(driver_connection, max(0, deadline - time.monotonic()))
            begin_statement.execute(connection, 'BEGIN IMMEDIATE')
        finally:
            self._turn.release()
            _set_seconds(driver_connection, self._timeout)


def _set_seconds(connection: sqlite3.Connection, seconds: float) -> None:
    """Set how long a connection waits for a lock."""
    connection.execute(f'PRAGMA busy_timeout = {int(seconds * 1000)}')


def _locked() -> db_errors.DBError:
    """Return the error that SQLite raises after its timeout."""
    error = sqlite3.OperationalError('database is locked')
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return db_errors.DBError(error)
