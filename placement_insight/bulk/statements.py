# SPDX-License-Identifier: Apache-2.0
"""SQL statements on consumers, sums of usage, and entries of the change feed."""

import datetime
import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.own_tables import change_feed, removed_changes
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    placement_aggregates,
    projects,
    resource_classes,
    resource_provider_aggregates,
    resource_providers,
    users,
)

_CONSUMERS = (
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


class ConsumerFilters(NamedTuple):
    """The filters of a list of consumers, all of which a consumer has to meet.

    `provider` is the uuid of a provider with allocations of the consumer. `is_typed` False selects
    consumers without type, and excludes a `consumer_type`. `older_than` selects consumers created
    before a time, and `newer_than` those created at a time or later, both UTC without time zone.
    """

    project_id: str | None = None
    user_id: str | None = None
    consumer_type: str | None = None
    is_typed: bool = True
    provider: str | None = None
    older_than: datetime.datetime | None = None
    newer_than: datetime.datetime | None = None
    uuids: frozenset[str] | None = None


def select_consumers(filters: ConsumerFilters) -> sa.Select[*tuple[Any, ...]]:
    """Select the consumers that meet every filter."""
    return _CONSUMERS.where(*_conditions(filters))


def list_consumers(
    connection: sa.Connection, filters: ConsumerFilters, after: str | None, limit: int
) -> Sequence[Row]:
    """Return the first `limit` consumers that meet every filter, by uuid, after a uuid."""
    statement = select_consumers(filters).limit(limit)
    if after is not None:
        statement = statement.where(consumers.c.uuid > after)
    return connection.execute(statement).all()


def _conditions(filters: ConsumerFilters) -> list[sa.ColumnElement[bool]]:
    equal = (
        (projects.c.external_id, filters.project_id),
        (users.c.external_id, filters.user_id),
        (consumer_types.c.name, filters.consumer_type),
    )
    conditions = [column == value for column, value in equal if value is not None]
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
    if filters.newer_than is not None:
        conditions.append(consumers.c.created_at >= filters.newer_than)
    if filters.uuids is not None:
        conditions.append(consumers.c.uuid.in_(filters.uuids))
    return conditions


# The id of the sum for consumers without type. Ids of types begin at 1.
WITHOUT_TYPE = 0


class SummedBy(enum.Enum):
    """The subjects of sums."""

    PROJECT = 'project'
    USER = 'user'
    TYPE = 'type'
    AGGREGATE = 'aggregate'


class _Key(NamedTuple):
    """The rows to sum, and the columns with the id and the name of the subject of each sum."""

    rows: sa.FromClause
    id: sa.ColumnElement[int]
    name: sa.ColumnElement[str | None]


_OF_CONSUMERS = allocations.join(consumers, consumers.c.uuid == allocations.c.consumer_id)
_KEYS = {
    SummedBy.PROJECT: _Key(
        _OF_CONSUMERS.join(projects, projects.c.id == consumers.c.project_id),
        projects.c.id,
        projects.c.external_id,
    ),
    SummedBy.USER: _Key(
        _OF_CONSUMERS.join(users, users.c.id == consumers.c.user_id),
        users.c.id,
        users.c.external_id,
    ),
    SummedBy.TYPE: _Key(
        _OF_CONSUMERS.outerjoin(
            consumer_types, consumer_types.c.id == consumers.c.consumer_type_id
        ),
        sa.func.coalesce(consumers.c.consumer_type_id, sa.literal_column(str(WITHOUT_TYPE))),
        consumer_types.c.name,
    ),
    SummedBy.AGGREGATE: _Key(
        _OF_CONSUMERS.join(
            resource_provider_aggregates,
            resource_provider_aggregates.c.resource_provider_id
            == allocations.c.resource_provider_id,
        ).join(
            placement_aggregates,
            placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
        ),
        placement_aggregates.c.id,
        placement_aggregates.c.uuid,
    ),
}


def list_usage_sums(
    connection: sa.Connection, by: SummedBy, after: int, limit: int
) -> Sequence[Row]:
    """Return the usage of each class for the first `limit` subjects with ids above `after`.

    Rows have `id`, `name` (None: consumers without type), `consumers` (the number of consumers
    with allocations), `resource_class` and `used`, in the order of `id`.
    """
    return connection.execute(_USAGE_SUMS[by], {'after': after, 'limit': limit}).all()


def _usage_sum(key: _Key) -> sa.Select[int, str | None, int, str, int]:
    page = (
        sa.select(
            key.id.label('id'), sa.func.count(sa.distinct(consumers.c.id)).label('consumers')
        )
        .select_from(key.rows)
        .where(key.id > sa.bindparam('after', type_=sa.BigInteger))
        .group_by(key.id)
        .order_by(key.id)
        .limit(sa.bindparam('limit', type_=sa.Integer))
        .subquery()
    )
    # Some drivers return a sum as Decimal; the cast makes it an int everywhere.
    used = sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger).label('used')
    return (
        sa.select(
            page.c.id,
            key.name.label('name'),
            page.c.consumers,
            resource_classes.c.name.label('resource_class'),
            used,
        )
        .select_from(
            key.rows.join(page, page.c.id == key.id).join(
                resource_classes, resource_classes.c.id == allocations.c.resource_class_id
            )
        )
        .group_by(
            page.c.id, key.name, page.c.consumers, resource_classes.c.id, resource_classes.c.name
        )
        .order_by(page.c.id, resource_classes.c.id)
    )


_USAGE_SUMS = {by: _usage_sum(key) for by, key in _KEYS.items()}


_OLDEST = sa.select(change_feed.c.at).order_by(change_feed.c.id).limit(1)


_ENTRIES = (
    sa.select(change_feed.c.id, change_feed.c.provider_id, change_feed.c.deleted_uuid)
    .where(change_feed.c.id > sa.bindparam('after'))
    .order_by(change_feed.c.id)
    .limit(sa.bindparam('limit'))
)


def list_entries(connection: sa.Connection, after: int, limit: int) -> Sequence[Row]:
    """Return the first `limit` entries of the feed with ids above `after`.

    Rows have `id`, `provider_id` and `deleted_uuid`, in the order of `id`.
    """
    return connection.execute(_ENTRIES, {'after': after, 'limit': limit}).all()


def find_first_entry(connection: sa.Connection, since: datetime.datetime) -> int | None:
    """Return the lowest id of the entries of a time or later, None if there are none."""
    lowest = sa.select(sa.func.min(change_feed.c.id)).where(change_feed.c.at >= since)
    return connection.scalar(lowest)


def has_all_since(connection: sa.Connection, since: datetime.datetime) -> bool:
    """True if the feed has every change of a time or later.

    It either goes back to that time, or is complete: no entry was removed, and no provider is
    older than the first entry.
    """
    oldest = connection.scalar(_OLDEST)
    if oldest is None or oldest <= since:
        return oldest is not None
    created_at = resource_providers.c.created_at
    is_older = sa.or_(created_at < oldest, created_at.is_(None))
    older = sa.select(resource_providers.c.id).where(is_older).exists()
    removed = sa.select(removed_changes.c.end_id).exists()
    return not connection.scalar(sa.select(sa.or_(older, removed)))
