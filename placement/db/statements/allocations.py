# SPDX-License-Identifier: Apache-2.0
"""SQL statements about allocations."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.compound import Step
from placement.db.engine.precompiled import Precompiled
from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    projects,
    resource_classes,
    resource_providers,
    users,
    utcnow,
)
from placement.db.statements.inventories import fits, used_of

# Very old data may have allocations whose consumer has no record. They count as usage, but no
# list shows them (specification: data_model, "Consumers that are missing").
_KNOWN_CONSUMERS = (
    allocations.join(consumers, consumers.c.uuid == allocations.c.consumer_id)
    .join(projects, projects.c.id == consumers.c.project_id)
    .join(users, users.c.id == consumers.c.user_id)
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
)


_BY_CONSUMER = (
    sa.select(
        resource_providers.c.uuid.label('provider_uuid'),
        resource_providers.c.generation.label('provider_generation'),
        resource_classes.c.name.label('resource_class'),
        allocations.c.used,
        allocations.c.created_at,
        consumers.c.uuid.label('consumer_uuid'),
        consumers.c.generation,
        projects.c.external_id.label('project_id'),
        users.c.external_id.label('user_id'),
        consumer_types.c.name.label('consumer_type'),
    )
    .select_from(
        _KNOWN_CONSUMERS.join(
            resource_providers, resource_providers.c.id == allocations.c.resource_provider_id
        ).outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
    )
    .where(allocations.c.consumer_id == sa.bindparam('consumer_uuid'))
    .order_by(allocations.c.id)
)
_BY_PROVIDER = (
    sa.select(
        consumers.c.uuid.label('consumer_uuid'),
        consumers.c.generation.label('consumer_generation'),
        resource_classes.c.name.label('resource_class'),
        allocations.c.used,
        allocations.c.created_at,
    )
    .select_from(_KNOWN_CONSUMERS)
    .where(allocations.c.resource_provider_id == sa.bindparam('provider_id'))
    .order_by(allocations.c.id)
)
_BY_PROVIDERS = (
    sa.select(
        allocations.c.resource_provider_id.label('provider_id'),
        consumers.c.uuid.label('consumer_uuid'),
        consumers.c.generation.label('consumer_generation'),
        resource_classes.c.name.label('resource_class'),
        allocations.c.used,
    )
    .select_from(_KNOWN_CONSUMERS)
    .where(allocations.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True)))
    .order_by(allocations.c.id)
)
_BY_CONSUMERS = (
    sa.select(
        consumers.c.uuid.label('consumer_uuid'),
        resource_providers.c.uuid.label('provider_uuid'),
        resource_providers.c.generation.label('provider_generation'),
        resource_classes.c.name.label('resource_class'),
        allocations.c.used,
    )
    .select_from(
        _KNOWN_CONSUMERS.join(
            resource_providers, resource_providers.c.id == allocations.c.resource_provider_id
        )
    )
    .where(allocations.c.consumer_id.in_(sa.bindparam('consumer_uuids', expanding=True)))
    .order_by(allocations.c.id)
)
_CONSUMER_UUIDS: sa.BindParameter[Any] = sa.bindparam('consumer_uuids', expanding=True)
_PROVIDERS_USED = (
    sa.select(allocations.c.consumer_id, allocations.c.resource_provider_id)
    .where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
    .distinct()
)
_INSERT = sa.insert(allocations)

# The largest number of allocations that one optimistic insert takes. Each number of allocations
# has a statement of its own, which SQLAlchemy compiles once.
MAX_OPTIMISTIC_AMOUNTS = 12

# The part of a capacity that an optimistic insert leaves free. MySQL computes with the seven
# digits of a stored FLOAT but returns six of them, so that `search.capacity`, which decides by
# the returned value, may see a smaller capacity than the statement: 1.000004 is returned as 1.
SAFETY_MARGIN = 1e-5
_DELETE = sa.delete(allocations).where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
_BY_ONE_CONSUMER = allocations.c.consumer_id == sa.bindparam('consumer_uuid')
_PROVIDERS_OF_CONSUMER = sa.select(allocations.c.resource_provider_id).where(_BY_ONE_CONSUMER)
_DELETE_BY_CONSUMER = sa.delete(allocations).where(_BY_ONE_CONSUMER)
_DELETE_ONE_CONSUMER = Precompiled(_DELETE_BY_CONSUMER)
_DELETE_ONE_CONSUMER_RETURNING = Precompiled(
    _DELETE_BY_CONSUMER.returning(allocations.c.resource_provider_id)
)
_PROVIDER_UUID = (
    sa.select(resource_providers.c.uuid)
    .where(resource_providers.c.id == allocations.c.resource_provider_id)
    .scalar_subquery()
)
_PROVIDERS_WITH_UUIDS = _PROVIDERS_OF_CONSUMER.add_columns(_PROVIDER_UUID)
_DELETE_RETURNING_UUIDS = _DELETE_BY_CONSUMER.returning(
    allocations.c.resource_provider_id, _PROVIDER_UUID
)


def list_by_consumer(connection: sa.Connection, consumer_uuid: str) -> Sequence[Row]:
    """Return the allocations of a consumer, each with its provider and the consumer."""
    return connection.execute(_BY_CONSUMER, {'consumer_uuid': consumer_uuid}).all()


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """Return the allocations of a provider, each with its consumer."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()


def list_by_providers(connection: sa.Connection, provider_ids: Collection[int]) -> Sequence[Row]:
    """Return the allocations of some providers, each with `provider_id` and its consumer."""
    return connection.execute(_BY_PROVIDERS, {'provider_ids': list(provider_ids)}).all()


def list_by_consumers(connection: sa.Connection, consumer_uuids: Collection[str]) -> Sequence[Row]:
    """Return the allocations of some consumers, each with `consumer_uuid` and its provider."""
    return connection.execute(_BY_CONSUMERS, {'consumer_uuids': list(consumer_uuids)}).all()


def list_providers_used(
    connection: sa.Connection, consumer_uuids: Collection[str]
) -> list[tuple[str, int]]:
    """Return the pairs of a consumer's uuid and the id of a provider it has allocations of."""
    if not consumer_uuids:
        return []
    rows = connection.execute(_PROVIDERS_USED, {'consumer_uuids': list(consumer_uuids)})
    return [(consumer_uuid, provider_id) for consumer_uuid, provider_id in rows]


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert allocations, each a mapping of columns."""
    if rows:
        connection.execute(_INSERT, list(rows))


def insert_optimistically(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Insert the allocations if they fit with a safety margin; return whether they did.

    Each allocation is a mapping of columns. They are all the allocations of one consumer, each of
    another inventory, and their providers are locked. When one of them may not fit, none is
    inserted; the caller then asks `search.capacity`, which decides exactly and knows the reason.
    """
    if not 0 < len(rows) <= MAX_OPTIMISTIC_AMOUNTS:
        return False
    inserted = optimistic_insertion(rows).execute(connection).rowcount
    if 0 < inserted < len(rows):
        delete_inserted(connection, rows)
    return inserted == len(rows)


def optimistic_insertion(rows: Sequence[Mapping[str, Any]]) -> Step:
    """The step that inserts those allocations that fit with a safety margin.

    What `insert_optimistically` says of them holds here as well; there are
    `MAX_OPTIMISTIC_AMOUNTS` at most.
    """
    values = {'consumer_uuid': rows[0]['consumer_id'], 'created_at': utcnow()}
    for number, row in enumerate(rows):
        values[f'provider_{number}'] = row['resource_provider_id']
        values[f'class_{number}'] = row['resource_class_id']
        values[f'amount_{number}'] = row['used']
    return Step(_insert_optimistically(len(rows)), values, rows=len(rows))


@functools.cache
def _insert_optimistically(number: int) -> Precompiled:
    """Return the statement that inserts those of `number` allocations that fit."""
    wanted = sa.union_all(
        *(
            sa.select(
                sa.bindparam(f'provider_{one}', type_=sa.Integer).label('provider_id'),
                sa.bindparam(f'class_{one}', type_=sa.Integer).label('class_id'),
                sa.bindparam(f'amount_{one}', type_=sa.Integer).label('amount'),
            )
            for one in range(number)
        )
    ).subquery('wanted')
    amounts = (
        sa.select(
            wanted.c.provider_id,
            sa.bindparam('consumer_uuid', type_=sa.String),
            wanted.c.class_id,
            wanted.c.amount,
            sa.bindparam('created_at', type_=sa.DateTime),
        )
        .join_from(
            wanted,
            inventories,
            sa.and_(
                inventories.c.resource_provider_id == wanted.c.provider_id,
                inventories.c.resource_class_id == wanted.c.class_id,
            ),
        )
        .where(
            fits(wanted.c.amount, used_of(wanted.c.provider_id, wanted.c.class_id), SAFETY_MARGIN)
        )
    )
    columns = ('resource_provider_id', 'consumer_id', 'resource_class_id', 'used', 'created_at')
    return Precompiled(sa.insert(allocations).from_select(columns, amounts))


def delete(connection: sa.Connection, consumer_uuids: Collection[str]) -> None:
    """Delete every allocation of some consumers."""
    if consumer_uuids:
        connection.execute(_DELETE, {'consumer_uuids': list(consumer_uuids)})


def delete_inserted(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Delete those allocations that an optimistic insertion has inserted; others did not fit."""
    there = allocations.c.resource_provider_id.in_({row['resource_provider_id'] for row in rows})
    values = {'consumer_uuid': rows[0]['consumer_id']}
    connection.execute(_DELETE_BY_CONSUMER.where(there), values)


def deletion(consumer_uuid: str) -> Step:
    """The step that deletes every allocation of a consumer, however many there are."""
    return Step(_DELETE_ONE_CONSUMER, {'consumer_uuid': consumer_uuid}, rows=None)


def delete_by_consumer(connection: sa.Connection, consumer_uuid: str) -> set[int]:
    """Delete every allocation of a consumer; return the ids of the providers they were of."""
    values = {'consumer_uuid': consumer_uuid}
    if connection.dialect.delete_returning:
        return set(_DELETE_ONE_CONSUMER_RETURNING.execute(connection, values).scalars())
    # MySQL has no DELETE ... RETURNING.
    provider_ids = set(connection.scalars(_PROVIDERS_OF_CONSUMER, values))
    if provider_ids:
        connection.execute(_DELETE_BY_CONSUMER, values)
    return provider_ids


def delete_by_consumer_with_uuids(connection: sa.Connection, consumer_uuid: str) -> dict[int, str]:
    """As `delete_by_consumer`, but return the uuids of the providers as well, by their ids."""
    values = {'consumer_uuid': consumer_uuid}
    if connection.dialect.name not in ('mysql', 'mariadb'):
        return dict(connection.execute(_DELETE_RETURNING_UUIDS, values).all())
    # A DELETE of MariaDB would lock the providers whose uuids it returns.
    uuids: dict[int, str] = dict(connection.execute(_PROVIDERS_WITH_UUIDS, values).all())
    if uuids:
        connection.execute(_DELETE_BY_CONSUMER, values)
    return uuids
