# SPDX-License-Identifier: Apache-2.0
"""Inserting the standard traits and resource classes at start.

Nothing is ever deleted or renamed (specification: data_model, "Synchronisation at
start-up").
"""

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

# Attempts at the insert while other processes insert too. The second attempt usually finds that
# they inserted everything, unless their release of os-traits has other names.
ATTEMPTS = 5


def sync(database: Database) -> None:
    """Insert the standard traits and resource classes that are missing.

    It takes two statements if nothing is missing, as at every start but the first. Raises the
    error of the database if there are no tables: the service must not start then.
    """
    _insert_missing(database, tables.traits, missing_traits)
    _insert_missing(database, tables.resource_classes, missing_resource_classes)


def missing_traits(connection: sa.Connection) -> list[dict[str, object]]:
    """Return rows for the missing traits, in the same order in every process."""
    present = set(connection.scalars(sa.select(tables.traits.c.name)))
    return [{'name': name} for name in sorted(os_traits.get_traits()) if name not in present]


def missing_resource_classes(connection: sa.Connection) -> list[dict[str, object]]:
    """Return rows for the missing classes; the id of a class is its position in the list."""
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
    """Insert the missing rows in one transaction, unless another process inserts them first."""
    for _ in range(ATTEMPTS):
        with database.reader() as connection:
            if not find_missing(connection):
                return
        try:
            with database.writer() as connection:
                # Read again, because another process may have inserted them meanwhile.
                rows = find_missing(connection)
                if rows:
                    with zero_id_allowed(connection):
                        connection.execute(sa.insert(table), rows)
            return
        except (db_errors.DBDuplicateEntry, db_errors.DBDeadlock) as error:
            LOG.debug('Another process inserts into %s as well: %s', table.name, error)
    LOG.warning('Concurrent inserts into %s; some standard names may be missing.', table.name)


@contextlib.contextmanager
def zero_id_allowed(connection: sa.Connection) -> Iterator[None]:
    """Allow MySQL to insert the id 0, which it would otherwise replace by a generated one.

    The mode belongs to the session, which later transactions use, so it is restored.
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
