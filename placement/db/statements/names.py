# SPDX-License-Identifier: Apache-2.0
"""Ids by name, for statements that write; statements that read join the names instead.

Only standard classes and standard traits certainly exist, because no client may delete these.
Another process may have deleted any other name, or created it again with another id. A database
that was recreated or restored while a worker runs may lack standard names;
`ensure_standard_classes` and `find_trait_ids` insert them before anything refers to them.
"""

import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping

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
    """Return the names of the traits of os-traits."""
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
    connection: sa.Connection,
    names: Iterable[str],
    lock: bool = True,
    standard: Mapping[str, int] = STANDARD_CLASS_IDS,
) -> dict[str, int]:
    """Return the ids of resource classes by name.

    The ids of `standard` classes are known without a statement. With `lock`, no other transaction
    can delete the others until this one ends; a replica refuses such a lock.

    :raises errors.ResourceClassNotFound: a class does not exist; names the first one
    """
    names = list(dict.fromkeys(names))
    ids = {name: standard[name] for name in names if name in standard}
    custom = [name for name in names if name not in ids]
    ids |= find_ids(connection, RESOURCE_CLASS, custom, lock)
    for name in names:
        if name not in ids:
            raise errors.ResourceClassNotFound(name=name)
    return ids


def ensure_standard_classes(connection: sa.Connection, class_ids: Collection[int]) -> None:
    """Insert the standard classes among these ids that the database lacks."""
    standard = STANDARD_CLASS_NAMES.keys() & set(class_ids)
    if not standard:
        return
    ids = resource_classes.c.id
    missing = standard - {*connection.scalars(sa.select(ids).where(ids.in_(standard)))}
    if missing:
        insert_classes(connection, sorted(missing))


def insert_classes(connection: sa.Connection, class_ids: Collection[int]) -> None:
    """Insert standard classes."""
    rows = [{'id': class_id, 'name': STANDARD_CLASS_NAMES[class_id]} for class_id in class_ids]
    with zero_id_allowed(connection):
        connection.execute(sa.insert(resource_classes), rows)


def insert_traits(connection: sa.Connection, missing: Collection[str]) -> None:
    """Insert traits, in this order."""
    connection.execute(sa.insert(traits), [{'name': name} for name in missing])


def find_trait_ids(connection: sa.Connection, wanted: Collection[str]) -> dict[str, int]:
    """Return the ids of traits by name; insert standard traits that the database lacks."""
    ids = find_ids(connection, TRAIT, wanted)
    missing = (set(wanted) - ids.keys()) & standard_traits()
    if missing:
        insert_traits(connection, sorted(missing))
        ids |= find_ids(connection, TRAIT, missing)
    return ids


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
