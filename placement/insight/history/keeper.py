# SPDX-License-Identifier: Apache-2.0
"""The history of changes, as one worker keeps it: when it is written, and what is removed of it.

A change and its rows are one transaction (`recorder`). What is too old, or too much, is
removed after an answer was sent, in transactions of its own.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from placement.db.engine import failures as database_failures
from placement.db.engine.causes import LASTING, Cause
from placement.db.engine.database import Database
from placement.db.schema.tables import utcnow
from placement.insight.failures import Failures
from placement.insight.history import statements
from placement.insight.history.recorder import ChangeRecorder
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.context import RequestContext

# After so many rows that this worker wrote, or so many seconds, it looks for what is to be
# removed. It removes twice as many as it writes, so that many workers keep up with themselves.
ROWS_BETWEEN = 500
SECONDS_BETWEEN = 10.0
REMOVED_AT_ONCE = 500
TRANSACTIONS_AT_ONCE = 2

# Where the table is missing or full, each attempt at writing it would cost a whole transaction.
SECONDS_AFTER_FAILURE = 10.0

# What does not pass with the next request. A lock on the table may: but a change that waits for it
# keeps others waiting for all that the change itself has locked.
_PAUSES_AFTER = LASTING | {Cause.SCHEMA, Cause.TIMEOUT}

WRITING = 'Writing the history of a change'
REMOVING = 'Removing old history'


class ChangeHistory:
    """One worker's part of keeping the history. Any thread may call each method.

    `lost` counts changes that were made without leaving a row in the history.
    """

    def __init__(
        self,
        database: Database,
        failures: Failures,
        retention_days: int,
        max_rows: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._failures = failures
        self._retention = datetime.timedelta(days=retention_days)
        self._max_rows = max_rows
        self._clock = clock
        self._lock = threading.Lock()
        self._removing = threading.Lock()
        self._written = 0
        self._due_at = clock() + SECONDS_BETWEEN
        self._paused_until = clock()
        self.lost = 0

    def recorder(self, context: RequestContext, action: str) -> ChangeRecorder:
        """Return a recorder of the changes of one request; `action` names the request."""
        return ChangeRecorder(self, context, action)

    @property
    def is_paused(self) -> bool:
        """True after a recent failure whose cause lasts."""
        return self._clock() < self._paused_until

    def written(self, rows: int) -> None:
        """Count rows that were committed."""
        with self._lock:
            self._written += rows

    def missed(self) -> None:
        """Count a change that was committed without its rows."""
        with self._lock:
            self.lost += 1
        recorder = self._database.recorder
        if recorder is not None:
            recorder.add(catalog.UNRECORDED_CHANGES)

    def failed(self, cause: Cause | None, failure: Exception) -> None:
        """Log that a change is made without its rows, and pause after a cause that lasts."""
        if cause in _PAUSES_AFTER:
            self._paused_until = self._clock() + SECONDS_AFTER_FAILURE
        self._failures.expected(WRITING, database_failures.message_of(failure))

    def unexpected(self) -> None:
        """Log the exception that is being handled, for which a change is made without its rows."""
        self._failures.unexpected(WRITING)

    @property
    def is_due(self) -> bool:
        """True where there may be rows to remove."""
        return self._written >= ROWS_BETWEEN or self._clock() >= self._due_at

    def flush(self) -> None:
        """Remove what is to be removed, unless another thread is doing so. Raises nothing."""
        if not self._removing.acquire(blocking=False):
            return
        try:
            self._due_at = self._clock() + SECONDS_BETWEEN
            with self._lock:
                self._written = 0
            self._remove()
        except database_failures.DATABASE_ERRORS as error:
            self._failures.expected(REMOVING, database_failures.message_of(error))
        except Exception:
            self._failures.unexpected(REMOVING)
        finally:
            self._removing.release()

    def _remove(self) -> None:
        before = utcnow() - self._retention
        for _ in range(TRANSACTIONS_AT_ONCE):
            # Not in the transaction that removes, which on SQLite keeps every writer waiting.
            with self._database.reader(is_brief=True) as connection:
                excess = statements.find_excess(
                    connection, before, self._max_rows, REMOVED_AT_ONCE
                )
            if not excess:
                return
            with self._database.brief_writer() as connection, connection.begin():
                statements.remove(connection, excess)
