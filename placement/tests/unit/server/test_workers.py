# SPDX-License-Identifier: Apache-2.0
"""The threads that run the application."""

import functools
import threading
from collections.abc import Callable, Iterator

import pytest

from placement.server.workers import Workers

SECONDS = 10


@pytest.fixture
def make() -> Iterator[Callable[[int], Workers]]:
    made: list[Workers] = []

    def make(count: int) -> Workers:
        made.append(Workers(count))
        return made[-1]

    yield make
    for workers in made:
        workers.stop()


def test_work_is_begun_in_the_order_in_which_it_was_submitted(
    make: Callable[[int], Workers],
) -> None:
    workers, done = make(1), threading.Event()
    begun: list[int] = []

    for number in range(100):
        workers.submit(functools.partial(begun.append, number))
    workers.submit(done.set)

    assert done.wait(SECONDS)
    assert begun == list(range(100))


def test_as_many_are_busy_as_there_are_threads(make: Callable[[int], Workers]) -> None:
    workers, met = make(3), threading.Barrier(4)

    for _ in range(3):
        workers.submit(lambda: met.wait(SECONDS))  # type: ignore[arg-type]

    met.wait(SECONDS)


def test_nothing_is_lost_or_done_twice_while_threads_fall_idle_and_are_woken(
    make: Callable[[int], Workers],
) -> None:
    workers, lock, done = make(4), threading.Lock(), threading.Event()
    counted: list[int] = []

    def count(number: int) -> None:
        with lock:
            counted.append(number)
            if len(counted) == 4 * 2_000:
                done.set()

    def submit(first: int) -> None:
        for number in range(first, first + 2_000):
            workers.submit(functools.partial(count, number))

    submitters = [threading.Thread(target=submit, args=(2_000 * n,)) for n in range(4)]
    for thread in submitters:
        thread.start()
    for thread in submitters:
        thread.join(SECONDS)

    assert done.wait(SECONDS)
    assert sorted(counted) == list(range(4 * 2_000))


def test_stop_lets_threads_end_after_what_was_submitted_before(
    make: Callable[[int], Workers],
) -> None:
    before = set(threading.enumerate())
    workers = make(2)
    threads = set(threading.enumerate()) - before
    go_on, done = threading.Event(), threading.Event()
    for _ in range(2):
        workers.submit(lambda: go_on.wait(SECONDS))  # type: ignore[arg-type]
    workers.submit(done.set)

    workers.stop()
    go_on.set()
    for thread in threads:
        thread.join(SECONDS)

    assert done.is_set()
    assert len(threads) == 2
    assert not any(thread.is_alive() for thread in threads)
