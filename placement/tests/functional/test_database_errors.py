# SPDX-License-Identifier: Apache-2.0
"""What clients see of errors that the database itself raises."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine import mysql_errors, postgresql_errors
from placement.db.engine.causes import Cause
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.engine.failures import DATABASE_ERRORS, cause_of

from .fixtures import databases

on_mysql = pytest.mark.skipif(databases.backend() != 'mysql', reason='of MySQL only')
on_postgresql = pytest.mark.skipif(
    databases.backend() != 'postgresql', reason='of PostgreSQL only'
)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(create_engine(url))
    yield database
    database.dispose()


def cause_of_statement(database: Database, statement: str) -> Cause | None:
    with pytest.raises(DATABASE_ERRORS) as failure, database.writer() as connection:
        connection.execute(sa.text(statement))
    return cause_of(failure.value)


@on_mysql
def test_every_number_that_the_server_raises_has_its_cause(database: Database) -> None:
    """Through the driver, SQLAlchemy and oslo.db, as a statement that fails."""
    found = {
        number: cause_of_statement(
            database,
            f"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'made up'",
        )
        for number in mysql_errors.CAUSES
        if number and not 2000 <= number < 3000
    }
    assert found == {number: mysql_errors.CAUSES[number] for number in found}


@on_postgresql
def test_every_state_that_the_server_raises_has_its_cause(database: Database) -> None:
    found = {
        state: cause_of_statement(
            database, f"DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '{state}'; END $$"
        )
        for state in postgresql_errors.CAUSES
    }
    assert found == postgresql_errors.CAUSES
