# SPDX-License-Identifier: Apache-2.0
"""SQL statements of scenarios: providers by name, and allocations of consumers."""

from collections.abc import Collection, Set

import sqlalchemy as sa

from placement.db.schema.tables import allocations, resource_classes, resource_providers
from placement_insight.bulk.statements import ConsumerFilters, select_consumers
from placement_insight.search.sliced_work import give_way
from placement_insight.search.what_if.scenario import Held

# Maximum number of consumers, and of trees, in one statement, which then takes milliseconds.
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
    # Without allocations on missing providers, which no snapshot has.
    .join(resource_providers, resource_providers.c.id == allocations.c.resource_provider_id)
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


def list_named(connection: sa.Connection, names: Set[str]) -> dict[str, str]:
    """Return those of some names that providers have, by uuid."""
    columns = resource_providers.c.uuid, resource_providers.c.name
    rows = connection.execute(sa.select(*columns).where(columns[1].in_(names)))
    # A collation may match other spellings.
    return {uuid: name for uuid, name in rows if name in names}


def list_held(connection: sa.Connection, consumers: Collection[str]) -> dict[str, Held]:
    """Return the allocations of some consumers, by uuid; those without any are missing."""
    held, uuids = dict[str, Held](), sorted(consumers)
    for start in range(0, len(uuids), CONSUMERS_AT_A_TIME):
        some = uuids[start : start + CONSUMERS_AT_A_TIME]
        held |= _held(connection, _HELD.where(allocations.c.consumer_id.in_(some)))
        give_way()
    return held


def list_held_by(
    connection: sa.Connection, filters: ConsumerFilters, limit: int
) -> dict[str, Held]:
    """Return the allocations of at most `limit` consumers that meet every filter."""
    chosen = select_consumers(filters).limit(limit).subquery()
    return _held(connection, _HELD.join(chosen, chosen.c.uuid == allocations.c.consumer_id))


def list_held_of_trees(connection: sa.Connection, roots: Collection[int]) -> dict[str, Held]:
    """Return all allocations of the consumers with allocations on some trees, given by root id."""
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
