# SPDX-License-Identifier: Apache-2.0
"""The cause of a failed transaction, by the errors that drivers raise."""

import os
import pathlib
import re
import sqlite3
from collections.abc import Iterable

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors
from pymysql.constants import CR, ER

from placement.db.engine import mysql_errors, postgresql_errors, sqlite_errors
from placement.db.engine.causes import Cause
from placement.db.engine.failures import cause_of, message_of

#: Where Debian's packages of the servers install their lists of errors.
MARIADB_LIST = pathlib.Path('/usr/share/mysql/errmsg-utf8.txt')
POSTGRESQL_LISTS = pathlib.Path('/usr/share/postgresql')


def raised(original: Exception) -> sa.exc.DBAPIError:
    """An error of a driver as SQLAlchemy raises it, where oslo.db does not know it."""
    return sa.exc.OperationalError('SELECT 1', {}, original)


def of_sqlite(code: int, message: str = '') -> Exception:
    """An error of SQLite as Python's driver raises it."""
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


def entries(by_cause: dict[Cause, dict[int, str]]) -> Iterable[tuple[int, str, Cause]]:
    return [
        (code, name, cause) for cause, codes in by_cause.items() for code, name in codes.items()
    ]


@pytest.mark.parametrize(('number', 'symbol', 'cause'), entries(mysql_errors.BY_CAUSE))
def test_mysql_number_has_the_cause_of_the_table(number: int, symbol: str, cause: Cause) -> None:
    assert cause_of(raised(pymysql.err.OperationalError(number, symbol))) is cause
    assert cause_of(db_errors.DBError(raised(pymysql.err.InternalError(number, '')))) is cause
    known = {f'ER_{name}': value for name, value in vars(ER).items()} | vars(CR)
    assert known.get(symbol, number) == number


@pytest.mark.parametrize(('state', 'cause'), sorted(postgresql_errors.CAUSES.items(), key=str))
def test_postgresql_state_has_the_cause_of_the_table(state: str, cause: Cause) -> None:
    kind = psycopg.errors.lookup(state)
    assert cause_of(raised(kind('message'))) is cause
    assert kind.sqlstate == state


@pytest.mark.parametrize(('code', 'symbol', 'cause'), entries(sqlite_errors.BY_CAUSE))
def test_sqlite_code_has_the_cause_of_the_table(code: int, symbol: str, cause: Cause) -> None:
    assert getattr(sqlite3, symbol) == code
    assert cause_of(raised(of_sqlite(code))) is cause


def test_no_code_has_two_causes() -> None:
    for module in (mysql_errors, postgresql_errors, sqlite_errors):
        assert len(module.CAUSES) == sum(len(codes) for codes in module.BY_CAUSE.values())


@pytest.mark.skipif(not MARIADB_LIST.exists(), reason='needs the server package of MariaDB')
def test_numbers_of_mariadb_have_the_symbols_of_its_own_list() -> None:
    number, own = 0, {}
    for line in MARIADB_LIST.read_text(errors='replace').splitlines():
        if found := re.match(r'(?:start|skip-to)-error-number (\d+)', line):
            number = int(found[1]) - 1
        elif re.match(r'[A-Z][A-Z0-9_]+\b', line):
            number += 1
            own[number] = line.split()[0]
    for number, symbol in (
        pair for codes in mysql_errors.BY_CAUSE.values() for pair in codes.items()
    ):
        if number in mysql_errors.MYSQL_ONLY:
            assert own.get(number) != symbol
        elif number != mysql_errors.CLOSED and not 2000 <= number < 3000:
            assert own.get(number) == symbol


@pytest.mark.skipif(not POSTGRESQL_LISTS.exists(), reason='needs the server package of PostgreSQL')
def test_states_of_postgresql_have_the_names_of_its_own_list() -> None:
    lists = [path.read_text() for path in POSTGRESQL_LISTS.glob('*/errcodes.txt')]
    assert lists
    pattern = re.compile(r'^([0-9A-Z]{5}) +[ESW] +\w+ +(\w+)$', re.MULTILINE)
    for own in (dict(pattern.findall(text)) for text in lists):
        for states in postgresql_errors.BY_CAUSE.values():
            assert {state: own.get(state) for state in states} == states


@pytest.mark.parametrize(
    ('error', 'cause'),
    [
        (db_errors.DBDeadlock(), Cause.CONFLICT),
        (db_errors.DBDuplicateEntry(), Cause.CONFLICT),
        (db_errors.DBConnectionError(), Cause.LOST_CONNECTION),
        (db_errors.DBDataError(), Cause.VALUE),
        (db_errors.DBError(), None),
        (sa.exc.TimeoutError('QueuePool limit reached'), Cause.NO_FREE_CONNECTION),
        (raised(pymysql.err.ProgrammingError(1064, 'syntax')), None),
        # oslo.db takes a lock wait timeout for a deadlock.
        (
            db_errors.DBDeadlock(raised(pymysql.err.OperationalError(1205, 'Lock wait timeout'))),
            Cause.TIMEOUT,
        ),
        (raised(psycopg.errors.SyntaxError()), None),
        (raised(psycopg.errors.InternalError_()), None),
        (raised(psycopg.errors.DivisionByZero()), Cause.VALUE),
        (raised(psycopg.OperationalError('server closed the connection')), Cause.LOST_CONNECTION),
        (
            raised(psycopg.OperationalError('number of parameters must be between 0 and 65535')),
            Cause.VALUE,
        ),
        (raised(of_sqlite(1, 'near "FROM": syntax error')), None),
        (raised(of_sqlite(1, 'no such table: traits')), Cause.SCHEMA),
        (raised(of_sqlite(sqlite3.SQLITE_IOERR_WRITE)), Cause.DAMAGED),
        (raised(of_sqlite(sqlite3.SQLITE_CANTOPEN_ISDIR)), Cause.REFUSED),
        (raised(of_sqlite(sqlite3.SQLITE_CONSTRAINT_NOTNULL)), None),
    ],
    ids=str,
)
def test_error_has_its_cause(error: Exception, cause: Cause | None) -> None:
    assert cause_of(error) is cause


def test_mysql_error_is_classified_by_its_number_not_by_its_sqlstate() -> None:
    original = pymysql.err.OperationalError(1366, 'Incorrect')
    original.sqlstate = 'HY000'
    assert cause_of(raised(original)) is Cause.VALUE


@pytest.mark.parametrize(
    ('statement', 'cause'),
    [
        ('SELECT * FROM missing', Cause.SCHEMA),
        ('SELECT missing FROM present', Cause.SCHEMA),
        (f'SELECT {" + ".join("1" * 2000)}', Cause.VALUE),
        ('INSERT INTO present VALUES (1)', Cause.CONFLICT),
        ('SELECT FROM', None),
    ],
    ids=['table', 'column', 'depth', 'duplicate', 'syntax'],
)
def test_sqlite_itself_raises_what_the_table_expects(statement: str, cause: Cause | None) -> None:
    engine = sa.create_engine('sqlite://')
    with engine.connect() as connection:
        connection.exec_driver_sql('CREATE TABLE present (id INTEGER PRIMARY KEY)')
        connection.exec_driver_sql('INSERT INTO present VALUES (1)')
        with pytest.raises(sa.exc.DBAPIError) as failure:
            connection.exec_driver_sql(statement)
    engine.dispose()
    assert cause_of(failure.value) is cause


def test_too_many_parameters_are_a_value_to_sqlite() -> None:
    engine = sa.create_engine('sqlite://')
    statement = f'SELECT 1 WHERE 1 IN ({",".join("?" * 300_000)})'
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError) as failure:
        connection.exec_driver_sql(statement, (1,) * 300_000)
    engine.dispose()
    assert cause_of(failure.value) is Cause.VALUE


def test_message_is_one_line_without_the_statement() -> None:
    error = db_errors.DBError(
        raised(pymysql.err.OperationalError(1021, f'Disk full{os.linesep}now'))
    )
    assert message_of(error) == "(1021, 'Disk full\\nnow')"
