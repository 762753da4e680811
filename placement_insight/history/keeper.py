# SPDX-License-Identifier: Apache-2.0
"""A worker's part of the history: pauses after failures, and removal of old rows.

A change and its rows are one transaction (`sink`). Excess rows are removed after an answer was
sent, in transactions of their own.
"""

import threading
import time
from collections.abc import Callable

from placement.db.engine import failures as database_failures
from placement.db.engine.causes import LASTING, Cause
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.statements import clock as database_clock
from placement_insight import counters
from placement_insight.failures import Failures
from placement_insight.history import statements

# A worker looks for rows to remove after it wrote this number of rows, or after this number of
# seconds. It removes twice as many as it writes, so that together all workers keep up.
ROWS_BETWEEN = 500
SECONDS_BETWEEN = 10.0
REMOVED_AT_ONCE = 500
TRANSACTIONS_AT_ONCE = 2

# While the table is missing or full, each attempt to write would cost a whole transaction.
SECONDS_AFTER_FAILURE = 10.0

# Causes that pause the history. A lock on the table may be gone at the next request, but a change
# that waits for it holds its own locks meanwhile.
_PAUSES_AFTER = LASTING | {Cause.SCHEMA, Cause.TIMEOUT}

WRITING = 'Writing the history of a change'
REMOVING = 'Removing old history'


class ChangeHistory:
    """A worker's part of the history. Thread-safe.

    `lost` counts changes that were committed without a row in the history. `attempts` is the
    maximum number of attempts at a transaction.
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
        self._retention_days = retention_days
        self._max_rows = max_rows
        self._clock = clock
        self._lock = threading.Lock()
        self._removing = threading.Lock()
        self._written = 0
        self._due_at = clock() + SECONDS_BETWEEN
        self._paused_until = clock()
        self.attempts = database.attempts
        self.lost = 0

    @property
    def is_paused(self) -> bool:
        """True for a while after a failure whose cause lasts."""
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
            recorder.add(counters.UNRECORDED_CHANGES)

    def failed(self, cause: Cause | None, failure: Exception) -> None:
        """Log that a change is made without its rows; pause after a lasting cause."""
        if cause in _PAUSES_AFTER:
            self._paused_until = self._clock() + SECONDS_AFTER_FAILURE
        self._failures.expected(WRITING, database_failures.message_of(failure))

    def unexpected(self) -> None:
        """Log the exception being handled, a defect: a change is made without its rows."""
        self._failures.unexpected(WRITING)

    @property
    def is_due(self) -> bool:
        """True if there may be rows to remove."""
        return self._written >= ROWS_BETWEEN or self._clock() >= self._due_at

    def flush(self) -> None:
        """Remove excess rows, unless another thread is doing so. Raises nothing."""
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
        for _ in range(TRANSACTIONS_AT_ONCE):
            # Not in the transaction of the DELETE, which on SQLite blocks every writer.
            with self._database.begin(Mode.READ_BRIEFLY) as connection:
                difference = database_clock.difference(connection)
                days = self._retention_days if difference is None else None
                excess = statements.find_excess(connection, days, self._max_rows, REMOVED_AT_ONCE)
            if difference is not None:
                self._failures.expected(REMOVING, f'nothing is too old while {difference}')
            if not excess:
                return
            with self._database.begin(Mode.WRITE_BRIEFLY) as connection:
                statements.remove(connection, excess)
