# SPDX-License-Identifier: Apache-2.0
"""The wait of a service for its database."""

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import engines


class Engine:
    """An engine whose database is there after some attempts, which are counted."""

    def __init__(self, error: Exception, missing: int) -> None:
        self._error = error
        self._missing = missing
        self.attempts = 0

    @contextlib.contextmanager
    def connect(self) -> Iterator[None]:
        """Fail the given number of times."""
        self.attempts += 1
        if self.attempts <= self._missing:
            raise self._error
        yield


def refused(words: str) -> Exception:
    """The error of PostgreSQL's driver, which has no code."""
    return sa.exc.OperationalError('', {}, psycopg.OperationalError(words))


AWAY = [
    db_errors.DBConnectionError(),
    refused('connection failed: Connection refused'),
    refused('connection failed: FATAL:  the database system is starting up'),
    refused('connection failed: FATAL:  sorry, too many clients already'),
    refused('connection failed: FATAL:  server login has been failing, try again later'),
    refused('connection failed: FATAL:  no more connections allowed (max_client_conn)'),
    sa.exc.OperationalError('', {}, pymysql.err.OperationalError(1040, 'Too many connections')),
]

WRONG = [
    refused('connection failed: FATAL:  password authentication failed for user "placement"'),
    refused('connection failed: FATAL:  database "placement" does not exist'),
    sa.exc.OperationalError('', {}, pymysql.err.OperationalError(1045, 'Access denied')),
]


def wait(engine: Any, max_retries: int) -> None:
    def attempt() -> None:
        with engine.connect():
            pass

    engines.wait_for_database(attempt, max_retries, 0)


@pytest.mark.parametrize('error', AWAY, ids=str)
@pytest.mark.parametrize(('max_retries', 'missing'), [(1, 0), (3, 2), (-1, 30)])
def test_unreachable_database_is_tried_again(
    error: Exception, max_retries: int, missing: int
) -> None:
    engine = Engine(error, missing)
    wait(engine, max_retries)
    assert engine.attempts == missing + 1


@pytest.mark.parametrize(
    ('error', 'attempts'), [*((error, 3) for error in AWAY), *((error, 1) for error in WRONG)]
)
def test_last_attempt_raises_its_error_and_so_does_the_first_that_is_permanent(
    error: Exception, attempts: int
) -> None:
    engine = Engine(error, 4)
    with pytest.raises(type(error)):
        wait(engine, 3)
    assert engine.attempts == attempts


def test_zero_retries_are_one_attempt() -> None:
    engine = Engine(AWAY[0], 4)
    with pytest.raises(type(AWAY[0])):
        wait(engine, 0)
    assert engine.attempts == 1


def test_an_engine_without_retries_makes_no_attempt_to_connect() -> None:
    assert engines.create_engine('mysql+pymysql://nobody@127.0.0.1:1/placement', max_retries=0)
