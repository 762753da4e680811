# SPDX-License-Identifier: Apache-2.0
"""The databases in memory that the tests of `db` use, and one with the standard names."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.tests.unit.db.conftest import engine, rows, statements
from placement.tests.unit.objects.cloud import create_database

__all__ = ['engine', 'rows', 'statements']


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
