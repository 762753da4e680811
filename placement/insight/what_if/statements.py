# SPDX-License-Identifier: Apache-2.0
"""The statements of scenarios: providers by name, and what consumers hold."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.schema.tables import allocations, resource_classes, resource_providers
from placement.insight.bulk.statements import ConsumerFilters, select_consumers
from placement.search.what_if.scenario import Held

_HELD = (
    sa.select(
        allocations.c.consumer_id,
        allocations.c.resource_provider_id,
        resource_classes.c.name,
        allocations.c.used,
    )
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .order_by(allocations.c.id)
)


def list_named(connection: sa.Connection, names: Collection[str]) -> dict[str, str]:
    """Return the names of the providers with some names, by uuid."""
    columns = resource_providers.c.uuid, resource_providers.c.name
    rows = connection.execute(sa.select(*columns).where(columns[1].in_(names)))
    # A collation may take more names for the same.
    return {uuid: name for uuid, name in rows if name in names}


def list_held(connection: sa.Connection, consumers: Collection[str]) -> dict[str, Held]:
    """Return what some consumers hold, by their uuids; those that hold nothing are not there."""
    return _held(connection, _HELD.where(allocations.c.consumer_id.in_(consumers)))


def list_held_by(
    connection: sa.Connection, filters: ConsumerFilters, limit: int
) -> dict[str, Held]:
    """Return what those consumers hold that meet every filter, of so many at most."""
    chosen = select_consumers(filters).limit(limit).subquery()
    return _held(connection, _HELD.join(chosen, chosen.c.uuid == allocations.c.consumer_id))


def _held(connection: sa.Connection, statement: sa.Select[str, int, str, int]) -> dict[str, Held]:
    held: dict[str, dict[int, dict[str, int]]] = {}
    for consumer, provider_id, name, used in connection.execute(statement):
        held.setdefault(consumer, {}).setdefault(provider_id, {})[name] = used
    return dict(held)
