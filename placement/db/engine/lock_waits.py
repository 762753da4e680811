# SPDX-License-Identifier: Apache-2.0
"""Waiting for locks of rows without occupying every thread of a process.

While some transaction, such as an operator's open session or a frozen worker, keeps a provider
locked, every write of that provider would wait in the database, until no thread is left for other
requests. So one thread of a process waits there for a row, and of three threads or more one waits
for none. The others wait here, read the row now and then, and are refused if no transaction has
changed it for two seconds.

A thread that waits here has no transaction. The database does not see such a wait: it would not
detect that the thread it waits for needs a row which this one has locked. So a transaction whose
turn has not come is rolled back, and runs again from its beginning when it has.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

import sqlalchemy as sa

from placement import errors

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

# A row by its name, which may be its id.
Row = str | int

# Reads a state of rows without a lock; every transaction that has locked a row changes it.
ReadState = Callable[[sa.Connection], object]

# Opens a connection for one read of rows.
Connect = Callable[[], contextlib.AbstractContextManager[sa.Connection]]

# Seconds until the first read of the rows that a thread waits for, and between two reads. If they
# are unchanged, the thread is stuck. It also is after the last read, because it may wait for one
# row while others change.
FIRST_LOOK_SECONDS = 0.25
LOOK_SECONDS = 2
MAX_LOOKS = 3

# Maximum seconds to wait for a turn while other threads make progress.
MAX_WAIT_SECONDS = 20


class TurnNeeded(Exception):
    """Other threads wait for rows that a transaction is about to lock: it has to run again."""

    def __init__(self, wait: '_Wait') -> None:
        super().__init__(f'others wait for {wait.rows}')
        self.wait = wait


class _Wait:
    """One thread that locks `rows` in the database; those it has locked are removed.

    `look_at` is the time of the next read, `looks` the number of reads, `state` the last result.
    """

    __slots__ = ('is_stuck', 'look_at', 'looks', 'reads', 'rows', 'state')

    def __init__(self, rows: Collection[Row], reads: Collection[ReadState]) -> None:
        self.rows = set(rows)
        self.reads = tuple(reads)
        self.look_at = 0.0
        self.looks = 0
        self.state: object = None
        self.is_stuck = False

    def read(self, connection: sa.Connection) -> object:
        """Return the state of the rows."""
        return [read(connection) for read in self.reads]


class LockWaits:
    """The threads of a process that lock rows, and those that wait for their turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        # By thread.
        self._waits: dict[int, _Wait] = {}
        # The threads that have locked rows: the configured threads of the web server, or the
        # reused ids if it starts a thread for each request.
        self._threads = set[int]()
        # The rows for which the last thread was stuck until it failed. The next thread that waits
        # for one of them counts as stuck at once.
        self._held = set[Row]()

    def run(self, attempt: Callable[[], Result], connect: Connect) -> Result:
        """Return the result of an attempt at a transaction, after the turns that it needs.

        `connect` opens connections for reads while the thread waits.

        :raises errors.DatabaseBusy: a thread with one of the rows is stuck, or all threads that
            may lock rows are, which are all but one of three or more
        """
        try:
            return attempt()
        except TurnNeeded as needed:
            own = needed.wait
        deadline = self._clock() + MAX_WAIT_SECONDS
        while True:
            while (before := self._entered(own, deadline)) is not None:
                with connect() as connection:
                    state = before.read(connection)
                self._note(before, state)
            try:
                return attempt()
            except TurnNeeded as needed:
                own = needed.wait
            finally:
                self._end()

    @contextlib.contextmanager
    def turn(self, row: Row, read: ReadState) -> Iterator[None]:
        """Lock rows inside the block, in an attempt of `run`; blocks may be nested.

        All transactions lock in one order. `row` is the first one of the block: two threads with
        the same one would wait for each other anyway.

        :raises TurnNeeded: another thread waits for the row, or too many wait for others
        """
        self._enter(row, read)
        is_locked: bool | None = False
        try:
            yield
            is_locked = True
        except TurnNeeded:
            # It has neither locked the row nor failed to.
            is_locked = None
            raise
        finally:
            self._leave(row, is_locked)

    def _enter(self, row: Row, read: ReadState) -> None:
        with self._changed:
            thread = threading.get_ident()
            self._threads.add(thread)
            own = self._waits.get(thread)
            if own is None:
                own = _Wait([row], [read])
                if self._before(own):
                    raise TurnNeeded(own)
                self._begin(own)
            elif row not in own.rows:
                # It has its turn for other rows, and gives it up if it has to wait for this one.
                both = _Wait([*own.rows, row], [*own.reads, read])
                if self._before(both):
                    raise TurnNeeded(both)
                own.rows, own.reads = both.rows, both.reads

    def _begin(self, own: _Wait) -> None:
        own.look_at = self._clock() + FIRST_LOOK_SECONDS
        own.is_stuck = not self._held.isdisjoint(own.rows)
        self._waits[threading.get_ident()] = own

    def _leave(self, row: Row, is_locked: bool | None) -> None:
        """End the wait of this thread for a row, whose lock it may have failed to get."""
        with self._changed:
            own = self._waits.get(threading.get_ident())
            if own is None or row not in own.rows:
                # An inner block has ended it.
                return
            if is_locked:
                self._held.discard(row)
            elif is_locked is False and own.is_stuck:
                self._held.add(row)
            own.rows.remove(row)
            if not own.rows:
                self._end()

    def _end(self) -> None:
        """End the wait of this thread, if there is one."""
        with self._changed:
            if self._waits.pop(threading.get_ident(), None) is not None:
                self._changed.notify_all()

    def _entered(self, own: _Wait, deadline: float) -> _Wait | None:
        """Wait for the turn, and take it; return None then.

        Returns another wait if its rows are due to be read: the caller reads them and calls again.
        """
        with self._changed:
            while before := self._before(own):
                now = self._clock()
                if now >= deadline or _is_hopeless(own, before):
                    LOG.warning(
                        'Refused a write: another one of this process has waited for a lock for '
                        'two seconds.'
                    )
                    raise errors.DatabaseBusy
                next_look = min(before, key=lambda wait: wait.look_at)
                if now >= next_look.look_at:
                    next_look.look_at = now + LOOK_SECONDS
                    return next_look
                self._changed.wait(min(next_look.look_at, deadline) - now)
            self._begin(own)
            return None

    def _before(self, own: _Wait) -> Collection[_Wait]:
        """The waits of other threads of which one has to end before this one may begin."""
        thread = threading.get_ident()
        others = [wait for owner, wait in self._waits.items() if owner != thread]
        before = [wait for wait in others if not wait.rows.isdisjoint(own.rows)]
        # Both of two threads, because a single locked row would stop all other writes.
        has_room = len(others) < max(2, len(self._threads) - 1)
        return before or (() if has_room else others)

    def _note(self, wait: _Wait, state: object) -> None:
        """Record the state of the rows of a wait."""
        with self._changed:
            wait.looks += 1
            is_unchanged = wait.looks > 1 and wait.state == state
            wait.is_stuck |= is_unchanged or wait.looks == MAX_LOOKS
            wait.state = state
            self._changed.notify_all()


def _is_hopeless(own: _Wait, before: Collection[_Wait]) -> bool:
    """True if one wait for the same row is stuck, or all waits for others are."""
    return all(wait.is_stuck for wait in before) or any(
        wait.is_stuck for wait in before if not wait.rows.isdisjoint(own.rows)
    )
