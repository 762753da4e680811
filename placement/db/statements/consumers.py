# SPDX-License-Identifier: Apache-2.0
"""Statements about consumers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.compound import Step
from placement.db.engine.precompiled import Precompiled
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

# How many consumers of one owner one statement inserts; there is a statement for each number.
MAX_JOINED = 12

_HAS_PROJECT = projects.c.external_id == sa.bindparam('project', type_=sa.String)
_HAS_USER = users.c.external_id == sa.bindparam('user', type_=sa.String)
_HAS_TYPE = consumer_types.c.name == sa.bindparam('consumer_type', type_=sa.String)
_DELETE_BY_UUID = sa.delete(consumers).where(consumers.c.uuid == sa.bindparam('uuid'))
_LOCKED_BY_UUID = (
    sa.select(consumers.c.id).where(consumers.c.uuid == sa.bindparam('uuid')).with_for_update()
)


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
_BY_IDS = sa.select(*_WITH_OWNER).where(consumers.c.id.in_(sa.bindparam('ids', expanding=True)))
_DELETE_ONE = Precompiled(_DELETE_BY_UUID)
_DELETE_RETURNING = _DELETE_BY_UUID.returning(*_WITH_OWNER)


class ConsumerExists(Exception):
    """A consumer that was inserted as new exists; its transaction has to roll back."""


def lock(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """The consumers that exist, in the order of their uuids, locked until the transaction ends."""
    if not uuids:
        return []
    return connection.execute(_LOCKED, {'uuids': list(uuids)}).all()


def insert(connection: sa.Connection, owners: Mapping[str, Owner]) -> None:
    """Insert consumers, given as owners by uuid; what owners name is made where it is missing.

    A few consumers of one owner, as they usually come, are inserted by a statement that looks up
    the ids of what the owner names. It inserts nothing when a name is missing.
    """
    if not owners:
        return
    distinct = list(set(owners.values()))
    are_joined = len(distinct) == 1 and len(owners) <= MAX_JOINED
    if are_joined and _insertion(list(owners), distinct[0]).execute(connection).rowcount:
        return
    ids = owner_statements.ensure(connection, distinct)
    connection.execute(
        _INSERT,
        [
            {'uuid': uuid, 'generation': FIRST_GENERATION, **ids[owner]._asdict()}
            for uuid, owner in owners.items()
        ],
    )


def insert_new(connection: sa.Connection, owners: Mapping[str, Owner]) -> None:
    """As `insert`, without having looked for the consumers.

    Raises `ConsumerExists` when one of them exists, or when another transaction is the first to
    insert what the owners name.
    """
    with expected_new():
        insert(connection, owners)


@contextlib.contextmanager
def expected_new() -> Iterator[None]:
    """Raise `ConsumerExists` where a consumer that is inserted exists, as `insert_new` says."""
    try:
        yield
    except db_errors.DBDuplicateEntry as error:
        raise ConsumerExists from error


def insertion(uuid: str, owner: Owner) -> Step:
    """The step that inserts a consumer, if all that its owner names exists."""
    return _insertion([uuid], owner)


def _insertion(uuids: Sequence[str], owner: Owner) -> Step:
    """The step that inserts consumers of one owner, if all that it names exists, or else none."""
    values: dict[str, Any] = {**owner._asdict(), 'created_at': utcnow()}
    for number, uuid in enumerate(uuids):
        values[f'uuid_{number}'] = uuid
    statement = _joined_insert(len(uuids), owner.consumer_type is not None)
    return Step(statement, values, rows=len(uuids))


@functools.cache
def _joined_insert(number: int, has_type: bool) -> Precompiled:
    """The statement that inserts so many consumers of one owner, with a type or without."""
    # One row of each, by its unique name.
    named = projects.join(users, sa.true())
    conditions = [_HAS_PROJECT, _HAS_USER]
    # With a type of its own, because PostgreSQL takes NULL in a union for text.
    type_id: sa.ColumnElement[Any] = sa.cast(sa.null(), sa.Integer)
    if has_type:
        named = named.join(consumer_types, sa.true())
        conditions.append(_HAS_TYPE)
        type_id = consumer_types.c.id
    consumers_of_owner = sa.union_all(
        *(
            sa.select(
                sa.bindparam(f'uuid_{one}', type_=sa.String),
                sa.literal_column(str(FIRST_GENERATION)),
                projects.c.id,
                users.c.id,
                type_id,
                sa.bindparam('created_at', type_=sa.DateTime),
            )
            .select_from(named)
            .where(*conditions)
            for one in range(number)
        )
    )
    columns = ('uuid', 'generation', 'project_id', 'user_id', 'consumer_type_id', 'created_at')
    return Precompiled(sa.insert(consumers).from_select(columns, consumers_of_owner))


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
    named = {'project_id': (projects, _HAS_PROJECT), 'user_id': (users, _HAS_USER)}
    if has_type:
        named['consumer_type_id'] = (consumer_types, _HAS_TYPE)
    found = {
        column: sa.select(table.c.id).where(condition).scalar_subquery()
        for column, (table, condition) in named.items()
    }
    return (
        sa.update(consumers)
        .where(consumers.c.id.in_(sa.bindparam('ids', expanding=True)))
        .where(*(ids.is_not(None) for ids in found.values()))
        .values(generation=consumers.c.generation + 1, **found)
    )


def list_with_owners(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Return consumers with the names of their owners and types, each None where it is missing."""
    return connection.execute(_BY_IDS, {'ids': list(ids)}).all() if ids else []


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete consumers."""
    if ids:
        connection.execute(sa.delete(consumers).where(consumers.c.id.in_(ids)))


def delete_by_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Delete the consumer with a uuid, which locks it as well; returns whether there was one."""
    return deletion(uuid).execute(connection).rowcount > 0


def deletion(uuid: str) -> Step:
    """The step that does as `delete_by_uuid`."""
    return Step(_DELETE_ONE, {'uuid': uuid})


def delete_with_owner(connection: sa.Connection, uuid: str) -> Row | None:
    """As `delete_by_uuid`, but return the consumer as it was, with its owner and type, or None."""
    if connection.dialect.delete_returning:
        return connection.execute(_DELETE_RETURNING, {'uuid': uuid}).one_or_none()
    # MySQL has no DELETE ... RETURNING. The lock keeps others from giving it to another owner.
    ids = connection.scalars(_LOCKED_BY_UUID, {'uuid': uuid}).all()
    row = next(iter(list_with_owners(connection, ids)), None)
    delete(connection, ids)
    return row
