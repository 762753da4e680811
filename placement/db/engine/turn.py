# SPDX-License-Identifier: Apache-2.0
"""Turns for work with the database that one thread of a process does at a time."""

import contextlib
import threading
import time
from collections.abc import Iterator

import sqlalchemy as sa

from placement.db.engine import failures

# Maximum seconds to wait for a turn: longer than a connection and a response may take by default,
# and than a load of a large cloud takes.
MAX_WAIT_SECONDS = 60


class Turn:
    """A lock whose waiting threads fail together with the thread that holds it.

    Otherwise each of them would time out on a silent database one after the other, and the last
    would answer minutes after the first.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._failure: Exception | None = None
        self._failure_count = 0
        # Number of threads that wait.
        self.waiting = 0

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Take the turn for a block.

        :raises sqlalchemy.exc.TimeoutError: after `MAX_WAIT_SECONDS`
        :raises Exception: the error of the database in the block of another thread, if that failed
            while this one waited
        """
        with self._changed:
            self._wait()
            self._is_taken = True
        failure: Exception | None = None
        try:
            yield
        except failures.DATABASE_ERRORS as error:
            failure = error
            raise
        finally:
            self._release(failure)

    def _wait(self) -> None:
        seen, deadline = self._failure_count, time.monotonic() + MAX_WAIT_SECONDS
        self.waiting += 1
        try:
            while self._is_taken:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise sa.exc.TimeoutError(f'no turn within {MAX_WAIT_SECONDS} s')
                if self._failure is not None and self._failure_count > seen:
                    raise self._failure
        finally:
            self.waiting -= 1

    def _release(self, failure: Exception | None) -> None:
        with self._changed:
            self._is_taken, self._failure = False, failure
            if failure is not None:
                self._failure_count += 1
            self._changed.notify_all()
