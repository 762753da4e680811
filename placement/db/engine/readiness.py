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
from placement.db.schema.own_tables import change_feed

_READ = sa.select(
    tables.resource_classes.c.id, sa.select(change_feed.c.token).limit(1).scalar_subquery()
).limit(1)


def check_ready(database: Database) -> None:
    """Read two tables through every engine; return when all of them answered and writes succeed.

    Tables, because a Galera node that has lost its cluster still answers `SELECT 1`, and because
    the change feed can be missing in a database that came from upstream or a backup. A lost
    connection is retried, since it says nothing about the next one. Raises
    `errors.DatabaseUnavailable`, or the error of the database.
    """
    database.check_writable()
    for connect in database.readers:
        retry(functools.partial(_read, connect), 'check_ready', READ_ATTEMPTS)


def _read(connect: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
    with connect() as connection:
        connection.execute(_READ).all()
