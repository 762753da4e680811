# SPDX-License-Identifier: Apache-2.0
"""SQL statements about the tables of names: resource classes and traits."""

import dataclasses
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import (
    inventories,
    resource_classes,
    resource_provider_traits,
    traits,
)
from placement.db.statements import class_ids, collation


@dataclasses.dataclass(frozen=True)
class NameTable:
    """A table of names, and the column of another table that refers to its rows.

    Custom names get ids from `take_id`, or from the database if it is None.
    """

    table: sa.Table
    reference: sa.Column[int]
    take_id: Callable[[sa.Connection], int] | None = None

    def rows(self) -> sa.Select[*tuple[Any, ...]]:
        """Select all rows in the order of their ids, standard names first."""
        columns = self.table.c
        listed = (columns.id, columns.name, columns.created_at, columns.updated_at)
        return sa.select(*listed).order_by(columns.id)

    def find(self, connection: sa.Connection, name: str, lock: bool = False) -> Row | None:
        """Return the row with a name, or None; with `lock` it is locked."""
        statement = self.rows().where(self.table.c.name == name)
        if lock:
            statement = statement.with_for_update()
        return collation.exactly(connection.execute(statement).one_or_none(), 'name', name)

    def insert(self, connection: sa.Connection, name: str) -> None:
        """Insert a custom name."""
        values: dict[str, Any] = {'name': name}
        if self.take_id is not None:
            values['id'] = self.take_id(connection)
        connection.execute(sa.insert(self.table).values(values))

    def rename(self, connection: sa.Connection, row_id: int, name: str) -> None:
        """Set the name of a row."""
        connection.execute(
            sa.update(self.table).where(self.table.c.id == row_id).values(name=name)
        )

    def is_in_use(self, connection: sa.Connection, row_id: int) -> bool:
        """True if anything refers to a row."""
        having = sa.select(self.reference).where(self.reference == row_id)
        return connection.execute(having.limit(1)).first() is not None

    def delete(self, connection: sa.Connection, row_id: int) -> None:
        """Delete a row."""
        connection.execute(sa.delete(self.table).where(self.table.c.id == row_id))


RESOURCE_CLASSES = NameTable(resource_classes, inventories.c.resource_class_id, class_ids.take)
TRAITS = NameTable(traits, resource_provider_traits.c.trait_id)
