# SPDX-License-Identifier: Apache-2.0
"""The statements of scenarios: providers by name, and what consumers hold."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.schema.tables import allocations, resource_classes, resource_providers
from placement.insight.bulk.statements import ConsumerFilters, select_consumers
from placement.search.insight.sliced_work import give_way
from placement.search.what_if.scenario import Held

# What these hold, and ten consumers on each of these trees, is read in some milliseconds.
CONSUMERS_AT_A_TIME = 1_000
ROOTS_AT_A_TIME = 100

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
_there = allocations.alias()
_of_trees = (
    sa.select(_there.c.consumer_id)
    .join(resource_providers, resource_providers.c.id == _there.c.resource_provider_id)
    .where(resource_providers.c.root_provider_id.in_(sa.bindparam('roots', expanding=True)))
    .distinct()
    .subquery()
)
_HELD_OF_TREES = _HELD.join(_of_trees, _of_trees.c.consumer_id == allocations.c.consumer_id)


def list_named(connection: sa.Connection, names: Collection[str]) -> dict[str, str]:
    """Return the names of the providers with some names, by uuid."""
    columns = resource_providers.c.uuid, resource_providers.c.name
    rows = connection.execute(sa.select(*columns).where(columns[1].in_(names)))
    # A collation may take more names for the same.
    return {uuid: name for uuid, name in rows if name in names}


def list_held(connection: sa.Connection, consumers: Collection[str]) -> dict[str, Held]:
    """Return what some consumers hold, by their uuids; those that hold nothing are not there."""
    held, uuids = dict[str, Held](), sorted(consumers)
    for start in range(0, len(uuids), CONSUMERS_AT_A_TIME):
        some = uuids[start : start + CONSUMERS_AT_A_TIME]
        held |= _held(connection, _HELD.where(allocations.c.consumer_id.in_(some)))
        give_way()
    return held


def list_held_by(
    connection: sa.Connection, filters: ConsumerFilters, limit: int
) -> dict[str, Held]:
    """Return what those consumers hold that meet every filter, of so many at most."""
    chosen = select_consumers(filters).limit(limit).subquery()
    return _held(connection, _HELD.join(chosen, chosen.c.uuid == allocations.c.consumer_id))


def list_held_of_trees(connection: sa.Connection, roots: Collection[int]) -> dict[str, Held]:
    """Return what those consumers hold, of all trees, that hold of those with some root ids."""
    held, ids = dict[str, Held](), sorted(roots)
    for start in range(0, len(ids), ROOTS_AT_A_TIME):
        some = ids[start : start + ROOTS_AT_A_TIME]
        held |= _held(connection, _HELD_OF_TREES.params(roots=some))
        give_way()
    return held


def _held(connection: sa.Connection, statement: sa.Select[str, int, str, int]) -> dict[str, Held]:
    held: dict[str, dict[int, dict[str, int]]] = {}
    for consumer, provider_id, name, used in connection.execute(statement):
        held.setdefault(consumer, {}).setdefault(provider_id, {})[name] = used
    return dict(held)
