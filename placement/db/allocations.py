# SPDX-License-Identifier: Apache-2.0
"""Statements about what consumers have taken from providers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.api import Row
from placement.db.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)

# An allocation whose consumer is unknown counts as usage but is not shown: very old data may
# have such (contract: data_model.md).
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
_DELETE = sa.delete(allocations).where(allocations.c.consumer_id.in_(_CONSUMER_UUIDS))


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


def delete(connection: sa.Connection, consumer_uuids: Collection[str]) -> None:
    """Delete all that some consumers have."""
    if consumer_uuids:
        connection.execute(_DELETE, {'consumer_uuids': list(consumer_uuids)})
