# SPDX-License-Identifier: Apache-2.0
"""Projects, users and consumer types: to whom a consumer belongs, and what it is.

There is no way to make any of these on their own: they come with the consumers that have them, in
the same transaction, and are never removed (specification: allocations).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.schema.tables import consumer_types, projects, users
from placement.db.statements import collation
from placement.db.statements.id_cache import IdCache

# A column of names that `ensure` inserts on demand.
NameColumn = sa.Column[str]
PROJECT: NameColumn = projects.c.external_id
USER: NameColumn = users.c.external_id
CONSUMER_TYPE: NameColumn = consumer_types.c.name


class Owner(NamedTuple):
    """What a write says of a consumer: its project and user, and its type unless that is None."""

    project: str
    user: str
    consumer_type: str | None


class OwnerIds(NamedTuple):
    """The ids of what an owner names; no type has None."""

    project_id: int
    user_id: int
    consumer_type_id: int | None


def ensure(
    connection: sa.Connection, owners: Collection[Owner], id_cache: IdCache
) -> dict[Owner, OwnerIds]:
    """The ids of owners; what nobody mentioned before is made."""
    project_ids = _ensure(connection, PROJECT, {owner.project for owner in owners}, id_cache)
    user_ids = _ensure(connection, USER, {owner.user for owner in owners}, id_cache)
    types = {owner.consumer_type for owner in owners if owner.consumer_type is not None}
    type_ids = _ensure(connection, CONSUMER_TYPE, types, id_cache)
    return {
        owner: OwnerIds(
            project_ids[owner.project],
            user_ids[owner.user],
            None if owner.consumer_type is None else type_ids[owner.consumer_type],
        )
        for owner in owners
    }


def _ensure(
    connection: sa.Connection, column: NameColumn, values: Collection[str], id_cache: IdCache
) -> dict[str, int]:
    """Return the ids of names by name; insert the names that are missing."""
    found = id_cache.find(column.table.name, values)
    asked = [value for value in values if value not in found]
    if not asked:
        return found
    statement = sa.select(column, column.table.c.id).where(column.in_(asked))
    stored: dict[str, int] = dict(connection.execute(statement).all())
    id_cache.remember(column.table.name, stored)
    found |= stored
    missing = [value for value in asked if value not in stored]
    may_clash = len(missing) > 1 or len(stored) + len(missing) > len(asked)
    if may_clash and collation.has_insensitive_collation(connection):
        return found | {value: _ensure_one(connection, column, value) for value in missing}
    if missing:
        # When another transaction inserts the same name first, this one is retried.
        connection.execute(sa.insert(column.table), [{column.name: value} for value in missing])
        found |= dict(connection.execute(statement).all())
    return found


def _ensure_one(connection: sa.Connection, column: sa.Column[str], value: str) -> int:
    """Return the id of the name that equals `value` under the collation of the column."""
    statement = sa.select(column.table.c.id).where(column == value)
    if connection.scalar(statement) is None:
        connection.execute(sa.insert(column.table).values({column.name: value}))
    return int(connection.execute(statement).scalar_one())
