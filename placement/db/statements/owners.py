# SPDX-License-Identifier: Apache-2.0
"""Projects, users and consumer types: to whom a consumer belongs, and what it is.

There is no way to create any of these on their own: they come with the consumers that have them,
in the same transaction, and are never deleted (specification: allocations). Nothing remembers
their ids: after a restore of the database an id may be that of somebody else.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.schema.tables import consumer_types, projects, users
from placement.db.statements import collation
from placement.db.statements.names import find_ids

# A column of names that `ensure` inserts on demand.
NameColumn = sa.Column[str]
PROJECT: NameColumn = projects.c.external_id
USER: NameColumn = users.c.external_id
CONSUMER_TYPE: NameColumn = consumer_types.c.name

# How many names one statement looks up where each of them needs a SELECT of its own.
NAMES_AT_ONCE = 200


class Owner(NamedTuple):
    """The owner that a write gives to a consumer; without a type where that is None."""

    project: str
    user: str
    consumer_type: str | None


class OwnerIds(NamedTuple):
    """The ids of what an owner names, by the columns of a consumer."""

    project_id: int
    user_id: int
    consumer_type_id: int | None


def ensure(connection: sa.Connection, owners: Collection[Owner]) -> dict[Owner, OwnerIds]:
    """Return the ids of owners; insert the names that are missing.

    The number of statements does not grow with that of the owners, but for one more for every
    `NAMES_AT_ONCE` names that are stored in another spelling, where the database allows that.
    """
    project_ids = _ensure(connection, PROJECT, (owner.project for owner in owners))
    user_ids = _ensure(connection, USER, (owner.user for owner in owners))
    types = (owner.consumer_type for owner in owners if owner.consumer_type is not None)
    type_ids = _ensure(connection, CONSUMER_TYPE, types)
    return {
        owner: OwnerIds(
            project_ids[owner.project],
            user_ids[owner.user],
            None if owner.consumer_type is None else type_ids[owner.consumer_type],
        )
        for owner in owners
    }


def _ensure(connection: sa.Connection, column: NameColumn, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of names by name; insert the names that are missing."""
    # Every transaction inserts in this order, so that two of them do not deadlock.
    asked = sorted(set(names))
    ids = find_ids(connection, column, asked)
    if not ids.keys() <= set(asked):
        ids |= _find_other_spellings(connection, column, _missing(asked, ids))
    missing = _missing(asked, ids)
    if missing:
        _insert(connection, column, missing)
        ids |= find_ids(connection, column, missing)
        # Two of them may be one to the database.
        ids |= _find_other_spellings(connection, column, _missing(missing, ids))
    return ids


def _missing(names: Iterable[str], stored: Collection[str]) -> list[str]:
    return [name for name in names if name not in stored]


def _find_other_spellings(
    connection: sa.Connection, column: NameColumn, names: Sequence[str]
) -> dict[str, int]:
    """Return the ids of what equals some names under the collation of the column, by name."""
    ids: dict[str, int] = {}
    for start in range(0, len(names), NAMES_AT_ONCE):
        asked = names[start : start + NAMES_AT_ONCE]
        selects = (
            sa.select(sa.literal_column(str(number)), column.table.c.id).where(column == name)
            for number, name in enumerate(asked)
        )
        rows = connection.execute(sa.union_all(*selects)).all()
        ids |= {asked[number]: name_id for number, name_id in rows}
    return ids


def _insert(connection: sa.Connection, column: NameColumn, names: Collection[str]) -> None:
    """Insert names; of those that are one to the database, one.

    When another transaction inserts one of them first, this one is retried, or takes that one.
    """
    statement: sa.Insert = sa.insert(column.table)
    if collation.has_insensitive_collation(connection):
        # Imported here because other databases have no use for it, and then it is not loaded.
        from sqlalchemy.dialects import mysql

        # Which changes nothing, and unlike INSERT IGNORE hides no other error.
        kept = {column.name: column}
        statement = mysql.insert(column.table).on_duplicate_key_update(kept)
    connection.execute(statement, [{column.name: name} for name in names])
