# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.transactions import Row
from placement.db.schema.tables import consumers
from placement.db.statements import owners as owner_statements
from placement.db.statements.id_cache import IdCache
from placement.db.statements.owners import Owner, OwnerIds

# The generation that the write which makes a consumer leaves it with.
FIRST_GENERATION = 1

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
    """The consumers that exist, in the order of their uuids, locked until the transaction ends."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, owners: Mapping[str, Owner], id_cache: IdCache) -> None:
    """Insert consumers, given as owners by uuid; what owners name is made where it is missing."""
    if not owners:
        return
    ids = owner_statements.ensure(connection, set(owners.values()), id_cache)
    connection.execute(
        _INSERT,
        [
            {'uuid': uuid, 'generation': FIRST_GENERATION, **ids[owner]._asdict()}
            for uuid, owner in owners.items()
        ],
    )


def insert_new(connection: sa.Connection, owners: Mapping[str, Owner], id_cache: IdCache) -> None:
    """As `insert`, where nobody has looked whether they are there; raises `ConsumerExists`."""
    try:
        insert(connection, owners, id_cache)
    except db_errors.DBDuplicateEntry as error:
        raise ConsumerExists from error


def advance(connection: sa.Connection, owners: Mapping[int, Owner], id_cache: IdCache) -> None:
    """Increment the generation of consumers that are locked, and write their owners, by id.

    Those that are written alike are written by one statement.
    """
    ids = owner_statements.ensure(connection, set(owners.values()), id_cache)
    alike: dict[OwnerIds, list[int]] = {}
    for consumer_id, owner in owners.items():
        alike.setdefault(ids[owner], []).append(consumer_id)
    for owner_ids, consumer_ids in alike.items():
        values = {name: value for name, value in owner_ids._asdict().items() if value is not None}
        connection.execute(
            sa.update(consumers)
            .where(consumers.c.id.in_(consumer_ids))
            .values(generation=consumers.c.generation + 1, **values)
        )


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete consumers."""
    if ids:
        connection.execute(sa.delete(consumers).where(consumers.c.id.in_(ids)))


def delete_by_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Delete the consumer with a uuid, which locks it as well; returns whether there was one."""
    return connection.execute(_DELETE_BY_UUID, {'uuid': uuid}).rowcount > 0
