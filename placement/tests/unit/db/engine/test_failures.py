# SPDX-License-Identifier: Apache-2.0
"""Why a transaction failed, as the drivers tell it."""

import sqlite3

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.failures import Cause, cause_of


def raised(original: Exception) -> sa.exc.DBAPIError:
    """An error of a driver as SQLAlchemy raises it, where oslo.db does not know it."""
    return sa.exc.OperationalError('SELECT 1', {}, original)


@pytest.mark.parametrize(
    ('error', 'cause'),
    [
        (db_errors.DBDeadlock(), Cause.CONFLICT),
        (db_errors.DBDuplicateEntry(), Cause.CONFLICT),
        (db_errors.DBConnectionError(), Cause.LOST_CONNECTION),
        (db_errors.DBDataError(), Cause.VALUE),
        (db_errors.DBError(), None),
        (sa.exc.TimeoutError('QueuePool limit reached'), Cause.NO_FREE_CONNECTION),
        (raised(pymysql.err.OperationalError(1267, 'Illegal mix of collations')), Cause.VALUE),
        (db_errors.DBError(raised(pymysql.err.DataError(1366, 'Incorrect'))), Cause.VALUE),
        (raised(pymysql.err.OperationalError(1927, 'was killed')), Cause.LOST_CONNECTION),
        (raised(pymysql.err.OperationalError(1290, '--read-only')), Cause.LOST_CONNECTION),
        (raised(psycopg.errors.ReadOnlySqlTransaction()), Cause.LOST_CONNECTION),
        (raised(pymysql.err.InterfaceError(0, '')), Cause.LOST_CONNECTION),
        (raised(pymysql.err.ProgrammingError(1064, 'syntax')), None),
        (raised(psycopg.errors.SerializationFailure()), Cause.CONFLICT),
        (raised(psycopg.errors.NumericValueOutOfRange()), Cause.VALUE),
        (raised(psycopg.errors.AdminShutdown()), Cause.LOST_CONNECTION),
        (raised(psycopg.errors.TooManyConnections()), Cause.LOST_CONNECTION),
        (raised(psycopg.OperationalError('server closed the connection')), Cause.LOST_CONNECTION),
        (
            raised(psycopg.OperationalError('number of parameters must be between 0 and 65535')),
            Cause.VALUE,
        ),
        (raised(sqlite3.OperationalError('too many SQL variables')), Cause.VALUE),
        (raised(sqlite3.OperationalError('no such table: traits')), None),
        (raised(psycopg.errors.UndefinedTable()), None),
    ],
    ids=str,
)
def test_error_has_its_cause(error: Exception, cause: Cause | None) -> None:
    assert cause_of(error) is cause


def test_mysql_error_is_classified_by_its_number_not_by_its_sqlstate() -> None:
    original = pymysql.err.OperationalError(1366, 'Incorrect')
    original.sqlstate = 'HY000'
    assert cause_of(raised(original)) is Cause.VALUE
