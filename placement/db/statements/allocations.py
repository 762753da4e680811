# SPDX-License-Identifier: Apache-2.0
"""Statements about what consumers have taken from providers."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

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
)
from placement.db.statements.inventories import fits, used_of

# An allocation whose consumer is unknown counts as usage but is not shown: very old data may
# have such (specification: data_model, "Consumers that are missing").
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
_CONSUMER_UUIDS: sa.BindParameter[Any] = sa.bindparam('consumer_uuids', expanding=True)
_PROVIDERS_USED = (
    sa.select(allocations.c.consumer_id, allocations.c.resource_provider_id)
    .where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
    .distinct()
)
_INSERT = sa.insert(allocations)

# What one consumer takes is at most so many amounts, where one statement is to take them if they
# fit; there is one statement for each number of them.
MAX_AMOUNTS_FITTED = 12

# MySQL reckons with ratios of seven digits and shows six of them to those who ask, so that they
# take 1.000004 for 1. All others go by what is shown.
DOUBT = 1e-5
_DELETE = sa.delete(allocations).where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
_OF_ONE = allocations.c.consumer_id == sa.bindparam('consumer_uuid')
_PROVIDERS_USED_BY_ONE = sa.select(allocations.c.resource_provider_id).where(_OF_ONE)
_DELETE_OF_ONE = sa.delete(allocations).where(_OF_ONE)
_DELETE_OF_ONE_RETURNING = _DELETE_OF_ONE.returning(allocations.c.resource_provider_id)


def list_by_consumer(connection: sa.Connection, consumer_uuid: str) -> Sequence[Row]:
    """What a consumer has, with the provider it has it from, and the consumer in every row."""
    return connection.execute(_BY_CONSUMER, {'consumer_uuid': consumer_uuid}).all()


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """What is taken from a provider, with the consumer that has it."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()


def list_providers_used(
    connection: sa.Connection, consumer_uuids: Collection[str]
) -> list[tuple[str, int]]:
    """Pairs of a consumer's uuid and the id of a provider that it has something of."""
    if not consumer_uuids:
        return []
    rows = connection.execute(_PROVIDERS_USED, {'consumer_uuids': list(consumer_uuids)})
    return [(consumer_uuid, provider_id) for consumer_uuid, provider_id in rows]


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert allocations, given as columns."""
    if rows:
        connection.execute(_INSERT, list(rows))


def insert_fitting(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Insert allocations, given as columns, if they fit beyond doubt; returns whether they do.

    They are all that one consumer has, and for different inventories, of providers that are held.
    Where they may not fit nothing is inserted, and `search.capacity` has to be asked, which
    knows the reason as well.
    """
    if not 0 < len(rows) <= MAX_AMOUNTS_FITTED:
        return False
    values = {'consumer_uuid': rows[0]['consumer_id']}
    for number, row in enumerate(rows):
        values[f'provider_{number}'] = row['resource_provider_id']
        values[f'class_{number}'] = row['resource_class_id']
        values[f'amount_{number}'] = row['used']
    inserted = connection.execute(_insert_fitting(len(rows)), values).rowcount
    if 0 < inserted < len(rows):
        there = allocations.c.resource_provider_id.in_({r['resource_provider_id'] for r in rows})
        connection.execute(_DELETE_OF_ONE.where(there), values)
    return inserted == len(rows)


@functools.cache
def _insert_fitting(number: int) -> sa.Insert:
    """The statement for so many amounts: it inserts those that fit."""
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
        )
        .join_from(
            wanted,
            inventories,
            sa.and_(
                inventories.c.resource_provider_id == wanted.c.provider_id,
                inventories.c.resource_class_id == wanted.c.class_id,
            ),
        )
        .where(fits(wanted.c.amount, used_of(wanted.c.provider_id, wanted.c.class_id), DOUBT))
    )
    columns = ('resource_provider_id', 'consumer_id', 'resource_class_id', 'used')
    # Drivers say how many were inserted, but not after their cursor is closed.
    return (
        sa.insert(allocations)
        .from_select(columns, amounts)
        .execution_options(preserve_rowcount=True)
    )


def delete(connection: sa.Connection, consumer_uuids: Collection[str]) -> None:
    """Delete all that some consumers have."""
    if consumer_uuids:
        connection.execute(_DELETE, {'consumer_uuids': list(consumer_uuids)})


def delete_of_one(connection: sa.Connection, consumer_uuid: str) -> set[int]:
    """Delete all that a consumer has; returns the ids of the providers that it had it from."""
    values = {'consumer_uuid': consumer_uuid}
    if connection.dialect.delete_returning:
        return set(connection.scalars(_DELETE_OF_ONE_RETURNING, values))
    # MySQL does not say what it deletes, unlike all others.
    provider_ids = set(connection.scalars(_PROVIDERS_USED_BY_ONE, values))
    if provider_ids:
        connection.execute(_DELETE_OF_ONE, values)
    return provider_ids
