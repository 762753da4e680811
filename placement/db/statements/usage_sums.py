# SPDX-License-Identifier: Apache-2.0
"""The statement that sums what is used in the whole cloud: by project, user, type or aggregate."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    placement_aggregates,
    projects,
    resource_classes,
    resource_provider_aggregates,
    users,
)

# The id that stands for consumers without type. Ids of types begin at 1.
WITHOUT_TYPE = 0


class SummedBy(enum.Enum):
    """What each sum is of."""

    PROJECT = 'project'
    USER = 'user'
    TYPE = 'type'
    AGGREGATE = 'aggregate'


class _Key(NamedTuple):
    """What allocations are joined with, and the id and the name of what each sum is of."""

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


def list_page(connection: sa.Connection, by: SummedBy, after: int, limit: int) -> Sequence[Row]:
    """Return what is used of each class, by the first `limit` ids above `after`.

    Rows of `id`, `name` (None: consumers without type), `consumers`, the number of those that
    have allocations, `resource_class` and `used`, in the order of the ids.
    """
    return connection.execute(_STATEMENTS[by], {'after': after, 'limit': limit}).all()


def _statement(key: _Key) -> sa.Select[int, str | None, int, str, int]:
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
    # Some drivers return a sum as Decimal; with the cast, all of them return an int.
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


_STATEMENTS = {by: _statement(key) for by, key in _KEYS.items()}
