# SPDX-License-Identifier: Apache-2.0
"""SQL statements about consumers."""

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


class ConsumerExists(Exception):
    """A consumer that was inserted as new exists; its transaction has to roll back."""


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """Lock those consumers that exist, in the order of their uuids, and return them."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert consumers, each a mapping of columns."""
    if rows:
        connection.execute(_INSERT, list(rows))


def insert_new(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert consumers without having looked for them; raises `ConsumerExists`."""
    try:
        insert(connection, rows)
    except db_errors.DBDuplicateEntry as error:
        raise ConsumerExists from error


def advance(connection: sa.Connection, ids: Collection[int], values: Mapping[str, Any]) -> None:
    """Increment the generation of consumers that are locked, and set `values` in each."""
    connection.execute(
        sa.update(consumers)
        .where(consumers.c.id.in_(ids))
        .values(generation=consumers.c.generation + 1, **values)
    )


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete consumers by their ids."""
    if ids:
        connection.execute(sa.delete(consumers).where(consumers.c.id.in_(ids)))


def delete_by_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Delete the consumer with a uuid, which also locks it; return whether there was one."""
    return connection.execute(_DELETE_BY_UUID, {'uuid': uuid}).rowcount > 0
