# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.api import Row
from placement.db.tables import consumers

_LOCKED = (
    sa.select(consumers.c.id, consumers.c.uuid, consumers.c.generation)
    .where(consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(consumers.c.uuid)
    .with_for_update()
)


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """The consumers that exist, in the order of their uuids, held until the transaction ends."""
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert consumers, given as columns."""
    if rows:
        connection.execute(sa.insert(consumers), list(rows))


def advance(connection: sa.Connection, ids: Collection[int], values: Mapping[str, Any]) -> None:
    """Add one to the generation of consumers that are locked, and write what else is given."""
    connection.execute(
        sa.update(consumers)
        .where(consumers.c.id.in_(ids))
        .values(generation=consumers.c.generation + 1, **values)
    )


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete consumers."""
    if ids:
        connection.execute(sa.delete(consumers).where(consumers.c.id.in_(ids)))
