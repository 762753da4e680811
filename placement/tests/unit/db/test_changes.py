# SPDX-License-Identifier: Apache-2.0
"""A transaction that writes rows which others read must record the change."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from placement.db.changes import Changes, ConsumerChange, NameChange, NameKind, Part
from placement.db.engine.database import Database, UnnamedChangeError
from placement.db.mode import Mode
from placement.db.schema import tables

CASES: dict[str, tuple[sa.Table, Callable[[Changes], None]]] = {
    'provider': (tables.resource_providers, lambda changes: changes.provider([1], Part.PLACE)),
    'deleted': (tables.inventories, lambda changes: changes.deleted(1, 'uuid')),
    'inventories': (tables.inventories, lambda changes: changes.provider([1], Part.INVENTORIES)),
    'traits': (tables.resource_provider_traits, lambda c: c.provider([1], Part.TRAITS)),
    'aggregates': (
        tables.resource_provider_aggregates,
        lambda c: c.provider([1], Part.AGGREGATES),
    ),
    'allocations': (tables.allocations, lambda changes: changes.allocations(1, {})),
    'consumer': (tables.consumers, lambda changes: changes.consumer(ConsumerChange('uuid'))),
    'trait': (tables.traits, lambda changes: changes.name(NameChange(NameKind.TRAIT, 'CUSTOM_A'))),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_a_write_is_refused_unless_its_change_is_named(
    database: Database, case: tuple[sa.Table, Callable[[Changes], None]]
) -> None:
    table, name_change = case
    with (
        pytest.raises(UnnamedChangeError, match=table.name),
        database.begin(Mode.WRITE) as connection,
    ):
        connection.execute(sa.delete(table))
    changes = Changes()
    name_change(changes)
    with database.begin(Mode.WRITE, changes=changes) as connection:
        connection.execute(sa.delete(table))


def test_another_change_does_not_do(database: Database) -> None:
    changes = Changes()
    changes.provider([1], Part.TRAITS)
    with (
        pytest.raises(UnnamedChangeError, match='inventories'),
        database.begin(Mode.WRITE, changes=changes) as connection,
    ):
        connection.execute(sa.delete(tables.inventories))
