# SPDX-License-Identifier: Apache-2.0
"""From names to ids, for what is written; reading joins the names instead.

Only names that are never removed are known without asking, those of standard classes and traits,
of projects, users and consumer types: whatever else is remembered may have been deleted, or made
again under another id, by another process.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping

import os_resource_classes
import os_traits
import sqlalchemy as sa

from placement import errors
from placement.db.schema.tables import consumer_types, projects, resource_classes, traits, users
from placement.db.statements import collation
from placement.db.statements.id_cache import IdCache

STANDARD_CLASS_IDS: Mapping[str, int] = {
    name: position for position, name in enumerate(os_resource_classes.STANDARDS)
}


@functools.cache
def standard_traits() -> frozenset[str]:
    """The names of the traits that are in every database from the first start."""
    return frozenset(os_traits.get_traits())


def known_classes(connection: sa.Connection, names: Collection[str]) -> set[str]:
    """Those of some resource classes that exist."""
    if not names:
        return set()
    name = resource_classes.c.name
    return set(connection.scalars(sa.select(name).where(name.in_(names))))


def resource_class_ids(
    connection: sa.Connection, names: Iterable[str], lock: bool = True
) -> dict[str, int]:
    """Ids of resource classes by name.

    Raises `errors.ResourceClassNotFound` for the first name that nobody has. With `lock`, custom
    classes cannot be deleted until the transaction ends; a replica refuses that.
    """
    names = list(dict.fromkeys(names))
    ids = {name: STANDARD_CLASS_IDS[name] for name in names if name in STANDARD_CLASS_IDS}
    custom = [name for name in names if name not in ids]
    if custom:
        statement = sa.select(resource_classes.c.name, resource_classes.c.id).where(
            resource_classes.c.name.in_(custom)
        )
        if lock:
            statement = statement.with_for_update(read=True)
        ids.update(connection.execute(statement).all())
    for name in names:
        if name not in ids:
            raise errors.ResourceClassNotFound(name=name)
    return ids


def trait_ids(connection: sa.Connection, names: Collection[str]) -> dict[str, int]:
    """Ids of traits by name; what does not exist is missing."""
    if not names:
        return {}
    rows = connection.execute(
        sa.select(traits.c.name, traits.c.id).where(traits.c.name.in_(names))
    )
    return dict(rows.all())


# What `ensure` makes: labels of consumers, by the column that has them.
Kind = sa.Column[str]
PROJECT: Kind = projects.c.external_id
USER: Kind = users.c.external_id
CONSUMER_TYPE: Kind = consumer_types.c.name


def ensure(
    connection: sa.Connection, column: Kind, values: Collection[str], known: IdCache
) -> dict[str, int]:
    """Ids of labels of one kind; those not yet there are inserted."""
    found = known.find(column.table.name, values)
    asked = [value for value in values if value not in found]
    if not asked:
        return found
    statement = sa.select(column, column.table.c.id).where(column.in_(asked))
    stored: dict[str, int] = dict(connection.execute(statement).all())
    known.remember(column.table.name, stored)
    found |= stored
    missing = [value for value in asked if value not in stored]
    may_clash = len(missing) > 1 or len(stored) + len(missing) > len(asked)
    if may_clash and collation.may_be_lenient(connection):
        return found | {value: _ensure_one(connection, column, value) for value in missing}
    if missing:
        # Whoever inserts the same at the same time makes one of us begin again.
        connection.execute(sa.insert(column.table), [{column.name: value} for value in missing])
        found |= dict(connection.execute(statement).all())
    return found


def _ensure_one(connection: sa.Connection, column: sa.Column[str], value: str) -> int:
    """The id of a value, which may be stored in another spelling that excludes this one."""
    statement = sa.select(column.table.c.id).where(column == value)
    if connection.scalar(statement) is None:
        connection.execute(sa.insert(column.table).values({column.name: value}))
    return int(connection.execute(statement).scalar_one())
