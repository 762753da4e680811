# SPDX-License-Identifier: Apache-2.0
"""Insertion of entries into the change feed."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.schema.own_tables import change_feed
from placement.db.statements import clock

# Maximum number of rows per statement; every database accepts 32,766 values.
MAX_ROWS_AT_ONCE = 1_000


class NewEntry(NamedTuple):
    """An entry to insert. `deleted_uuid` is the uuid that a provider had before it changed."""

    provider_id: int
    allocations_only: bool = False
    deleted_uuid: str | None = None


def insert_entries(
    connection: sa.Connection, token: int, entries: Sequence[NewEntry]
) -> int | None:
    """Insert entries with a token; return the id of the first one, None on SQLite."""
    ids = [
        _insert(connection, token, entries[start : start + MAX_ROWS_AT_ONCE])
        for start in range(0, len(entries), MAX_ROWS_AT_ONCE)
    ]
    return ids[0]


def _insert(connection: sa.Connection, token: int, entries: Sequence[NewEntry]) -> int | None:
    """Insert entries by one statement; return the id of the first one, None on SQLite."""
    columns = (*NewEntry._fields, 'token')
    text = clock.dated_insert(connection, change_feed, columns, len(entries))
    values = tuple(value for entry in entries for value in (*entry, token))
    if connection.dialect.name == 'postgresql':
        first_id: int = (
            connection.exec_driver_sql(f'{text} RETURNING id', values).scalars().all()[0]
        )
        return first_id
    result = connection.exec_driver_sql(text, values)
    # MySQL and MariaDB send the id of the first row.
    return None if connection.dialect.name == 'sqlite' else result.lastrowid
