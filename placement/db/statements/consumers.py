# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.transactions import Row
from placement.db.schema.tables import consumers

_LOCKED = (
    sa.select(consumers.c.id, consumers.c.uuid, consumers.c.generation)
    .where(consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(consumers.c.uuid)
    .with_for_update()
)
_INSERT = sa.insert(consumers)
_DELETE_BY_UUID = sa.delete(consumers).where(consumers.c.uuid == sa.bindparam('uuid'))


class AlreadyThere(Exception):
    """A consumer that was taken for new is there already, which ends the transaction."""


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """The consumers that exist, in the order of their uuids, held until the transaction ends."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert consumers, given as columns."""
    if rows:
        connection.execute(_INSERT, list(rows))


def insert_new(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """As `insert`, where nobody has looked whether they are there; raises `AlreadyThere`."""
    try:
        insert(connection, rows)
    except db_errors.DBDuplicateEntry as error:
        raise AlreadyThere from error


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


def delete_by_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Delete the consumer with a uuid, and hold it so; returns whether there was one."""
    return connection.execute(_DELETE_BY_UUID, {'uuid': uuid}).rowcount > 0
