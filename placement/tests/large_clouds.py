# SPDX-License-Identifier: Apache-2.0
"""Clouds as data that are too large to be made over the API, and how they are written as rows."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.schema import tables

HOST_TRAITS = ('COMPUTE_NODE', 'COMPUTE_TRUSTED_CERTS', 'HW_CPU_X86_AVX', 'HW_CPU_X86_SSE42')
#: Of all consumers.
PROJECT, USER = 'project', 'user'
ROWS_PER_STATEMENT = 5_000

_NAMESPACE = uuid.UUID('6f0b3a94-5d0e-4b0e-9d55-6a3e7b8a1c11')

Rows = Iterable[Mapping[str, Any]]


class Provider(NamedTuple):
    """A resource provider; its parent comes before it in a cloud."""

    uuid: str
    name: str
    inventories: Mapping[str, Mapping[str, Any]]
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    parent: str | None = None


class Consumer(NamedTuple):
    """A consumer with its allocations by provider and resource class."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]


class Cloud(NamedTuple):
    """Providers, and consumers of their resources."""

    name: str
    providers: tuple[Provider, ...]
    consumers: tuple[Consumer, ...] = ()

    @property
    def custom_traits(self) -> list[str]:
        """The names of the traits that the service does not have from the start."""
        names = {name for provider in self.providers for name in provider.traits}
        return sorted(name for name in names if name.startswith('CUSTOM_'))


def uuid_of(name: str) -> str:
    """The same uuid for the same name, every time."""
    return str(uuid.uuid5(_NAMESPACE, name))


def inventory(total: int, ratio: float = 1.0, reserved: int = 0) -> dict[str, Any]:
    """An inventory with all its members, so that it equals the one read back."""
    return {
        'total': total, 'reserved': reserved, 'min_unit': 1, 'max_unit': total, 'step_size': 1,
        'allocation_ratio': ratio,
    }  # fmt: skip


def trees(count: int) -> Cloud:
    """Trees of seven providers: the host, its two NUMA nodes, two network cards under each."""
    providers = tuple(provider for number in range(count) for provider in _tree(number))
    return Cloud(f'{count} trees of seven', providers)


def _tree(number: int) -> Iterator[Provider]:
    root = uuid_of(f'tree {number}')
    yield Provider(root, f'tree-{number}', {'DISK_GB': inventory(2000)}, HOST_TRAITS)
    for side in range(2):
        node = uuid_of(f'tree {number} node {side}')
        cores = {'VCPU': inventory(32, 4.0), 'MEMORY_MB': inventory(131072)}
        yield Provider(node, f'tree-{number}-{side}', cores, ('HW_NUMA_ROOT',), parent=root)
        for network in 'AB':
            card = f'tree-{number}-{side}-{network}'
            ports = {'SRIOV_NET_VF': inventory(8)}
            yield Provider(uuid_of(card), card, ports, (f'CUSTOM_PHYSNET_{network}',), parent=node)


def load_as_rows(database: str, cloud: Cloud) -> None:
    """Load the cloud into a database that has its schema and standard names, and nothing else.

    :raises sqlalchemy.exc.SQLAlchemyError: the database does not take it
    """
    engine = sa.create_engine(database)
    try:
        with engine.begin() as connection:
            for table, rows in _tables_of(connection, cloud):
                for batch in _batches(rows):
                    connection.execute(sa.insert(table), batch)
                _set_sequence(connection, table)
        with engine.begin() as connection:
            _analyze(connection)
    finally:
        engine.dispose()


def replace_inventories(database: str, cloud: Cloud) -> None:
    """Give the providers of a cloud other inventories, of the same classes, behind the service."""
    engine = sa.create_engine(database)
    providers, inventories = tables.resource_providers.c, tables.inventories
    try:
        with engine.begin() as connection:
            classes = _ids_by_name(connection, tables.resource_classes)
            rows = connection.execute(sa.select(providers.uuid, providers.id))
            ids = {uuid: number for uuid, number in rows}  # noqa: C416
            connection.execute(sa.delete(inventories))
            for batch in _batches(_inventory_rows(cloud, ids, classes)):
                connection.execute(sa.insert(inventories), batch)
    finally:
        engine.dispose()


def _tables_of(connection: sa.Connection, cloud: Cloud) -> Iterator[tuple[sa.Table, Rows]]:
    """Each table with its rows, in an order that foreign keys allow."""
    yield tables.traits, [{'name': name} for name in cloud.custom_traits]
    traits = _ids_by_name(connection, tables.traits)
    classes = _ids_by_name(connection, tables.resource_classes)
    ids = {provider.uuid: number for number, provider in enumerate(cloud.providers, 1)}
    yield tables.resource_providers, _provider_rows(cloud, ids)
    yield tables.inventories, _inventory_rows(cloud, ids, classes)
    yield (
        tables.resource_provider_traits,
        (
            {'resource_provider_id': ids[provider.uuid], 'trait_id': traits[name]}
            for provider in cloud.providers
            for name in provider.traits
        ),
    )
    names = sorted({uuid for provider in cloud.providers for uuid in provider.aggregates})
    aggregates = {uuid: number for number, uuid in enumerate(names, 1)}
    yield tables.placement_aggregates, [{'id': aggregates[uuid], 'uuid': uuid} for uuid in names]
    yield (
        tables.resource_provider_aggregates,
        (
            {'resource_provider_id': ids[provider.uuid], 'aggregate_id': aggregates[uuid]}
            for provider in cloud.providers
            for uuid in provider.aggregates
        ),
    )
    yield from _tables_of_consumers(cloud, ids, classes)


def _tables_of_consumers(
    cloud: Cloud, ids: Mapping[str, int], classes: Mapping[str, int]
) -> Iterator[tuple[sa.Table, Rows]]:
    if not cloud.consumers:
        return
    yield tables.projects, [{'id': 1, 'external_id': PROJECT}]
    yield tables.users, [{'id': 1, 'external_id': USER}]
    yield tables.consumer_types, [{'id': 1, 'name': 'INSTANCE'}]
    yield (
        tables.consumers,
        (
            {'uuid': c.uuid, 'project_id': 1, 'user_id': 1, 'generation': 1, 'consumer_type_id': 1}
            for c in cloud.consumers
        ),
    )
    yield (
        tables.allocations,
        (
            {
                'consumer_id': consumer.uuid,
                'resource_provider_id': ids[uuid],
                'resource_class_id': classes[name],
                'used': used,
            }
            for consumer in cloud.consumers
            for uuid, resources in consumer.allocations.items()
            for name, used in resources.items()
        ),
    )


def _provider_rows(cloud: Cloud, ids: Mapping[str, int]) -> Rows:
    roots: dict[str, int] = {}
    for provider in cloud.providers:
        parent = provider.parent
        roots[provider.uuid] = ids[provider.uuid] if parent is None else roots[parent]
        yield {
            'id': ids[provider.uuid],
            'uuid': provider.uuid,
            'name': provider.name,
            'generation': 1,
            'root_provider_id': roots[provider.uuid],
            'parent_provider_id': None if parent is None else ids[parent],
        }


def _inventory_rows(cloud: Cloud, ids: Mapping[str, int], classes: Mapping[str, int]) -> Rows:
    for provider in cloud.providers:
        for name, inventory in provider.inventories.items():
            yield {
                'resource_provider_id': ids[provider.uuid],
                'resource_class_id': classes[name],
                **inventory,
            }


def _ids_by_name(connection: sa.Connection, table: sa.Table) -> dict[str, int]:
    names = sa.select(table.c.name, table.c.id)
    return {name: number for name, number in connection.execute(names).all()}  # noqa: C416


def _set_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Set the sequence of PostgreSQL, which ignores inserted ids, to the next id."""
    if connection.dialect.name == 'postgresql' and 'id' in table.c:
        connection.execute(
            sa.text(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                f'(SELECT coalesce(max(id), 1) FROM {table.name}))'
            )
        )


def _analyze(connection: sa.Connection) -> None:
    """Update the statistics of MariaDB, which would plan for empty tables otherwise."""
    if connection.dialect.name in ('mysql', 'mariadb'):
        for name in (tables.allocations.name, tables.inventories.name):
            connection.execute(sa.text(f'ANALYZE TABLE {name}'))


def _batches(rows: Rows) -> Iterator[list[Mapping[str, Any]]]:
    remaining = iter(rows)
    while batch := list(itertools.islice(remaining, ROWS_PER_STATEMENT)):
        yield batch
