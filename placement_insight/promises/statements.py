# SPDX-License-Identifier: Apache-2.0
"""SQL statements on promises."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.own_tables import promises
from placement.db.statements import clock


def list_promises(connection: sa.Connection) -> Sequence[Row]:
    """Return all promises in the order of their names."""
    return connection.execute(sa.select(promises).order_by(promises.c.name)).all()


def find_promise(connection: sa.Connection, name: str, lock: bool = False) -> Row | None:
    """Return the promise with a name, or None; with `lock`, lock its row."""
    statement = sa.select(promises).where(promises.c.name == name)
    return connection.execute(statement.with_for_update() if lock else statement).one_or_none()


def count_promises(connection: sa.Connection) -> int:
    """Return the number of promises."""
    return connection.scalar(sa.select(sa.func.count()).select_from(promises)) or 0


def insert_promise(connection: sa.Connection, values: Mapping[str, object]) -> None:
    """Insert a promise, set at the time of the database clock."""
    now = clock.read(connection)
    connection.execute(sa.insert(promises).values({**values, 'set_at': now}))


def update_promise(connection: sa.Connection, values: Mapping[str, object]) -> None:
    """Replace the promise that has the name in `values`."""
    now = clock.read(connection)
    statement = sa.update(promises).where(promises.c.name == values['name'])
    connection.execute(statement.values({**values, 'set_at': now}))


def delete_promise(connection: sa.Connection, name: str) -> None:
    """Delete a promise."""
    connection.execute(sa.delete(promises).where(promises.c.name == name))
