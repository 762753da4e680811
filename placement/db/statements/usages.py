# SPDX-License-Identifier: Apache-2.0
"""SQL statements that sum allocations."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    users,
)

# Some drivers return a sum as Decimal; with the cast, all of them return an int.
_SUM = sa.cast(sa.func.coalesce(sa.func.sum(allocations.c.used), 0), sa.BigInteger).label('used')


def list_by_project(
    connection: sa.Connection, project_id: str, user_id: str | None
) -> Sequence[Row]:
    """Return the usage of a project, or of one user of it, by consumer type and class.

    Each row has the number of consumers of its type; one statement reads both at one moment.
    """
    usages = (
        _of_project(project_id, user_id)
        .add_columns(resource_classes.c.id, resource_classes.c.name.label('resource_class'), _SUM)
        .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
        .group_by(consumer_types.c.name, resource_classes.c.id, resource_classes.c.name)
        .subquery('usages')
    )
    number = sa.func.count(sa.distinct(consumers.c.id)).label('consumer_count')
    counts = (
        _of_project(project_id, user_id)
        .add_columns(number)
        .group_by(consumer_types.c.name)
        .subquery('counts')
    )
    is_same = counts.c.consumer_type.is_not_distinct_from(usages.c.consumer_type)
    columns = usages.c.consumer_type, usages.c.resource_class, usages.c.used
    return connection.execute(
        sa.select(*columns, counts.c.consumer_count)
        .join(counts, is_same)
        .order_by(usages.c.consumer_type, usages.c.id)
    ).all()


def _of_project(project_id: str, user_id: str | None) -> sa.Select[Any]:
    """Select the consumer types of the allocations of a project, or of one user of it."""
    statement = (
        sa.select(consumer_types.c.name.label('consumer_type'))
        .select_from(allocations)
        .join(consumers, consumers.c.uuid == allocations.c.consumer_id)
        .join(projects, projects.c.id == consumers.c.project_id)
        .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
        .where(projects.c.external_id == project_id)
    )
    if user_id is not None:
        statement = statement.join(users, users.c.id == consumers.c.user_id).where(
            users.c.external_id == user_id
        )
    return statement
