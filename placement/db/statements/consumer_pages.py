# SPDX-License-Identifier: Apache-2.0
"""The statements that list consumers by filters, a page at a time."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_providers,
    users,
)

_LISTED = (
    sa.select(
        consumers.c.uuid,
        consumers.c.generation,
        consumers.c.created_at,
        consumers.c.updated_at,
        projects.c.external_id.label('project_id'),
        users.c.external_id.label('user_id'),
        consumer_types.c.name.label('consumer_type'),
    )
    .select_from(
        consumers.join(projects, projects.c.id == consumers.c.project_id)
        .join(users, users.c.id == consumers.c.user_id)
        .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
    )
    .order_by(consumers.c.uuid)
)


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerFilters:
    """The filters of a list of consumers; a consumer has to meet every one that is given.

    `provider` is the uuid of a provider that the consumer has allocations on. `is_typed` False
    stands for consumers without type, of which `consumer_type` cannot be the name. `older_than`
    is UTC without time zone: only consumers that were made before.
    """

    project_id: str | None = None
    user_id: str | None = None
    consumer_type: str | None = None
    is_typed: bool = True
    provider: str | None = None
    older_than: datetime.datetime | None = None


def list_page(
    connection: sa.Connection, filters: ConsumerFilters, after: str | None, limit: int
) -> Sequence[Row]:
    """Return the first `limit` consumers, by uuid, of those whose uuid comes after `after`."""
    statement = _LISTED.where(*_conditions(filters)).limit(limit)
    if after is not None:
        statement = statement.where(consumers.c.uuid > after)
    return connection.execute(statement).all()


def _conditions(filters: ConsumerFilters) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.project_id is not None:
        conditions.append(projects.c.external_id == filters.project_id)
    if filters.user_id is not None:
        conditions.append(users.c.external_id == filters.user_id)
    if filters.consumer_type is not None:
        conditions.append(consumer_types.c.name == filters.consumer_type)
    if not filters.is_typed:
        conditions.append(consumers.c.consumer_type_id.is_(None))
    if filters.provider is not None:
        holding = (
            sa.select(allocations.c.consumer_id)
            .join(
                resource_providers, resource_providers.c.id == allocations.c.resource_provider_id
            )
            .where(resource_providers.c.uuid == filters.provider)
        )
        conditions.append(consumers.c.uuid.in_(holding))
    if filters.older_than is not None:
        conditions.append(consumers.c.created_at < filters.older_than)
    return conditions
