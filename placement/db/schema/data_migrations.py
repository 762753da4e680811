# SPDX-License-Identifier: Apache-2.0
"""Online data migrations: they complete rows of very old releases, in batches.

The service may run at the same time (specification: data_model, "Online data migrations").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from placement.db.engine import sqlite, transactions
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema import tables
from placement.db.statements import owners
from placement.db.statements.owners import Owner

# Changes at most a number of rows; returns the number of rows found, all of which it has changed.
Migration = Callable[[sa.Connection, int], int]


def run(database: Database, migrate: Migration, max_count: int, name: str) -> int:
    """Run a migration in a transaction; return the number of rows found, which it has written.

    A repeated run finds no rows, so it is retried when the reply to COMMIT is lost. It writes no
    entry in the change feed, which a database from upstream does not have yet.
    """

    def transaction() -> int:
        with sqlite.writing(database.engine).begin() as connection:
            return migrate(connection, max_count)

    return transactions.retry(transaction, name, database.attempts)


def set_root_provider_ids(connection: sa.Connection, max_count: int) -> int:
    """Make each of at most `max_count` providers without a root its own root."""
    providers = tables.resource_providers
    without_root = providers.c.root_provider_id.is_(None)
    ids = connection.scalars(
        sa.select(providers.c.id).where(without_root).order_by(providers.c.id).limit(max_count)
    ).all()
    if not ids:
        return 0
    # By a range of ids, because the number of parameters of a statement is limited.
    updated = connection.execute(
        sa.update(providers)
        .where(without_root, providers.c.id <= ids[-1])
        .values(root_provider_id=providers.c.id)
    )
    return updated.rowcount


def create_incomplete_consumers(
    connection: sa.Connection, max_count: int, *, project: str, user: str
) -> int:
    """Insert a record for each of at most `max_count` consumers that have only allocations.

    They belong to the external ids `project` and `user`, which are inserted if missing.
    """
    uuids = connection.scalars(
        _without_consumer(tables.allocations.c.consumer_id)
        .distinct()
        .order_by(tables.allocations.c.consumer_id)
        .limit(max_count)
    ).all()
    if not uuids:
        return 0
    (ids,) = owners.ensure(connection, [Owner(project, user, None)]).values()
    # Without the column of the type, which databases that need this migration lack.
    owner = {'project_id': ids.project_id, 'user_id': ids.user_id}
    rows = [{'uuid': uuid, 'generation': 0, **owner} for uuid in uuids]
    connection.execute(sa.insert(tables.consumers), rows)
    return len(rows)


def has_missing_root_provider_ids(database: Database) -> bool:
    """True if any provider lacks a root."""
    missing = sa.exists().where(tables.resource_providers.c.root_provider_id.is_(None))
    return bool(_read(database, sa.select(missing)))


def count_incomplete_consumers(database: Database) -> int:
    """Return the number of consumers that have allocations but no record."""
    uuids = sa.distinct(tables.allocations.c.consumer_id)
    return int(_read(database, _without_consumer(sa.func.count(uuids))))


def _read(database: Database, statement: sa.Select[Any]) -> Any:
    """Return the single value that a statement selects."""

    def value() -> Any:
        with database.begin(Mode.READ) as connection:
            return connection.scalars(statement).one()

    return database.retry(value, __name__)


def _without_consumer(column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select a column of the allocations whose consumer has no record."""
    allocations, consumers = tables.allocations, tables.consumers
    joined = allocations.outerjoin(consumers, allocations.c.consumer_id == consumers.c.uuid)
    return sa.select(column).select_from(joined).where(consumers.c.id.is_(None))
