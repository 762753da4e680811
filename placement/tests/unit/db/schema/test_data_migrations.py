# SPDX-License-Identifier: Apache-2.0
"""Completing what very old versions left incomplete, batch by batch."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.schema import data_migrations, tables

Rows = Callable[..., list[tuple[Any, ...]]]

providers = tables.resource_providers.c
consumers = tables.consumers.c


@pytest.fixture
def context(database: Database) -> RequestContext:
    return RequestContext(database=database)


def insert(database: Database, table: sa.Table, *rows: Mapping[str, object]) -> None:
    with database.writer() as connection:
        connection.execute(sa.insert(table), list(rows))


def insert_providers(database: Database, roots: dict[int, int | None]) -> None:
    insert(
        database,
        tables.resource_providers,
        *(
            {'id': key, 'uuid': f'uuid {key}', 'name': f'name {key}', 'root_provider_id': root}
            for key, root in roots.items()
        ),
    )


def insert_allocations(database: Database, *uuids: str) -> None:
    insert(
        database,
        tables.allocations,
        *(
            {'resource_provider_id': 1, 'consumer_id': uuid, 'resource_class_id': 0, 'used': 1}
            for uuid in uuids
        ),
    )


def create_consumers(context: RequestContext, max_count: int = 50) -> tuple[int, int]:
    return data_migrations.create_incomplete_consumers(
        context, max_count, project='nobody', user='no one'
    )


def test_providers_without_root_become_their_own_in_batches(
    database: Database, context: RequestContext, rows: Rows
) -> None:
    assert not data_migrations.has_missing_root_provider_ids(context)
    insert_providers(database, {1: 1, 2: 1, 3: None, 4: None, 5: None})
    assert data_migrations.has_missing_root_provider_ids(context)
    assert data_migrations.set_root_provider_ids(context, 2) == (2, 2)
    found = rows(providers.id, providers.root_provider_id, providers.updated_at.is_not(None))
    assert sorted(found) == [
        (1, 1, False),
        (2, 1, False),
        (3, 3, True),
        (4, 4, True),
        (5, None, False),
    ]
    assert data_migrations.set_root_provider_ids(context, 2) == (1, 1)
    assert data_migrations.set_root_provider_ids(context, 2) == (0, 0)
    assert not data_migrations.has_missing_root_provider_ids(context)


def test_one_batch_can_take_more_providers_than_a_statement_has_parameters(
    database: Database, context: RequestContext, rows: Rows
) -> None:
    insert_providers(database, dict.fromkeys(range(1, 40_001)))
    assert data_migrations.set_root_provider_ids(context, 1_000_000) == (40_000, 40_000)
    assert rows(sa.func.count(providers.root_provider_id)) == [(40_000,)]


def test_each_consumer_that_allocations_lack_is_created_once_in_batches(
    database: Database, context: RequestContext, rows: Rows
) -> None:
    assert create_consumers(context) == (0, 0)
    assert rows(tables.projects.c.id) == rows(tables.users.c.id) == []
    insert(database, tables.consumers, {'uuid': 'known', 'project_id': 9, 'user_id': 9})
    insert_allocations(database, 'lost', 'known', 'lost', 'other', 'third', 'third')
    assert data_migrations.count_incomplete_consumers(context) == 3
    assert create_consumers(context, 2) == (2, 2)
    assert data_migrations.count_incomplete_consumers(context) == 1
    assert create_consumers(context, 2) == (1, 1)
    assert create_consumers(context, 2) == (0, 0)
    assert sorted(rows(consumers.uuid)) == [('known',), ('lost',), ('other',), ('third',)]
    assert rows(tables.projects.c.external_id) == [('nobody',)]
    assert rows(tables.users.c.external_id) == [('no one',)]


def test_created_consumer_has_the_given_owner_and_no_type(
    database: Database, context: RequestContext, rows: Rows
) -> None:
    insert(database, tables.projects, {'external_id': 'somebody'})
    insert_allocations(database, 'lost')
    create_consumers(context)
    owner = (
        sa.select(tables.projects.c.external_id, tables.users.c.external_id)
        .join(tables.consumers, tables.projects.c.id == consumers.project_id)
        .join(tables.users, tables.users.c.id == consumers.user_id)
    )
    with database.reader() as connection:
        assert [tuple(row) for row in connection.execute(owner)] == [('nobody', 'no one')]
    assert rows(consumers.generation, consumers.consumer_type_id) == [(0, None)]
    assert rows(consumers.created_at.is_(None), consumers.updated_at) == [(False, None)]
