# SPDX-License-Identifier: Apache-2.0
"""SQL statements about resource classes."""

from collections.abc import Sequence

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import inventories, resource_classes
from placement.db.statements import collation

# The smallest id of a custom class, above those of standard classes (specification: data_model,
# "Resource class ids").
FIRST_CUSTOM_ID = 10000

_CLASSES = sa.select(
    resource_classes.c.id,
    resource_classes.c.name,
    resource_classes.c.created_at,
    resource_classes.c.updated_at,
)


def list_all(connection: sa.Connection) -> Sequence[Row]:
    """Return every resource class, standard classes first."""
    return connection.execute(_CLASSES.order_by(resource_classes.c.id)).all()


def find(connection: sa.Connection, name: str, lock: bool = False) -> Row | None:
    """Return the class with a name, or None; with `lock` its row is locked."""
    statement = _CLASSES.where(resource_classes.c.name == name)
    if lock:
        statement = statement.with_for_update()
    return collation.exactly(connection.execute(statement).one_or_none(), 'name', name)


def insert(connection: sa.Connection, name: str) -> int:
    """Insert a custom class and return its id, one above the highest."""
    highest = connection.scalar(sa.select(sa.func.max(resource_classes.c.id)))
    class_id = max(FIRST_CUSTOM_ID, (highest or 0) + 1)
    connection.execute(sa.insert(resource_classes).values(id=class_id, name=name))
    return class_id


def rename(connection: sa.Connection, class_id: int, name: str) -> None:
    """Set the name of a class."""
    connection.execute(
        sa.update(resource_classes).where(resource_classes.c.id == class_id).values(name=name)
    )


def list_providers(connection: sa.Connection, class_id: int) -> Sequence[int]:
    """Return the ids of the providers that have inventory of a class."""
    having = inventories.c.resource_class_id == class_id
    return connection.scalars(sa.select(inventories.c.resource_provider_id).where(having)).all()


def is_in_use(connection: sa.Connection, class_id: int) -> bool:
    """Return whether any provider has inventory of a class."""
    having = sa.select(inventories.c.id).where(inventories.c.resource_class_id == class_id)
    return connection.execute(having.limit(1)).first() is not None


def delete(connection: sa.Connection, class_id: int) -> None:
    """Delete a class."""
    connection.execute(sa.delete(resource_classes).where(resource_classes.c.id == class_id))
