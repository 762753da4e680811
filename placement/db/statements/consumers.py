# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    users,
    utcnow,
)
from placement.db.statements import owners as owner_statements
from placement.db.statements.owners import Owner, OwnerIds

# Placeholder of an owner that the database does not report: ids that no row has.
UNKNOWN_OWNER = OwnerIds(0, 0, None)

# The generation of a consumer after the write that creates it.
FIRST_GENERATION = 1

_OWNER_IDS = (consumers.c.project_id, consumers.c.user_id, consumers.c.consumer_type_id)
_LOCKED = (
    sa.select(consumers.c.id, consumers.c.uuid, consumers.c.generation, *_OWNER_IDS)
    .where(consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(consumers.c.uuid)
    .with_for_update()
)
_INSERT = sa.insert(consumers)

_HAS_PROJECT = projects.c.external_id == sa.bindparam('project', type_=sa.String)
_HAS_USER = users.c.external_id == sa.bindparam('user', type_=sa.String)
_HAS_TYPE = consumer_types.c.name == sa.bindparam('consumer_type', type_=sa.String)
_DELETE_BY_UUID = sa.delete(consumers).where(consumers.c.uuid == sa.bindparam('uuid'))
_HAS_ID = consumers.c.id.in_(sa.bindparam('ids', expanding=True))
_DELETE = sa.delete(consumers).where(consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
_DELETE_RETURNING = _DELETE_BY_UUID.returning(*_OWNER_IDS)


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """The consumers that exist, in the order of their uuids, locked until the transaction ends."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, owners: Mapping[str, Owner]) -> None:
    """Insert consumers, given as owners by uuid, and missing names of the owners."""
    if not owners:
        return
    ids = owner_statements.ensure(connection, set(owners.values()))
    connection.execute(
        _INSERT,
        [
            {'uuid': uuid, 'generation': FIRST_GENERATION, **ids[owner]._asdict()}
            # Every transaction inserts in this order, so that two of them do not deadlock.
            for uuid, owner in sorted(owners.items())
        ],
    )


def insert_absent(connection: sa.Connection, uuid: str, owner: Owner) -> bool:
    """Insert a consumer if its uuid is unused, and all names of its owner exist.

    Very old data has allocations of consumers without a record. Returns True if it was inserted.
    """
    values = {'new_uuid': uuid, **owner._asdict(), 'now': utcnow()}
    statement = _insert_absent(owner.consumer_type is not None)
    return connection.execute(statement, values).rowcount > 0


@functools.cache
def _insert_absent(has_type: bool) -> sa.Insert:
    """The statement that inserts a consumer with a type, or without."""
    ids = _ids_of_owner(has_type)
    uuid = sa.bindparam('new_uuid', type_=sa.String)
    existing = sa.select(consumers.c.id).where(consumers.c.uuid == uuid).exists()
    held = sa.select(allocations.c.id).where(allocations.c.consumer_id == uuid).exists()
    values: sa.Select[*tuple[Any, ...]] = sa.select(
        uuid,
        sa.literal_column(str(FIRST_GENERATION)),
        sa.bindparam('now', type_=sa.DateTime),
        *ids.values(),
    ).where(~existing, ~held, *(owner_id.is_not(None) for owner_id in ids.values()))
    columns = ['uuid', 'generation', 'created_at', *ids]
    inserted = sa.insert(consumers).from_select(columns, values, include_defaults=False)
    # SQLAlchemy reads the number of rows of an INSERT only with this option.
    return inserted.execution_options(preserve_rowcount=True)


def _ids_of_owner(has_type: bool) -> dict[str, sa.ScalarSelect[int]]:
    """The subqueries for the ids of an owner's names, by column of the consumer."""
    named = {'project_id': (projects, _HAS_PROJECT), 'user_id': (users, _HAS_USER)}
    if has_type:
        named['consumer_type_id'] = (consumer_types, _HAS_TYPE)
    return {
        column: sa.select(table.c.id).where(condition).scalar_subquery()
        for column, (table, condition) in named.items()
    }


def advance(connection: sa.Connection, owners: Mapping[int, Owner]) -> None:
    """Increment the generations of locked consumers, and set their owners, by id.

    One statement updates all consumers of an owner, and looks up the ids of the owner's names.
    Missing names are inserted. An owner without a type keeps the type.
    """
    ids: dict[Owner, list[int]] = {}
    for consumer_id, owner in owners.items():
        ids.setdefault(owner, []).append(consumer_id)
    for owner, consumer_ids in ids.items():
        statement = _joined_update(owner.consumer_type is not None)
        values = {**owner._asdict(), 'ids': consumer_ids}
        if not connection.execute(statement, values).rowcount:
            owner_statements.ensure(connection, ids)
            connection.execute(statement, values)


@functools.cache
def _joined_update(has_type: bool) -> sa.Update:
    """The statement that updates consumers of one owner, if all of its names exist."""
    ids = _ids_of_owner(has_type)
    return (
        sa.update(consumers)
        .where(_HAS_ID, *(owner_id.is_not(None) for owner_id in ids.values()))
        .values(generation=consumers.c.generation + 1, **ids)
    )


def delete(connection: sa.Connection, uuids: Collection[str]) -> None:
    """Delete consumers, which are locked."""
    if uuids:
        connection.execute(_DELETE, {'uuids': list(uuids)})


def owner_ids(row: Row) -> OwnerIds:
    """Return the ids of the owner in the row of a consumer."""
    return OwnerIds(row.project_id, row.user_id, row.consumer_type_id)


def delete_by_uuid(connection: sa.Connection, uuid: str, names_owner: bool) -> OwnerIds | None:
    """Delete the consumer with a uuid, which locks it as well; return its owner, or None.

    On MySQL, which has no DELETE ... RETURNING, the owner is read only with `names_owner`.
    """
    if connection.dialect.delete_returning:
        row = connection.execute(_DELETE_RETURNING, {'uuid': uuid}).one_or_none()
        return None if row is None else owner_ids(row)
    if not names_owner:
        is_deleted = connection.execute(_DELETE_BY_UUID, {'uuid': uuid}).rowcount > 0
        return UNKNOWN_OWNER if is_deleted else None
    # The lock prevents a concurrent change of the owner.
    rows = lock(connection, [uuid])
    delete(connection, [row.uuid for row in rows])
    return owner_ids(rows[0]) if rows else None
