# SPDX-License-Identifier: Apache-2.0
"""Large batches of rows that very old versions left; test_manage completes small ones."""

from collections.abc import Callable

import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import data_migrations, tables


def test_one_batch_can_take_more_providers_than_a_statement_has_parameters(
    database: Database, rows: Callable[..., list[tuple[object, ...]]]
) -> None:
    providers = [{'id': n, 'uuid': f'{n}', 'name': f'{n}'} for n in range(1, 40_001)]
    with database.engine.begin() as connection:
        connection.execute(sa.insert(tables.resource_providers), providers)
    migrate = data_migrations.set_root_provider_ids
    assert data_migrations.run(database, migrate, 1_000_000, 'roots') == 40_000
    root_ids = tables.resource_providers.c.root_provider_id
    assert rows(sa.func.count(root_ids)) == [(40_000,)]
