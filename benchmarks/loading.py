# SPDX-License-Identifier: Apache-2.0
"""Loads a cloud into a service: through its API, or as rows where that would take too long.

Both services have the same tables, so rows can be written into either database. Both ways produce
the same cloud, which the comparison of the services' answers confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from benchmarks.client import Client
from benchmarks.clouds import PROJECT, USER, Cloud, Provider
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import migration, standard_names, tables

CONSUMERS_PER_REQUEST = 50
ROWS_PER_STATEMENT = 5_000

Rows = Iterable[Mapping[str, Any]]


def load_through_api(client: Client, cloud: Cloud) -> None:
    """Load the cloud as agents and a scheduler would.

    :raises Unexpected: the service refuses a part of it
    """
    for name in _custom_traits(cloud):
        client.send('PUT', f'/traits/{name}')
    for provider in cloud.providers:
        _send_provider(client, provider)
    for batch in _batches(cloud.consumers, CONSUMERS_PER_REQUEST):
        claims = {consumer.uuid: claim(consumer.allocations) for consumer in batch}
        client.send('POST', '/allocations', claims)


def claim(
    allocations: Mapping[str, Mapping[str, int]], generation: int | None = None
) -> dict[str, Any]:
    """The body that claims this for one consumer."""
    return {
        'allocations': {uuid: {'resources': used} for uuid, used in allocations.items()},
        'project_id': PROJECT,
        'user_id': USER,
        'consumer_generation': generation,
        'consumer_type': 'INSTANCE',
    }


def _send_provider(client: Client, provider: Provider) -> None:
    path = f'/resource_providers/{provider.uuid}'
    body: dict[str, Any] = {'uuid': provider.uuid, 'name': provider.name}
    if provider.parent is not None:
        body['parent_provider_uuid'] = provider.parent
    client.send('POST', '/resource_providers', body)
    generation = 0
    for part in ('inventories', 'traits', 'aggregates'):
        value: Any = getattr(provider, part)
        if value:
            body = {part: value, 'resource_provider_generation': generation}
            client.send('PUT', f'{path}/{part}', body)
            generation += 1


def make_schema(url: str) -> None:
    """Make the schema and the standard names in an empty database of this service."""
    database = Database(create_engine(url))
    migration.sync(database.engine)
    standard_names.sync(database)
    database.dispose()


def load_as_rows(database: str, cloud: Cloud) -> None:
    """Load the cloud into a database that has its schema and standard names, and nothing else.

    :raises sqlalchemy.exc.SQLAlchemyError: the database does not take it
    """
    engine = sa.create_engine(database)
    try:
        with engine.begin() as connection:
            for table, rows in _tables_of(connection, cloud):
                for batch in _batches(rows, ROWS_PER_STATEMENT):
                    connection.execute(sa.insert(table), list(batch))
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
            for batch in _batches(_inventory_rows(cloud, ids, classes), ROWS_PER_STATEMENT):
                connection.execute(sa.insert(inventories), list(batch))
    finally:
        engine.dispose()


def _tables_of(connection: sa.Connection, cloud: Cloud) -> Iterator[tuple[sa.Table, Rows]]:
    """Each table with its rows, in an order that foreign keys allow."""
    yield tables.traits, [{'name': name} for name in _custom_traits(cloud)]
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


def _custom_traits(cloud: Cloud) -> list[str]:
    names = {name for provider in cloud.providers for name in provider.traits}
    return sorted(name for name in names if name.startswith('CUSTOM_'))


def _ids_by_name(connection: sa.Connection, table: sa.Table) -> dict[str, int]:
    names = sa.select(table.c.name, table.c.id)
    return {name: number for name, number in connection.execute(names).all()}  # noqa: C416


def _set_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Let PostgreSQL, which does not see the ids that it was given, count on after them."""
    if connection.dialect.name == 'postgresql' and 'id' in table.c:
        connection.execute(
            sa.text(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                f'(SELECT coalesce(max(id), 1) FROM {table.name}))'
            )
        )


def _analyze(connection: sa.Connection) -> None:
    """Let MariaDB count the rows, which it would still take for none; it makes bad plans then."""
    if connection.dialect.name in ('mysql', 'mariadb'):
        for name in (tables.allocations.name, tables.inventories.name):
            connection.execute(sa.text(f'ANALYZE TABLE {name}'))


def _batches(rows: Iterable[Any], size: int) -> Iterator[Sequence[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
