# SPDX-License-Identifier: Apache-2.0
"""Several statements that MariaDB executes as one do what they do one after the other."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import compound, failures
from placement.db.engine.causes import Cause
from placement.db.engine.compound import Outcome, Step
from placement.db.engine.database import Database
from placement.db.engine.precompiled import Precompiled

from .fixtures import databases

pytestmark = pytest.mark.skipif(databases.backend() != 'mysql', reason='of MariaDB only')

MOMENT = datetime.datetime(2026, 11, 23, 5, 10)

bookings = sa.Table(
    'bookings',
    sa.MetaData(),
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('guest', sa.String(20), unique=True),
    sa.Column('nights', sa.Integer),
    sa.Column('at', sa.DateTime),
    prefixes=['TEMPORARY'],
)
INSERT = Precompiled(
    sa.insert(bookings).values({name: sa.bindparam(name) for name in ('guest', 'nights', 'at')})
)
EXTEND = Precompiled(
    sa.update(bookings)
    .where(bookings.c.guest == sa.bindparam('of_guest'))
    .values(nights=bookings.c.nights + sa.bindparam('more'))
)
DELETE_SHORT = Precompiled(sa.delete(bookings).where(bookings.c.nights <= sa.bindparam('nights')))


class Late(Precompiled):
    """Text that makes the server report an error after the row of the compound statement."""

    def __init__(self, number: int) -> None:
        self._number = number

    def bound(
        self, _dialect: sa.Dialect, _values: Mapping[str, Any]
    ) -> tuple[str, tuple[Any, ...]]:
        return f"SELECT 1; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {self._number}", ()


@pytest.fixture
def connection(database: Database) -> Iterator[sa.Connection]:
    """A transaction with a table of bookings."""
    with database.engine.connect() as connection:
        bookings.create(connection)
        yield connection
        connection.rollback()
        connection.execute(sa.text('DROP TEMPORARY TABLE IF EXISTS bookings'))


def insert(guest: str, nights: int) -> Step:
    return Step(INSERT, {'guest': guest, 'nights': nights, 'at': MOMENT})


def extend(guest: str, more: int, rows: int | None = 1) -> Step:
    return Step(EXTEND, {'of_guest': guest, 'more': more}, rows)


def nights(connection: sa.Connection) -> dict[str, int]:
    return dict(connection.execute(sa.select(bookings.c.guest, bookings.c.nights)).all())


def test_mariadb_supports_compound_statements(connection: sa.Connection) -> None:
    assert compound.is_supported(connection.dialect)


def test_all_steps_are_executed_with_their_own_values(connection: sa.Connection) -> None:
    done = compound.execute(connection, [insert("O'Neil %s", 2), insert('Li', 3), extend('Li', 4)])

    assert done == Outcome(3, 2)
    assert nights(connection) == {"O'Neil %s": 2, 'Li': 7}
    assert set(connection.scalars(sa.select(bookings.c.at))) == {MOMENT}


def test_steps_after_one_that_changes_too_little_are_left_out(connection: sa.Connection) -> None:
    done = compound.execute(connection, [insert('Li', 3), extend('Ada', 1), insert('Bo', 5)])

    assert done == Outcome(1)
    assert nights(connection) == {'Li': 3}


def test_steps_after_one_that_changes_too_much_are_left_out(connection: sa.Connection) -> None:
    leave = Step(DELETE_SHORT, {'nights': 3})
    done = compound.execute(connection, [insert('Li', 3), insert('Bo', 2), leave, insert('Al', 5)])

    assert done == Outcome(2)
    assert nights(connection) == {}


def test_a_step_that_may_change_any_number_of_rows_is_no_end(connection: sa.Connection) -> None:
    done = compound.execute(connection, [extend('Ada', 1, rows=None), insert('Bo', 5)])

    assert done == Outcome(2, 1)
    assert nights(connection) == {'Bo': 5}


def test_a_step_has_the_same_effect_on_its_own(connection: sa.Connection) -> None:
    assert insert('Li', 3).execute(connection).lastrowid == 1
    assert extend('Li', 4).execute(connection).rowcount == 1
    assert extend('Ada', 4).execute(connection).rowcount == 0

    assert nights(connection) == {'Li': 7}


def test_an_error_of_a_step_is_raised_as_by_a_single_statement(connection: sa.Connection) -> None:
    with pytest.raises(db_errors.DBDuplicateEntry) as raised:
        compound.execute(connection, [insert('Li', 3), insert('Li', 5)])

    assert failures.cause_of(raised.value) is Cause.CONFLICT


@pytest.mark.parametrize(
    ('number', 'cause', 'is_lost'),
    [
        pytest.param(1213, Cause.CONFLICT, False, id='rolled-back'),
        pytest.param(1927, Cause.LOST_CONNECTION, True, id='lost'),
    ],
)
def test_errors_after_the_row_are_raised(
    connection: sa.Connection, number: int, cause: Cause, is_lost: bool
) -> None:
    with pytest.raises(sa.exc.OperationalError) as raised:
        compound.execute(connection, [Step(Late(number), {}, rows=None)])

    assert failures.cause_of(raised.value) is cause
    assert connection.invalidated is is_lost
    if is_lost:
        connection.rollback()
    assert connection.scalar(sa.text('SELECT 5')) == 5
