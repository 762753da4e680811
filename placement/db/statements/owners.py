# SPDX-License-Identifier: Apache-2.0
"""Projects, users and consumer types: the owner of a consumer.

These names are created together with consumers, in the same transaction, and never deleted
(specification: allocations). Their ids are not cached, because an id may belong to another name
after a restore of the database.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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

# Number of names per statement if each of them needs a SELECT of its own.
NAMES_AT_ONCE = 200


class Owner(NamedTuple):
    """The owner that a write sets; a type of None means no type."""

    project: str
    user: str
    consumer_type: str | None


class OwnerNames(NamedTuple):
    """The names of an owner, each None where it is missing or not known."""

    project: str | None = None
    user: str | None = None
    consumer_type: str | None = None


class OwnerIds(NamedTuple):
    """The ids of an owner's names, by column of the consumer."""

    project_id: int
    user_id: int
    consumer_type_id: int | None


def ensure(connection: sa.Connection, owners: Collection[Owner]) -> dict[Owner, OwnerIds]:
    """Return the ids of owners; insert the names that are missing.

    The number of statements does not grow with the number of owners, except for one more per
    `NAMES_AT_ONCE` names that are stored in another spelling.
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
        # To the database, two of them may be equal.
        ids |= _find_other_spellings(connection, column, _missing(missing, ids))
    return ids


def _missing(names: Iterable[str], stored: Mapping[str, int]) -> list[str]:
    return [name for name in names if name not in stored]


def _find_other_spellings(
    connection: sa.Connection, column: NameColumn, names: Sequence[str]
) -> dict[str, int]:
    """Return the ids of the rows that equal some names under the column's collation, by name."""
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
    """Insert names; only one of several that are equal to the database.

    If another transaction inserts one of them first, this one is retried, or uses that row.
    """
    statement: sa.Insert = sa.insert(column.table)
    if collation.has_insensitive_collation(connection):
        # Imported here because only these databases need it.
        from sqlalchemy.dialects import mysql

        # This changes nothing and, unlike INSERT IGNORE, hides no other error.
        kept = {column.name: column}
        statement = mysql.insert(column.table).on_duplicate_key_update(kept)
    connection.execute(statement, [{column.name: name} for name in names])
