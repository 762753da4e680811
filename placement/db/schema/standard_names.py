# SPDX-License-Identifier: Apache-2.0
"""The traits and resource classes that every cloud shares, put into the database.

Specification: data_model, "Synchronisation at start-up". Nothing is ever removed or renamed.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

import os_resource_classes
import os_traits
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.database import Database
from placement.db.schema import tables

LOG = logging.getLogger(__name__)

# Attempts at inserting what is missing, when other processes insert at the same time. The second
# finds what they inserted, unless they know other names than we do.
ATTEMPTS = 5


def sync(database: Database) -> None:
    """Insert the standard traits and resource classes that are missing.

    Where nothing is missing, as at all starts but the first, it costs two statements. Raises
    the error of the engine for a database without schema: the service must not start with it.
    """
    _insert_missing(database, tables.traits, missing_traits)
    _insert_missing(database, tables.resource_classes, missing_resource_classes)


def missing_traits(connection: sa.Connection) -> list[dict[str, object]]:
    """Rows for the traits that are missing, in an order that all processes share."""
    present = set(connection.scalars(sa.select(tables.traits.c.name)))
    return [{'name': name} for name in sorted(os_traits.get_traits()) if name not in present]


def missing_resource_classes(connection: sa.Connection) -> list[dict[str, object]]:
    """Rows for the classes that are missing; the id of a class is its place in the list."""
    present = set(connection.scalars(sa.select(tables.resource_classes.c.name)))
    return [
        {'id': position, 'name': name}
        for position, name in enumerate(os_resource_classes.STANDARDS)
        if name not in present
    ]


def _insert_missing(
    database: Database,
    table: sa.Table,
    find_missing: Callable[[sa.Connection], list[dict[str, object]]],
) -> None:
    """Insert rows in one transaction, or leave them to whoever is inserting them right now."""
    for _ in range(ATTEMPTS):
        with database.reader() as connection:
            if not find_missing(connection):
                return
        try:
            with database.writer() as connection:
                # Asked again, because a replica that lags behind may have answered.
                _insert(connection, table, find_missing(connection))
            return
        except (db_errors.DBDuplicateEntry, db_errors.DBDeadlock) as error:
            LOG.debug('Another process inserts into %s as well: %s', table.name, error)
    LOG.warning('Other processes keep inserting into %s; some of it may be missing.', table.name)


def _insert(connection: sa.Connection, table: sa.Table, rows: list[dict[str, object]]) -> None:
    if rows:
        with zero_as_an_id(connection):
            connection.execute(sa.insert(table), rows)


@contextlib.contextmanager
def zero_as_an_id(connection: sa.Connection) -> Iterator[None]:
    """Let MySQL insert an id of 0, which it would otherwise replace by a new number.

    The mode belongs to the session, which other transactions use afterwards.
    """
    if connection.dialect.name not in ('mysql', 'mariadb'):
        yield
        return
    mode = connection.scalar(sa.text('SELECT @@SESSION.sql_mode'))
    use_mode = sa.text('SET SESSION sql_mode = :mode')
    connection.execute(use_mode, {'mode': f'{mode},NO_AUTO_VALUE_ON_ZERO'})
    try:
        yield
    finally:
        connection.execute(use_mode, {'mode': mode})
