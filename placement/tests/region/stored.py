# SPDX-License-Identifier: Apache-2.0
"""The contents of a region's database, read without the service."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import Any, NamedTuple

import sqlalchemy as sa

# Seconds that a read waits for the database.
TIMEOUT = 10
PROVIDERS = (
    'SELECT one.id, one.uuid, one.name, one.generation, parent.uuid, root.uuid'
    ' FROM resource_providers one'
    ' JOIN resource_providers root ON root.id = one.root_provider_id'
    ' LEFT JOIN resource_providers parent ON parent.id = one.parent_provider_id'
)
INVENTORIES = (
    'SELECT resource_provider_id, name, (total - reserved) * allocation_ratio'
    ' FROM inventories JOIN resource_classes ON resource_classes.id = resource_class_id'
)
ALLOCATIONS = (
    'SELECT resource_provider_id, consumer_id, name, used'
    ' FROM allocations JOIN resource_classes ON resource_classes.id = resource_class_id'
)
TRAITS = (
    'SELECT resource_provider_id, name'
    ' FROM resource_provider_traits JOIN traits ON traits.id = trait_id'
)
AGGREGATES = (
    'SELECT resource_provider_id, uuid FROM resource_provider_aggregates'
    ' JOIN placement_aggregates ON placement_aggregates.id = aggregate_id'
)


class Stored(NamedTuple):
    """The cloud at one moment.

    `providers` are as the feed shows them, with their capacities as `inventories`. `allocations`
    are by provider, consumer and class.
    """

    providers: dict[str, dict[str, Any]]
    allocations: dict[str, dict[str, dict[str, int]]]


def read(url: str, parameters: str = '') -> Stored | None:
    """Read all of it in one transaction; None if the database does not answer.

    `parameters` are the parameters of the service's connections.
    """
    given = dict(one.split('=', 1) for one in parameters.split('&') if one)
    parsed = sa.make_url(url).update_query_dict(given)
    engine = sa.create_engine(parsed, poolclass=sa.NullPool, connect_args=_bounds(parsed))
    if engine.dialect.name != 'sqlite':
        engine = engine.execution_options(isolation_level='REPEATABLE READ')
    with contextlib.suppress(sa.exc.DBAPIError), engine.begin() as connection:
        return _read(connection)
    return None


def _bounds(url: sa.URL) -> dict[str, Any]:
    """The arguments with which a connection waits for a node that does not answer, for a time."""
    if url.get_backend_name() == 'mysql':
        return {'connect_timeout': TIMEOUT, 'read_timeout': TIMEOUT}
    if url.get_backend_name() == 'postgresql':
        return {'connect_timeout': TIMEOUT, 'tcp_user_timeout': TIMEOUT * 1000}
    return {}


def _read(connection: sa.Connection) -> Stored:
    def rows(statement: str) -> list[Any]:
        return list(connection.execute(sa.text(statement)))

    uuids, providers = dict[int, str](), dict[str, dict[str, Any]]()
    for key, uuid, name, generation, parent, root in rows(PROVIDERS):
        uuids[key] = uuid
        providers[uuid] = {
            'uuid': uuid, 'name': name, 'generation': generation, 'parent_provider_uuid': parent,
            'root_provider_uuid': root, 'usages': {}, 'inventories': {}, 'traits': [],
            'aggregates': [],
        }  # fmt: skip
    for key, name, capacity in rows(INVENTORIES):
        providers[uuids[key]]['inventories'][name] = int(capacity)
    held = defaultdict[str, dict[str, dict[str, int]]](lambda: defaultdict(dict))
    for key, consumer, name, used in rows(ALLOCATIONS):
        held[uuids[key]][consumer][name] = used
        usages = providers[uuids[key]]['usages']
        usages[name] = usages.get(name, 0) + used
    for key, trait in rows(TRAITS):
        providers[uuids[key]]['traits'].append(trait)
    for key, aggregate in rows(AGGREGATES):
        providers[uuids[key]]['aggregates'].append(aggregate)
    return Stored({uuid: normal(one) for uuid, one in providers.items()}, held)


def normal(provider: dict[str, Any]) -> dict[str, Any]:
    """A provider as both the feed and the database show it."""
    return {
        **provider,
        'traits': sorted(provider['traits']),
        'aggregates': sorted(provider['aggregates']),
        'usages': {name: used for name, used in provider['usages'].items() if used},
        'inventories': {
            name: one if isinstance(one, int) else capacity(one)
            for name, one in provider['inventories'].items()
        },
    }


def capacity(inventory: dict[str, Any]) -> int:
    """The amount of a class that can be allocated."""
    return int((inventory['total'] - inventory['reserved']) * inventory['allocation_ratio'])
