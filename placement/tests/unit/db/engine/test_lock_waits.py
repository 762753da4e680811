# SPDX-License-Identifier: Apache-2.0
"""A locked row occupies one thread of a process, and many such rows all threads but one.

A thread that waits in the process has no transaction.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest

from placement import errors
from placement.db.engine.lock_waits import (
    FIRST_LOOK_SECONDS,
    LOOK_SECONDS,
    MAX_LOOKS,
    MAX_WAIT_SECONDS,
    LockWaits,
    TurnNeeded,
)
from placement.tests.waiting import TIMEOUT, wait_until

THREADS = 4
CONNECTION: Any = None


class Waiting(contextlib.ExitStack):
    """The wait of a thread in the database, which ends when this is closed."""

    fails = False


class Process:
    """The threads of a process, with a clock that the test advances.

    `generations` are those of the rows, and `read` lists the rows read so far.
    """

    def __init__(self, stack: contextlib.ExitStack, threads: int = THREADS) -> None:
        self._stack = stack
        self._pools = [
            stack.enter_context(futures.ThreadPoolExecutor(max_workers=1)) for _ in range(threads)
        ]
        self.now = 0.0
        self.generations = dict[object, int]()
        self.read = list[object]()
        self.held = set[str]()
        #: The threads with a transaction.
        self.transactions = set[int]()
        self.waits = LockWaits(lambda: self.now)
        for thread in range(threads):
            self.lock(thread, f'of {thread} alone').result(TIMEOUT)

    def turn(self, row: str) -> contextlib.AbstractContextManager[None]:
        """The turn of the calling thread to lock a row."""

        def read(_connection: object) -> object:
            self.read.append(row)
            return self.generations.get(row)

        return self.waits.turn(row, read)

    def attempt(self, thread: int, work: Callable[[], None]) -> futures.Future[None]:
        """Make a thread attempt a transaction until it has its turns."""

        def attempt() -> None:
            assert threading.get_ident() not in self.transactions
            self.transactions.add(threading.get_ident())
            try:
                work()
            finally:
                self.transactions.discard(threading.get_ident())

        def connect() -> contextlib.AbstractContextManager[Any]:
            assert threading.get_ident() not in self.transactions
            return contextlib.nullcontext(CONNECTION)

        return self._pools[thread].submit(lambda: self.waits.run(attempt, connect))

    def lock(self, thread: int, *rows: str) -> futures.Future[None]:
        """Make a thread lock rows one after the other, and continue."""

        def lock() -> None:
            for row in rows:
                with self.turn(row):
                    assert row not in self.held

        return self.attempt(thread, lock)

    def wait(self, thread: int, row: str) -> 'Waiting':
        """Make a thread wait for the lock of a row in the database, until the wait is closed."""
        pool, ending = self._pools[thread], Waiting()
        turn = self.turn(row)
        pool.submit(turn.__enter__).result(TIMEOUT)
        self.generations[row] = 1
        self.held.add(row)

        def end() -> None:
            error = errors.DatabaseBusy() if ending.fails else None
            with contextlib.suppress(errors.DatabaseBusy):
                kind = None if error is None else type(error)
                pool.submit(turn.__exit__, kind, error, None).result(TIMEOUT)

        ending.callback(end)
        ending.callback(self.held.discard, row)
        self._stack.push(ending)
        return ending

    def pass_looks(self, *rows: str) -> None:
        """Advance the clock until waiting threads have read each of these rows."""
        seen = len(self.read)
        self.now += LOOK_SECONDS if self.read else FIRST_LOOK_SECONDS
        wait_until(lambda: sorted(map(str, self.read[seen:])) == sorted(rows))


@pytest.fixture
def process() -> Iterator[Process]:
    with contextlib.ExitStack() as stack:
        yield Process(stack)


def is_refused(attempt: futures.Future[None]) -> bool:
    return isinstance(attempt.exception(TIMEOUT), errors.DatabaseBusy)


def test_a_thread_waits_for_one_that_locks_the_same_row(process: Process) -> None:
    first = process.wait(0, 'host')
    second = process.lock(1, 'host')
    process.lock(2, 'other').result(TIMEOUT)
    first.close()
    second.result(TIMEOUT)
    assert process.read == []


def test_a_locked_row_stops_no_other_writes_of_two_threads() -> None:
    with contextlib.ExitStack() as stack:
        process = Process(stack, threads=2)
        process.wait(0, 'host')
        for _ in range(MAX_LOOKS):
            process.lock(1, 'other').result(TIMEOUT)


def test_threads_are_refused_once_the_row_has_stayed_the_same(process: Process) -> None:
    process.wait(0, 'host')
    before = process.lock(1, 'host')
    process.pass_looks('host')
    process.pass_looks('host')
    assert is_refused(before)
    assert is_refused(process.lock(2, 'host'))
    assert process.lock(3, 'other').exception(TIMEOUT) is None
    assert process.read == ['host'] * 2


def test_threads_wait_while_other_transactions_change_the_row(process: Process) -> None:
    first = process.wait(0, 'host')
    second = process.lock(1, 'host')
    for _ in range(MAX_LOOKS - 1):
        process.pass_looks('host')
        process.generations['host'] += 1
    first.close()
    assert second.exception(TIMEOUT) is None


def test_a_thread_is_stuck_at_the_last_look_whatever_changes(process: Process) -> None:
    """Change the row at every look: a thread that waits for a row may need others afterwards."""
    process.wait(0, 'host')
    second = process.lock(1, 'host')
    for _ in range(MAX_LOOKS):
        process.pass_looks('host')
        process.generations['host'] += 1
    assert is_refused(second)


def test_threads_are_refused_at_once_where_one_was_stuck_until_it_failed(
    process: Process,
) -> None:
    first = process.wait(0, 'host')
    second = process.lock(1, 'host')
    process.pass_looks('host')
    process.pass_looks('host')
    assert is_refused(second)
    first.fails = True
    first.close()
    first = process.wait(0, 'host')
    assert is_refused(process.lock(1, 'host'))
    first.close()
    # It was locked, so that all is as usual.
    first = process.wait(0, 'host')
    second = process.lock(1, 'host')
    first.close()
    assert second.exception(TIMEOUT) is None


def test_one_thread_stays_free_of_locks(process: Process) -> None:
    hosts = [f'host {thread}' for thread in range(THREADS - 1)]
    waiting = [process.wait(thread, host) for thread, host in enumerate(hosts)]
    last = process.lock(THREADS - 1, 'other')
    process.pass_looks(*hosts)
    process.generations[hosts[-1]] += 1
    process.pass_looks(*hosts)
    # It waits while one of them may go on.
    waiting[-1].close()
    assert last.exception(TIMEOUT) is None
    process.wait(THREADS - 2, hosts[-1])
    last, seen = process.lock(THREADS - 1, 'other'), len(process.read)
    process.now += FIRST_LOOK_SECONDS
    wait_until(lambda: hosts[-1] in process.read[seen:])
    process.now += LOOK_SECONDS
    assert is_refused(last)


def test_a_thread_does_not_wait_for_ever_where_others_go_on(process: Process) -> None:
    process.wait(0, 'host')
    second = process.lock(1, 'host')
    process.pass_looks('host')
    process.generations['host'] += 1
    process.now += MAX_WAIT_SECONDS
    assert is_refused(second)


def test_a_thread_waits_without_a_transaction(process: Process) -> None:
    """It would hold the rows that it has locked so far, also from the thread it waits for."""
    first, begun = process.wait(0, 'host'), list[object]()

    def lock() -> None:
        begun.append(frozenset(process.transactions))
        with process.turn('first'):
            pass
        with process.turn('host'):
            pass

    second = process.attempt(1, lock)
    wait_until(lambda: begun and not process.transactions)
    # The row that it had locked is free.
    process.lock(2, 'first').result(TIMEOUT)
    process.pass_looks('host')
    first.close()
    second.result(TIMEOUT)
    assert len(begun) == 2


def test_a_thread_with_its_turn_for_a_row_gives_it_up_to_wait_for_another(
    process: Process,
) -> None:
    """Two threads that waited for each other's rows would wait for ever."""
    attempts = list[str]()
    both = threading.Barrier(2)

    def lock(first: str, second: str) -> Callable[[], None]:
        def work() -> None:
            attempts.append(first)
            with process.turn(first):
                if len(attempts) <= 2:
                    both.wait(TIMEOUT)
                with process.turn(second):
                    pass

        return work

    one = process.attempt(0, lock('a', 'b'))
    other = process.attempt(1, lock('b', 'a'))
    one.result(TIMEOUT)
    other.result(TIMEOUT)
    assert len(attempts) > 2


def test_a_thread_waits_for_all_its_rows_at_once(process: Process) -> None:
    first, other = process.wait(0, 'host'), process.wait(1, 'other')
    second = process.lock(2, 'host', 'other')
    first.close()
    process.pass_looks('other')
    # The second attempt found the other row waited for, and has given up its turn for the first.
    process.lock(3, 'host').result(TIMEOUT)
    other.close()
    second.result(TIMEOUT)


def test_an_inner_block_ends_the_wait_for_its_row(process: Process) -> None:
    def lock() -> None:
        with process.turn('host'):
            with process.turn('host'):
                pass
            process.lock(1, 'host').result(TIMEOUT)

    process.attempt(0, lock).result(TIMEOUT)


def test_a_row_is_not_taken_for_held_by_a_thread_that_begins_again(process: Process) -> None:
    """Let the thread count as stuck before it needs the turn for another row."""
    other, reads = process.wait(0, 'other'), threading.Event()
    begun = list[int]()

    def lock() -> None:
        begun.append(0)
        with process.turn('free'):
            if len(begun) == 1:
                assert reads.wait(TIMEOUT)
            with process.turn('other'):
                pass

    second = process.attempt(1, lock)
    wait_until(lambda: bool(begun))
    third = process.lock(2, 'free')
    process.pass_looks('free')
    process.pass_looks('free')
    assert is_refused(third)
    reads.set()
    process.pass_looks('other')
    # No thread has failed to lock the row.
    first = process.wait(3, 'free')
    fourth = process.lock(2, 'free')
    process.generations['other'] += 1
    process.pass_looks('free', 'other')
    first.close()
    assert fourth.exception(TIMEOUT) is None
    other.close()
    second.result(TIMEOUT)


def test_a_failed_attempt_leaves_no_turn(process: Process) -> None:
    first = process.wait(0, 'host')

    def lock() -> None:
        with process.turn('host'):
            raise RuntimeError

    second = process.attempt(1, lock)
    first.close()
    assert isinstance(second.exception(TIMEOUT), RuntimeError)
    process.lock(2, 'host').result(TIMEOUT)


def test_a_turn_outside_of_an_attempt_is_refused(process: Process) -> None:
    process.wait(0, 'host')
    with pytest.raises(TurnNeeded), process.turn('host'):
        pass
