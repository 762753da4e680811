# SPDX-License-Identifier: Apache-2.0
"""What is read of providers, whether of all of them or of some."""

from collections.abc import Collection

import pytest
import sqlalchemy as sa

from placement.db.schema import tables
from placement.feed.loader import load_providers
from placement.search.model.provider import ProviderRow

VCPU, MEMORY_MB = 0, 1
GONE = 99_999
#: All providers, or the same ones by their ids.
EVERY = (None, [1, 2, 3])


@pytest.fixture
def connection(connection: sa.Connection) -> sa.Connection:
    """A transaction that sees a host, a provider beneath it, and one that has nothing."""
    for number, parent in ((1, None), (2, 1), (3, None)):
        connection.execute(
            sa.insert(tables.resource_providers).values(
                id=number,
                uuid=f'uuid {number}',
                name=f'name {number}',
                parent_provider_id=parent,
                root_provider_id=parent or number,
            )
        )
    for trait_id, name in ((50_001, 'CUSTOM_A'), (50_002, 'CUSTOM_B')):
        connection.execute(sa.insert(tables.traits).values(id=trait_id, name=name))
        for number in (1, 2):
            link(connection, tables.resource_provider_traits, number, trait_id=trait_id)
    for number in (7, 8):
        row = {'id': number, 'uuid': f'aggregate {number}'}
        connection.execute(sa.insert(tables.placement_aggregates).values(row))
        link(connection, tables.resource_provider_aggregates, 1, aggregate_id=number)
    add_inventory(connection, 2, VCPU, 8)
    add_inventory(connection, 1, VCPU, 16)
    add_inventory(connection, 1, MEMORY_MB, 4096)
    allocate(connection, 1, VCPU, 3)
    allocate(connection, 1, VCPU, 4)
    return connection


def link(connection: sa.Connection, table: sa.Table, provider_id: int, **other: int) -> None:
    connection.execute(sa.insert(table).values(resource_provider_id=provider_id, **other))


def add_inventory(connection: sa.Connection, provider_id: int, class_id: int, total: int) -> None:
    connection.execute(
        sa.insert(tables.inventories).values(
            resource_provider_id=provider_id,
            resource_class_id=class_id,
            total=total,
            reserved=1,
            min_unit=2,
            max_unit=3,
            step_size=4,
            allocation_ratio=1.5,
        )
    )


def allocate(connection: sa.Connection, provider_id: int, class_id: int, used: int) -> None:
    connection.execute(
        sa.insert(tables.allocations).values(
            resource_provider_id=provider_id,
            resource_class_id=class_id,
            consumer_id=f'consumer of {used}',
            used=used,
        )
    )


def loaded(connection: sa.Connection, ids: Collection[int] | None) -> dict[int, ProviderRow]:
    """The rows by id, with names in order."""
    return {
        row.id: row._replace(traits=sorted(row.traits), aggregates=sorted(row.aggregates))
        for row in load_providers(connection, ids)
    }


@pytest.mark.parametrize('ids', EVERY)
def test_providers_have_all_that_a_search_can_see(
    connection: sa.Connection, ids: Collection[int] | None
) -> None:
    inventories = {
        'VCPU': (16, 1, 2, 3, 4, 1.5, 7),
        'MEMORY_MB': (4096, 1, 2, 3, 4, 1.5, 0),
    }
    names, aggregates = ['CUSTOM_A', 'CUSTOM_B'], ['aggregate 7', 'aggregate 8']
    beneath = {'VCPU': (8, 1, 2, 3, 4, 1.5, 0)}
    assert loaded(connection, ids) == {
        1: (1, 'uuid 1', None, 1, inventories, names, aggregates),
        2: (2, 'uuid 2', 1, 1, beneath, names, []),
        3: (3, 'uuid 3', None, 3, {}, [], []),
    }


def test_some_are_read_without_the_others(connection: sa.Connection) -> None:
    every = loaded(connection, None)
    assert loaded(connection, [2, 3, GONE]) == {2: every[2], 3: every[3]}


def test_of_all_providers_those_with_the_same_names_share_them(connection: sa.Connection) -> None:
    rows = {row.id: row for row in load_providers(connection)}
    assert rows[1].traits is rows[2].traits


@pytest.mark.parametrize('ids', EVERY)
def test_rows_that_refer_to_what_is_gone_are_left_out(
    connection: sa.Connection, ids: Collection[int] | None
) -> None:
    """No foreign key keeps them from being there."""
    before = loaded(connection, ids)
    for provider_id, class_id in ((1, GONE), (3, GONE), (GONE, VCPU)):
        add_inventory(connection, provider_id, class_id, 1)
    allocate(connection, 1, GONE, 1)
    allocate(connection, GONE, VCPU, 1)
    for provider_id in (1, 2, GONE):
        link(connection, tables.resource_provider_aggregates, provider_id, aggregate_id=GONE)
    link(connection, tables.resource_provider_aggregates, GONE, aggregate_id=7)
    assert loaded(connection, ids) == before
