# SPDX-License-Identifier: Apache-2.0
"""The checksums of the audit: they are equal, and others when anything changes."""

import random
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from placement.db.engine.database import Database
from placement.db.schema import tables
from placement.feed.audit import PRIME, Checksums, checksums_in, checksums_of
from placement.feed.loader import load_providers
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import examples

Row = dict[str, Any]

# The id of what is no longer there: no foreign key keeps rows from referring to it.
GONE = 99_999
CLASSES = (0, 2, 10000, GONE)
UNITS = st.integers(1, 2**31 - 1)
RATIOS = st.one_of(st.sampled_from([1.0, 16.0, 0.1]), st.floats(0.01, 1000))


def insert(connection: sa.Connection, table: sa.Table, *rows: Row) -> None:
    if rows:
        connection.execute(sa.insert(table), list(rows))


def add_provider(
    connection: sa.Connection, provider_id: int, parent: int | None = None, root: int | None = None
) -> None:
    row = {
        'id': provider_id,
        'uuid': f'provider {provider_id}',
        'name': f'provider {provider_id}',
        'parent_provider_id': parent,
        'root_provider_id': provider_id if root is None else root,
    }
    insert(connection, tables.resource_providers, row)


def inventory(provider_id: int, class_id: int, **members: Any) -> Row:
    usual = {
        'total': 8,
        'reserved': 1,
        'min_unit': 1,
        'max_unit': 8,
        'step_size': 1,
        'allocation_ratio': 1.5,
    }
    return {'resource_provider_id': provider_id, 'resource_class_id': class_id, **usual, **members}


def allocation(provider_id: int, class_id: int, used: int) -> Row:
    return {
        'resource_provider_id': provider_id,
        'resource_class_id': class_id,
        'consumer_id': 'consumer',
        'used': used,
    }


def both(connection: sa.Connection) -> tuple[Checksums, Checksums]:
    """The checksums of the snapshot that would be loaded now, and of the tables."""
    return checksums_of(Snapshot.of(load_providers(connection))), checksums_in(connection)


@hypothesis.settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(data=st.data(), chance=st.randoms(use_true_random=False))
def test_snapshot_and_tables_have_the_same_checksums(
    standard_database: Database, data: st.DataObject, chance: random.Random
) -> None:
    with standard_database.engine.connect() as connection:
        ids = fill(connection, data, chance)
        of_snapshot, of_tables = both(connection)
        some = checksums_of(Snapshot.of(load_providers(connection, [*ids, GONE])))

    assert of_snapshot == some == of_tables


def fill(connection: sa.Connection, data: st.DataObject, chance: random.Random) -> list[int]:
    """Write any cloud, and what is left over of others; the ids of its providers."""
    custom = {'id': 10000, 'name': 'CUSTOM_A'}
    insert(connection, tables.resource_classes, custom)
    aggregates = [{'id': number, 'uuid': f'aggregate {number}'} for number in (1, 2, 3)]
    insert(connection, tables.placement_aggregates, *aggregates)
    ids = data.draw(st.lists(st.integers(1, PRIME - 1), max_size=8, unique=True))
    roots: dict[int, int] = {}
    for provider_id in ids:
        parent = chance.choice([None, *roots])
        roots[provider_id] = roots[parent] if parent else provider_id
        add_provider(connection, provider_id, parent, roots[provider_id])
        for trait_id in chance.sample((1, 2, 3), chance.randint(0, 3)):
            insert(
                connection,
                tables.resource_provider_traits,
                {'resource_provider_id': provider_id, 'trait_id': trait_id},
            )
    for provider_id in dict.fromkeys((*ids, GONE)):
        fill_provider(connection, provider_id, data, chance)
    return ids


def fill_provider(
    connection: sa.Connection, provider_id: int, data: st.DataObject, chance: random.Random
) -> None:
    for aggregate_id in chance.sample((1, 2, 3, GONE), chance.randint(0, 4)):
        insert(
            connection,
            tables.resource_provider_aggregates,
            {'resource_provider_id': provider_id, 'aggregate_id': aggregate_id},
        )
    for class_id in chance.sample(CLASSES, chance.randint(0, 4)):
        members = {
            name: data.draw(UNITS) for name in ('total', 'min_unit', 'max_unit', 'step_size')
        }
        row = inventory(provider_id, class_id, **members)
        row['reserved'] = data.draw(st.integers(0, 2**31 - 1))
        row['allocation_ratio'] = data.draw(RATIOS)
        insert(connection, tables.inventories, row)
    # Of classes, too, that the provider has no inventory of.
    for class_id in chance.sample(CLASSES, chance.randint(0, 4)):
        used = data.draw(UNITS)
        insert(connection, tables.allocations, *[allocation(provider_id, class_id, used)] * 2)


@pytest.fixture
def known(connection: sa.Connection) -> Checksums:
    """The checksums of a small cloud, before somebody changes it."""
    add_provider(connection, 1)
    add_provider(connection, 2, parent=1, root=1)
    add_provider(connection, 3, parent=2, root=1)
    add_provider(connection, 4)
    add_provider(connection, 5)
    # More than one of each, so that they can be exchanged.
    rows = [inventory(1, 0), inventory(2, 0, total=9), inventory(2, 2, allocation_ratio=2.0)]
    insert(connection, tables.inventories, *rows)
    insert(connection, tables.allocations, allocation(1, 0, 3), allocation(2, 0, 4))
    insert(
        connection,
        tables.resource_provider_traits,
        {'resource_provider_id': 1, 'trait_id': 1},
        {'resource_provider_id': 4, 'trait_id': 2},
    )
    aggregates = [{'id': number, 'uuid': f'aggregate {number}'} for number in (1, 2)]
    insert(connection, tables.placement_aggregates, *aggregates)
    insert(
        connection,
        tables.resource_provider_aggregates,
        {'resource_provider_id': 1, 'aggregate_id': 1},
        {'resource_provider_id': 4, 'aggregate_id': 2},
    )
    of_snapshot, of_tables = both(connection)
    assert of_snapshot == of_tables
    return of_snapshot


VISIBLE_CHANGES = [
    # Providers come and go.
    "INSERT INTO resource_providers (id, uuid, name, root_provider_id) VALUES (6, 'f', 'f', 6)",
    'DELETE FROM resource_providers WHERE id = 5',
    'UPDATE resource_providers SET id = 6, root_provider_id = 6 WHERE id = 5',
    # They move.
    'UPDATE resource_providers SET parent_provider_id = 1 WHERE id = 3',
    'UPDATE resource_providers SET parent_provider_id = 4, root_provider_id = 4 WHERE id = 3',
    'UPDATE resource_providers SET root_provider_id = 4 WHERE id = 2',
    'UPDATE resource_providers SET parent_provider_id = NULL WHERE id = 3',
    "UPDATE resource_providers SET uuid = 'another' WHERE id = 5",
    # They lose all that they have of a kind.
    *(
        f'DELETE FROM {table} WHERE resource_provider_id = 1'
        for table in (
            'inventories', 'allocations', 'resource_provider_traits',
            'resource_provider_aggregates',
        )
    ),
    # Inventories come, go, move and change.
    (
        'INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved,'
        ' min_unit, max_unit, step_size, allocation_ratio) VALUES (4, 0, 8, 1, 1, 8, 1, 1.5)'
    ),
    *(
        f'UPDATE inventories SET {change} WHERE resource_provider_id = 1'
        for change in (
            'resource_provider_id = 4', 'resource_class_id = 1', 'total = 9', 'reserved = 2',
            'min_unit = 2', 'max_unit = 7', 'step_size = 2', 'allocation_ratio = 1.5000001',
        )
    ),
    'UPDATE inventories SET total = total + 1, reserved = reserved + 1',
    # Two exchange what they have.
    'UPDATE inventories SET total = 17 - total WHERE resource_class_id = 0',
    (
        'UPDATE inventories SET allocation_ratio = 3.5 - allocation_ratio'
        ' WHERE resource_provider_id = 2'
    ),
    # Usage comes, goes, moves and changes.
    (
        'INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used)'
        " VALUES (2, 2, 'consumer', 1)"
    ),
    'UPDATE allocations SET used = used + 1 WHERE resource_provider_id = 1',
    'UPDATE allocations SET used = 7 - used',
    'UPDATE allocations SET resource_provider_id = 3 - resource_provider_id',
    'UPDATE allocations SET resource_class_id = 2 WHERE resource_provider_id = 2',
    # Traits and aggregates come, go, move, and are others.
    'INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (1, 2)',
    'UPDATE resource_provider_traits SET resource_provider_id = 3 WHERE resource_provider_id = 1',
    'UPDATE resource_provider_traits SET trait_id = 3 WHERE resource_provider_id = 1',
    'UPDATE resource_provider_traits SET trait_id = 3 - trait_id',
    "UPDATE traits SET name = 'CUSTOM_RENAMED' WHERE id = 1",
    'INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (1, 2)',
    (
        'UPDATE resource_provider_aggregates SET resource_provider_id = 3'
        ' WHERE resource_provider_id = 1'
    ),
    'UPDATE resource_provider_aggregates SET aggregate_id = 3 - aggregate_id',
    "UPDATE placement_aggregates SET uuid = 'another' WHERE id = 1",
    "UPDATE resource_classes SET name = 'CUSTOM_RENAMED' WHERE id = 0",
]  # fmt: skip


@pytest.mark.parametrize('statement', VISIBLE_CHANGES)
def test_a_change_that_a_search_can_see_changes_the_checksums(
    connection: sa.Connection, known: Checksums, statement: str
) -> None:
    connection.execute(sa.text(statement))

    of_snapshot, of_tables = both(connection)
    assert of_tables == of_snapshot
    assert of_tables != known


@pytest.mark.parametrize(
    'statement',
    [
        "UPDATE resource_providers SET name = 'another', generation = 7 WHERE id = 1",
        "UPDATE allocations SET consumer_id = 'another'",
        # A class without inventory on the provider.
        (
            'INSERT INTO allocations (resource_provider_id, resource_class_id, consumer_id, used)'
            " VALUES (3, 2, 'consumer', 1)"
        ),
    ],
)
def test_what_no_search_can_see_does_not_change_the_checksums(
    connection: sa.Connection, known: Checksums, statement: str
) -> None:
    connection.execute(sa.text(statement))

    assert checksums_in(connection) == known


@pytest.mark.parametrize('distance', [1, 997, 997 * 1009, 2**31 - 20 - 7])
def test_a_move_between_any_two_providers_changes_the_checksums(
    connection: sa.Connection, distance: int
) -> None:
    for provider_id in (7, 7 + distance):
        add_provider(connection, provider_id)
        insert(connection, tables.inventories, inventory(provider_id, 0))
    insert(connection, tables.allocations, allocation(7, 0, 3))
    before = both(connection)
    connection.execute(sa.text(f'UPDATE allocations SET resource_provider_id = {7 + distance}'))

    of_snapshot, of_tables = both(connection)
    assert of_tables == of_snapshot
    assert of_tables != before[0]


def test_opposite_moves_between_neighbours_change_the_checksums(
    connection: sa.Connection,
) -> None:
    for provider_id in (5, 6, 7, 8):
        add_provider(connection, provider_id)
        insert(connection, tables.inventories, inventory(provider_id, 0))
    insert(connection, tables.allocations, allocation(5, 0, 3), allocation(8, 0, 3))
    before = checksums_in(connection)
    connection.execute(
        sa.text('UPDATE allocations SET resource_provider_id = 6 WHERE resource_provider_id = 5')
    )
    connection.execute(
        sa.text('UPDATE allocations SET resource_provider_id = 7 WHERE resource_provider_id = 8')
    )

    assert checksums_in(connection) != before


def test_checksums_of_many_large_inventories_fit(connection: sa.Connection) -> None:
    largest = 2**31 - 1
    for number in range(1, 6):
        add_provider(connection, PRIME - number)
        row = inventory(PRIME - number, 0, total=largest, max_unit=largest)
        insert(connection, tables.inventories, row)
        rows = [allocation(PRIME - number, 0, largest)] * 50
        insert(connection, tables.allocations, *rows)

    of_snapshot, of_tables = both(connection)
    assert of_snapshot == of_tables
    assert ('used', 'VCPU') in of_tables
