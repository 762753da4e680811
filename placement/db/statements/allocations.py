# SPDX-License-Identifier: Apache-2.0
"""SQL statements about allocations."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)
from placement.db.statements.providers import GENERATION

# Very old data may have allocations whose consumer has no record. They count as usage, but no
# list shows them (specification: data_model, "Consumers that are missing").
_KNOWN_CONSUMERS = (
    allocations.join(consumers, consumers.c.uuid == allocations.c.consumer_id)
    .join(projects, projects.c.id == consumers.c.project_id)
    .join(users, users.c.id == consumers.c.user_id)
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
)

_HELD = (
    resource_classes.c.name.label('resource_class'),
    allocations.c.used,
    allocations.c.created_at,
)
_CONSUMER_UUIDS: sa.BindParameter[Any] = sa.bindparam('consumer_uuids', expanding=True)
_BY_CONSUMERS = (
    sa.select(
        resource_providers.c.uuid.label('provider_uuid'),
        GENERATION.element.label('provider_generation'),
        *_HELD,
        consumers.c.uuid,
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
    .where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
    .order_by(allocations.c.id)
)
_BY_PROVIDERS = (
    sa.select(
        allocations.c.resource_provider_id.label('provider_id'),
        consumers.c.uuid.label('consumer_uuid'),
        consumers.c.generation.label('consumer_generation'),
        *_HELD,
    )
    .select_from(_KNOWN_CONSUMERS)
    .where(allocations.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True)))
    .order_by(allocations.c.id)
)
_HELD_BY_CONSUMERS = sa.select(
    allocations.c.consumer_id,
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    allocations.c.used,
).where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
_INSERT = sa.insert(allocations)


class HeldAmount(NamedTuple):
    """The amount of one class that a consumer holds on one provider."""

    consumer_uuid: str
    provider_id: int
    class_id: int
    used: int


_DELETE = sa.delete(allocations).where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))
_BY_ONE_CONSUMER = allocations.c.consumer_id == sa.bindparam('consumer_uuid')
_PROVIDERS_OF_CONSUMER = sa.select(allocations.c.resource_provider_id).where(_BY_ONE_CONSUMER)
_DELETE_BY_CONSUMER = sa.delete(allocations).where(_BY_ONE_CONSUMER)
_DELETE_RETURNING = _DELETE_BY_CONSUMER.returning(allocations.c.resource_provider_id)


def list_by_providers(connection: sa.Connection, provider_ids: Collection[int]) -> Sequence[Row]:
    """Return the allocations on some providers.

    Each has `provider_id`, and the uuid and generation of the consumer.
    """
    return connection.execute(_BY_PROVIDERS, {'provider_ids': list(provider_ids)}).all()


def list_by_consumers(connection: sa.Connection, consumer_uuids: Collection[str]) -> Sequence[Row]:
    """Return the allocations of some consumers.

    Each has the uuids and generations of provider and consumer, and the names of the owner.
    """
    return connection.execute(_BY_CONSUMERS, {'consumer_uuids': list(consumer_uuids)}).all()


def list_held(connection: sa.Connection, consumer_uuids: Collection[str]) -> list[HeldAmount]:
    """Return the amounts that some consumers hold, even if these have no record."""
    if not consumer_uuids:
        return []
    rows = connection.execute(_HELD_BY_CONSUMERS, {'consumer_uuids': list(consumer_uuids)})
    return [HeldAmount._make(row) for row in rows]


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert allocations, each given as values by column name."""
    if rows:
        connection.execute(_INSERT, list(rows))


def delete(connection: sa.Connection, consumer_uuids: Collection[str]) -> None:
    """Delete every allocation of some consumers."""
    if consumer_uuids:
        connection.execute(_DELETE, {'consumer_uuids': list(consumer_uuids)})


def delete_by_consumer(connection: sa.Connection, consumer_uuid: str) -> set[int]:
    """Delete every allocation of a consumer; return the ids of their providers."""
    values = {'consumer_uuid': consumer_uuid}
    if connection.dialect.delete_returning:
        return set(connection.scalars(_DELETE_RETURNING, values))
    # MySQL has no DELETE ... RETURNING.
    provider_ids = set(connection.scalars(_PROVIDERS_OF_CONSUMER, values))
    if provider_ids:
        connection.execute(_DELETE_BY_CONSUMER, values)
    return provider_ids
