# SPDX-License-Identifier: Apache-2.0
"""The statements that begin a transaction, which bypass SQLAlchemy while they succeed."""

import contextlib
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import failures
from placement.db.engine.causes import Cause


def execute(connection: sa.Connection, text: str) -> None:
    """Execute statements that begin a transaction.

    Once more through SQLAlchemy if that fails, which wraps the error and forgets lost connections.
    Beginning every transaction through SQLAlchemy would make each claim slower. A lock is waited
    for once.

    :raises oslo_db.exception.DBError: as for other statements
    """
    driver_connection: Any = connection.connection.dbapi_connection
    try:
        with contextlib.closing(driver_connection.cursor()) as cursor:
            cursor.execute(text)
    except connection.dialect.loaded_dbapi.Error as error:
        if failures.cause_of(error) is Cause.TIMEOUT:
            raise db_errors.DBError(error) from error
        for statement in text.split('; '):
            connection.exec_driver_sql(statement)
