# SPDX-License-Identifier: Apache-2.0
"""Causes of errors that the database itself raises."""

import pytest
import sqlalchemy as sa

from placement.db.engine import causes
from placement.db.engine.causes import Cause
from placement.db.engine.database import Database
from placement.db.engine.failures import DATABASE_ERRORS, cause_of
from placement.db.mode import Mode

from .fixtures.backends import on_mysql, on_postgresql


def cause_of_statement(database: Database, statement: str) -> Cause | None:
    with pytest.raises(DATABASE_ERRORS) as failure, database.begin(Mode.WRITE) as connection:
        connection.execute(sa.text(statement))
    return cause_of(failure.value)


@on_mysql
def test_every_number_that_the_server_raises_has_its_cause(database: Database) -> None:
    """Raise each error number with SIGNAL, through the driver, SQLAlchemy and oslo.db."""
    found = {
        number: cause_of_statement(
            database,
            f"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'made up'",
        )
        for number in causes.MYSQL
        if number != '0' and not 2000 <= int(number) < 3000
    }
    assert found == {number: causes.MYSQL[number] for number in found}


@on_postgresql
def test_every_state_that_the_server_raises_has_its_cause(database: Database) -> None:
    found = {
        state: cause_of_statement(
            database, f"DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '{state}'; END $$"
        )
        for state in causes.POSTGRESQL
        if len(state) == 5
    }
    assert found == {state: causes.POSTGRESQL[state] for state in found}
