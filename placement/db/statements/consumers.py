# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import consumer_types, consumers, projects, users, utcnow
from placement.db.statements import owners as owner_statements
from placement.db.statements.owners import Owner

# The generation that the write which makes a consumer leaves it with.
FIRST_GENERATION = 1

_LOCKED = (
    sa.select(consumers.c.id, consumers.c.uuid, consumers.c.generation)
    .where(consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(consumers.c.uuid)
    .with_for_update()
)
_INSERT = sa.insert(consumers)

_HAS_PROJECT = projects.c.external_id == sa.bindparam('project', type_=sa.String)
_HAS_USER = users.c.external_id == sa.bindparam('user', type_=sa.String)
_HAS_TYPE = consumer_types.c.name == sa.bindparam('consumer_type', type_=sa.String)
_DELETE_BY_UUID = sa.delete(consumers).where(consumers.c.uuid == sa.bindparam('uuid'))


def _name_of(column: sa.Column[Any], table: sa.Table) -> sa.ScalarSelect[Any]:
    """The name in another table that a column of a consumer refers to."""
    named = table.c.name if table is consumer_types else table.c.external_id
    return sa.select(named).where(table.c.id == column).scalar_subquery()


_WITH_OWNER = (
    consumers.c.uuid,
    consumers.c.generation,
    _name_of(consumers.c.project_id, projects).label('project_id'),
    _name_of(consumers.c.user_id, users).label('user_id'),
    _name_of(consumers.c.consumer_type_id, consumer_types).label('consumer_type'),
)
_HAS_ID = consumers.c.id.in_(sa.bindparam('ids', expanding=True))
_BY_IDS = sa.select(*_WITH_OWNER).where(_HAS_ID)
_DELETE = sa.delete(consumers).where(_HAS_ID)
_DELETE_RETURNING = _DELETE_BY_UUID.returning(*_WITH_OWNER)


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """The consumers that exist, in the order of their uuids, locked until the transaction ends."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, owners: Mapping[str, Owner]) -> None:
    """Insert consumers, given as owners by uuid; what owners name is made where it is missing."""
    if not owners:
        return
    ids = owner_statements.ensure(connection, set(owners.values()))
    connection.execute(
        _INSERT,
        [
            {'uuid': uuid, 'generation': FIRST_GENERATION, **ids[owner]._asdict()}
            for uuid, owner in owners.items()
        ],
    )


def insert_absent(connection: sa.Connection, uuid: str, owner: Owner) -> bool:
    """Insert a consumer if there is none with its uuid, and all that its owner names exists.

    Returns whether it was inserted.
    """
    values = {'new_uuid': uuid, **owner._asdict(), 'now': utcnow()}
    statement = _insert_absent(owner.consumer_type is not None)
    return connection.execute(statement, values).rowcount > 0


@functools.cache
def _insert_absent(has_type: bool) -> sa.Insert:
    """The statement that inserts a consumer with a type, or without."""
    ids = _ids_of_owner(has_type)
    existing = sa.select(consumers.c.id).where(consumers.c.uuid == sa.bindparam('new_uuid'))
    values: sa.Select[*tuple[Any, ...]] = sa.select(
        sa.bindparam('new_uuid', type_=sa.String),
        sa.literal_column(str(FIRST_GENERATION)),
        sa.bindparam('now', type_=sa.DateTime),
        *ids.values(),
    ).where(~existing.exists(), *(owner_id.is_not(None) for owner_id in ids.values()))
    columns = ['uuid', 'generation', 'created_at', *ids]
    inserted = sa.insert(consumers).from_select(columns, values, include_defaults=False)
    # SQLAlchemy reads the number of rows of an INSERT only where it is asked to.
    return inserted.execution_options(preserve_rowcount=True)


def _ids_of_owner(has_type: bool) -> dict[str, sa.ScalarSelect[int]]:
    """The subqueries that look up what an owner names, by the columns of a consumer."""
    named = {'project_id': (projects, _HAS_PROJECT), 'user_id': (users, _HAS_USER)}
    if has_type:
        named['consumer_type_id'] = (consumer_types, _HAS_TYPE)
    return {
        column: sa.select(table.c.id).where(condition).scalar_subquery()
        for column, (table, condition) in named.items()
    }


def advance(connection: sa.Connection, owners: Mapping[int, Owner]) -> None:
    """Increment the generation of consumers that are locked, and set their owners, by id.

    The consumers of one owner are updated by one statement, which looks up the ids of what the
    owner names. What owners name is made where it is missing. Without a type the type stays.
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
    """The statement that updates consumers of one owner, if all that it names exists."""
    ids = _ids_of_owner(has_type)
    return (
        sa.update(consumers)
        .where(_HAS_ID, *(owner_id.is_not(None) for owner_id in ids.values()))
        .values(generation=consumers.c.generation + 1, **ids)
    )


def list_with_owners(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Return consumers with the names of their owners and types, each None where it is missing."""
    return connection.execute(_BY_IDS, {'ids': list(ids)}).all() if ids else []


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete consumers."""
    if ids:
        connection.execute(_DELETE, {'ids': list(ids)})


def delete_by_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Delete the consumer with a uuid, which locks it as well; returns whether there was one."""
    return connection.execute(_DELETE_BY_UUID, {'uuid': uuid}).rowcount > 0


def delete_with_owner(connection: sa.Connection, uuid: str) -> Row | None:
    """As `delete_by_uuid`, but return the consumer as it was, with its owner and type, or None."""
    if connection.dialect.delete_returning:
        return connection.execute(_DELETE_RETURNING, {'uuid': uuid}).one_or_none()
    # MySQL has no DELETE ... RETURNING. The lock keeps others from giving it to another owner.
    ids = [row.id for row in lock(connection, [uuid])]
    row = next(iter(list_with_owners(connection, ids)), None)
    delete(connection, ids)
    return row
