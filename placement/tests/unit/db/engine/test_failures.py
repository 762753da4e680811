# SPDX-License-Identifier: Apache-2.0
"""The cause of a failed transaction, by the errors that drivers raise."""

import os
import sqlite3

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors
from pymysql.constants import CR, ER

from placement.db.engine.causes import Cause
from placement.db.engine.failures import cause_of, is_of_database, message_of


def raised(original: Exception) -> sa.exc.DBAPIError:
    """An error of a driver as SQLAlchemy raises it, where oslo.db does not know it."""
    return sa.exc.OperationalError('SELECT 1', {}, original)


def of_sqlite(code: int, message: str = '') -> Exception:
    """An error of SQLite as Python's driver raises it."""
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


#: What the servers report most, by its name in the driver if it has one there.
MYSQL_NUMBERS = [
    (ER.CHECKREAD, Cause.CONFLICT),
    (ER.DUP_ENTRY, Cause.CONFLICT),
    (ER.LOCK_DEADLOCK, Cause.CONFLICT),
    (1467, Cause.CONFLICT),
    (ER.NO_REFERENCED_ROW_2, Cause.CONFLICT),
    (3101, Cause.CONFLICT),
    (0, Cause.LOST_CONNECTION),
    (ER.SERVER_SHUTDOWN, Cause.LOST_CONNECTION),
    (ER.QUERY_INTERRUPTED, Cause.LOST_CONNECTION),
    (CR.CR_CONN_HOST_ERROR, Cause.LOST_CONNECTION),
    (CR.CR_SERVER_GONE_ERROR, Cause.LOST_CONNECTION),
    (CR.CR_SERVER_LOST, Cause.LOST_CONNECTION),
    (1927, Cause.LOST_CONNECTION),
    (ER.CON_COUNT_ERROR, Cause.NOT_READY),
    (ER.UNKNOWN_COM_ERROR, Cause.NOT_READY),
    (ER.ERROR_DURING_COMMIT, Cause.NOT_READY),
    (ER.OPTION_PREVENTS_STATEMENT, Cause.NOT_READY),
    (ER.LOCK_WAIT_TIMEOUT, Cause.TIMEOUT),
    (1969, Cause.TIMEOUT),
    (ER.DISK_FULL, Cause.FULL),
    (ER.RECORD_FILE_FULL, Cause.FULL),
    (ER.CRASHED_ON_USAGE, Cause.DAMAGED),
    (ER.DBACCESS_DENIED_ERROR, Cause.REFUSED),
    (ER.TABLEACCESS_DENIED_ERROR, Cause.REFUSED),
    (ER.NO_SUCH_TABLE, Cause.SCHEMA),
    (ER.BAD_FIELD_ERROR, Cause.SCHEMA),
    (ER.DATA_TOO_LONG, Cause.VALUE),
    (ER.WARN_DATA_OUT_OF_RANGE, Cause.VALUE),
    # MySQL's, for a character that utf8mb3 does not have.
    (3854, Cause.VALUE),
    # MariaDB's, for one that the character set of an expression does not have.
    (1977, Cause.VALUE),
    # ProxySQL's, where it reaches no server.
    (9001, Cause.NOT_READY),
]

POSTGRESQL_STATES = [
    (psycopg.errors.UniqueViolation, Cause.CONFLICT),
    (psycopg.errors.SerializationFailure, Cause.CONFLICT),
    (psycopg.errors.DeadlockDetected, Cause.CONFLICT),
    (psycopg.errors.StatementCompletionUnknown, Cause.LOST_CONNECTION),
    (psycopg.errors.ConnectionFailure, Cause.LOST_CONNECTION),
    (psycopg.errors.AdminShutdown, Cause.LOST_CONNECTION),
    # Behind a pooler that gives each transaction another connection to the server.
    (psycopg.errors.InvalidSqlStatementName, Cause.LOST_CONNECTION),
    (psycopg.errors.DuplicatePreparedStatement, Cause.LOST_CONNECTION),
    (psycopg.errors.ReadOnlySqlTransaction, Cause.NOT_READY),
    (psycopg.errors.TooManyConnections, Cause.NOT_READY),
    (psycopg.errors.CannotConnectNow, Cause.NOT_READY),
    (psycopg.errors.LockNotAvailable, Cause.TIMEOUT),
    (psycopg.errors.QueryCanceled, Cause.TIMEOUT),
    (psycopg.errors.DiskFull, Cause.FULL),
    (psycopg.errors.IoError, Cause.DAMAGED),
    (psycopg.errors.IndexCorrupted, Cause.DAMAGED),
    (psycopg.errors.InvalidPassword, Cause.REFUSED),
    (psycopg.errors.DatabaseDropped, Cause.REFUSED),
    (psycopg.errors.UndefinedTable, Cause.SCHEMA),
    (psycopg.errors.NumericValueOutOfRange, Cause.VALUE),
    (psycopg.errors.StatementTooComplex, Cause.VALUE),
]

SQLITE_CODES = [
    (sqlite3.SQLITE_LOCKED, Cause.CONFLICT),
    (sqlite3.SQLITE_BUSY_SNAPSHOT, Cause.CONFLICT),
    (sqlite3.SQLITE_CONSTRAINT_UNIQUE, Cause.CONFLICT),
    (sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, Cause.CONFLICT),
    (sqlite3.SQLITE_READONLY_DBMOVED, Cause.LOST_CONNECTION),
    (sqlite3.SQLITE_BUSY, Cause.TIMEOUT),
    (sqlite3.SQLITE_FULL, Cause.FULL),
    (sqlite3.SQLITE_IOERR_NOMEM, Cause.FULL),
    (sqlite3.SQLITE_CORRUPT, Cause.DAMAGED),
    (sqlite3.SQLITE_NOTADB, Cause.DAMAGED),
    (sqlite3.SQLITE_READONLY, Cause.REFUSED),
    (sqlite3.SQLITE_CANTOPEN, Cause.REFUSED),
    (sqlite3.SQLITE_TOOBIG, Cause.VALUE),
]


@pytest.mark.parametrize(('number', 'cause'), MYSQL_NUMBERS)
def test_number_of_mysql_has_its_cause(number: int, cause: Cause) -> None:
    assert cause_of(raised(pymysql.err.OperationalError(number, ''))) is cause
    assert cause_of(db_errors.DBError(raised(pymysql.err.InternalError(number, '')))) is cause


@pytest.mark.parametrize(('kind', 'cause'), POSTGRESQL_STATES)
def test_state_of_postgresql_has_its_cause(kind: type[psycopg.Error], cause: Cause) -> None:
    assert cause_of(raised(kind('message'))) is cause


@pytest.mark.parametrize(('code', 'cause'), SQLITE_CODES)
def test_code_of_sqlite_has_its_cause(code: int, cause: Cause) -> None:
    assert cause_of(raised(of_sqlite(code))) is cause


@pytest.mark.parametrize(
    ('error', 'cause'),
    [
        (db_errors.DBDeadlock(), Cause.CONFLICT),
        (db_errors.DBDuplicateEntry(), Cause.CONFLICT),
        (db_errors.DBConnectionError(), Cause.LOST_CONNECTION),
        (db_errors.DBDataError(), Cause.VALUE),
        (db_errors.DBInvalidUnicodeParameter(), Cause.VALUE),
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
        (raised(psycopg.errors.ConnectionTimeout('timeout expired')), Cause.LOST_CONNECTION),
        (raised(psycopg.errors.CancellationTimeout('expired')), Cause.LOST_CONNECTION),
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


@pytest.mark.parametrize(
    ('original', 'expected'),
    [
        (pymysql.err.OperationalError(1568, 'made up'), True),
        (pymysql.err.InterfaceError(12345, 'made up'), True),
        (psycopg.errors.InternalError_(), True),
        (psycopg.errors.SyntaxError(), False),
        (pymysql.err.ProgrammingError(1064, 'syntax'), False),
        (of_sqlite(sqlite3.SQLITE_INTERRUPT), True),
        (ValueError(), False),
    ],
    ids=str,
)
def test_driver_says_whether_the_database_failed(original: Exception, expected: bool) -> None:
    assert is_of_database(original) == expected
    assert is_of_database(db_errors.DBError(raised(original))) == expected


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
        (f'SELECT 1 WHERE 1 IN ({",".join("?" * 300_000)})', Cause.VALUE),
    ],
    ids=['table', 'column', 'depth', 'duplicate', 'syntax', 'parameters'],
)
def test_sqlite_itself_raises_what_the_table_expects(statement: str, cause: Cause | None) -> None:
    engine = sa.create_engine('sqlite://')
    with engine.connect() as connection:
        connection.exec_driver_sql('CREATE TABLE present (id INTEGER PRIMARY KEY)')
        connection.exec_driver_sql('INSERT INTO present VALUES (1)')
        with pytest.raises(sa.exc.DBAPIError) as failure:
            connection.exec_driver_sql(statement, (1,) * statement.count('?'))
    engine.dispose()
    assert cause_of(failure.value) is cause


def test_message_is_one_line_without_the_statement() -> None:
    error = db_errors.DBError(
        raised(pymysql.err.OperationalError(1021, f'Disk full{os.linesep}now'))
    )
    assert message_of(error) == "(1021, 'Disk full\\nnow')"
