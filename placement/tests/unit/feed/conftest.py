# SPDX-License-Identifier: Apache-2.0
"""The databases in memory that the tests of `db` use, and one with the standard names."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import own_tables, tables
from placement.feed import sink
from placement.feed.change_feed import ChangeFeed
from placement.tests.unit.db.conftest import engine, rows, statements
from placement.tests.unit.objects.cloud import create_database

__all__ = ['engine', 'rows', 'statements']


@pytest.fixture(autouse=True)
def never_prune_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, 'WRITES_BETWEEN', 2**62)


def write(database: Database, *ids: int, token: int = 5) -> None:
    """Insert entries with these ids, about a provider of ten times the number."""
    common = {'at': tables.utcnow(), 'allocations_only': False, 'token': token}
    rows = [{'id': one, 'provider_id': 10 * one, **common} for one in ids]
    with database.engine.begin() as connection:
        connection.execute(sa.insert(own_tables.change_feed), rows)


def prune(database: Database, max_ids: int = 0) -> None:
    with database.engine.begin() as connection:
        ChangeFeed(connection).prune(max_ids)


@pytest.fixture(scope='module')
def standard_database() -> Iterator[Database]:
    """A database with the standard names, for tests that leave nothing else in it."""
    database = create_database()
    yield database
    database.dispose()


@pytest.fixture
def connection(standard_database: Database) -> Iterator[sa.Connection]:
    """A transaction of which nothing is kept, since nothing commits it."""
    with standard_database.engine.connect() as connection:
        yield connection
