# SPDX-License-Identifier: Apache-2.0
"""Whether the database can serve requests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.transactions import READ_ATTEMPTS, retry
from placement.db.schema import tables


def check_ready(database: Database) -> None:
    """Read a table through every engine; return when all of them answered and writes succeed.

    A table, because a Galera node that has lost its cluster still answers `SELECT 1`. A lost
    connection is retried, since it says nothing about the next one. Raises
    `errors.DatabaseUnavailable`, or the error of the database.
    """
    database.check_writable()
    for connect in database.readers:
        retry(functools.partial(_read, connect), 'check_ready', READ_ATTEMPTS)


def _read(connect: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
    with connect() as connection:
        connection.execute(sa.select(tables.resource_classes.c.id).limit(1)).all()
