# SPDX-License-Identifier: Apache-2.0
"""One thread works at a time; waiting threads neither wait for ever nor repeat its failure."""

import threading
from collections.abc import Iterator
from concurrent import futures

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import turn as turn_module
from placement.db.engine.turn import Turn
from placement.tests.waiting import TIMEOUT, wait_until

WAITING = 5


@pytest.fixture
def pool() -> Iterator[futures.ThreadPoolExecutor]:
    with futures.ThreadPoolExecutor(max_workers=WAITING) as pool:
        yield pool


class Work:
    """The work of each thread in its turn."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.begun = 0

    def __call__(self) -> None:
        with self.turn.taken():
            self.begun += 1


def ended_while_others_waited(
    work: Work, pool: futures.ThreadPoolExecutor, failure: Exception | None
) -> list[BaseException | None]:
    """The exceptions of the waiting threads after the work of another one ended."""
    with pytest.raises(type(failure)) if failure else threading.Lock(), work.turn.taken():
        waiting = [pool.submit(work) for _ in range(WAITING)]
        wait_until(lambda: work.turn.waiting == WAITING)
        if failure is not None:
            raise failure
    return [other.exception(TIMEOUT) for other in waiting]


def test_threads_that_waited_work_one_after_the_other(pool: futures.ThreadPoolExecutor) -> None:
    work = Work()
    assert ended_while_others_waited(work, pool, None) == [None] * WAITING
    assert work.begun == WAITING


def test_threads_that_waited_for_a_database_that_failed_fail_with_it(
    pool: futures.ThreadPoolExecutor,
) -> None:
    work, failure = Work(), db_errors.DBConnectionError(Exception('silent'))
    assert ended_while_others_waited(work, pool, failure) == [failure] * WAITING
    assert work.begun == 0
    assert work.turn.waiting == 0
    # Who comes later begins by itself.
    work()
    assert work.begun == 1


def test_another_failure_is_of_its_thread_alone(pool: futures.ThreadPoolExecutor) -> None:
    work = Work()
    assert ended_while_others_waited(work, pool, LookupError()) == [None] * WAITING
    assert work.begun == WAITING


def test_a_turn_that_does_not_come_is_given_up(
    pool: futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    monkeypatch.setattr(turn_module, 'MAX_WAIT_SECONDS', 0)
    with work.turn.taken():
        assert isinstance(pool.submit(work).exception(TIMEOUT), sa.exc.TimeoutError)
    assert (work.begun, work.turn.waiting) == (0, 0)
    work()
