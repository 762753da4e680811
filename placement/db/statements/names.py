# SPDX-License-Identifier: Apache-2.0
"""Ids by name, for statements that write; statements that read join the names instead.

Only names of standard classes and standard traits are known without a statement, since nobody may
delete them. Another process may have deleted any other name, or created it again under another
id; and a restored backup may lack the newest standard classes, which `ensure_standard_classes`
inserts before anything refers to them.
"""

import functools
from collections.abc import Collection, Iterable, Mapping

import os_resource_classes
import os_traits
import sqlalchemy as sa

from placement import errors
from placement.db.schema.tables import resource_classes, traits

STANDARD_CLASS_IDS: Mapping[str, int] = {
    name: position for position, name in enumerate(os_resource_classes.STANDARDS)
}
STANDARD_CLASS_NAMES: Mapping[int, str] = dict(enumerate(os_resource_classes.STANDARDS))

RESOURCE_CLASS: sa.Column[str] = resource_classes.c.name
TRAIT: sa.Column[str] = traits.c.name


@functools.cache
def standard_traits() -> frozenset[str]:
    """Return the names of the traits of os-traits, which every database has."""
    return frozenset(os_traits.get_traits())


def find_ids(
    connection: sa.Connection, column: sa.Column[str], names: Collection[str], lock: bool = False
) -> dict[str, int]:
    """Return the ids of the rows that have some names in a column, by name as it is stored.

    With `lock` no other transaction can delete the rows until this one ends.
    """
    if not names:
        return {}
    statement = sa.select(column, column.table.c.id).where(column.in_(names))
    return dict(
        connection.execute(statement.with_for_update(read=True) if lock else statement).all()
    )


def resource_class_ids(
    connection: sa.Connection, names: Iterable[str], lock: bool = True
) -> dict[str, int]:
    """Return the ids of resource classes by name.

    With `lock`, no other transaction can delete the custom classes until this one ends; a replica
    refuses such a lock. Raises `errors.ResourceClassNotFound` for the first name that does not
    exist.
    """
    names = list(dict.fromkeys(names))
    ids = {name: STANDARD_CLASS_IDS[name] for name in names if name in STANDARD_CLASS_IDS}
    custom = [name for name in names if name not in ids]
    ids |= find_ids(connection, RESOURCE_CLASS, custom, lock)
    for name in names:
        if name not in ids:
            raise errors.ResourceClassNotFound(name=name)
    return ids


def ensure_standard_classes(connection: sa.Connection, class_ids: Collection[int]) -> None:
    """Insert those standard classes among some that the database lacks.

    It has all of them once the service was started on it, and then a backup may be restored that
    is older than a class. No backup is older than the first one, whose id is 0.
    """
    standard = STANDARD_CLASS_NAMES.keys() & set(class_ids)
    if not standard:
        return
    ids = resource_classes.c.id
    missing = standard - {0, *connection.scalars(sa.select(ids).where(ids.in_(standard)))}
    if missing:
        rows = [{'id': class_id, 'name': STANDARD_CLASS_NAMES[class_id]} for class_id in missing]
        connection.execute(sa.insert(resource_classes), rows)
