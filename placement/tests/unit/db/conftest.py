# SPDX-License-Identifier: Apache-2.0
"""Databases in memory for the tests in this directory."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode


@pytest.fixture
def engine() -> Iterator[sa.Engine]:
    """An engine for a database without any table."""
    engine = create_engine('sqlite://')
    yield engine
    engine.dispose()


@pytest.fixture
def statements(engine: sa.Engine) -> list[str]:
    """The statements that the engine executes from now on."""
    seen: list[str] = []

    @sa.event.listens_for(engine, 'before_cursor_execute')
    def note(_connection, _cursor, statement, *_rest) -> None:  # type: ignore[no-untyped-def]
        seen.append(statement)

    return seen


@pytest.fixture
def rows(database: Database) -> Callable[..., list[tuple[object, ...]]]:
    """A function that gives what a SELECT finds, as plain tuples."""

    def select(*columns: sa.ColumnElement[object]) -> list[tuple[object, ...]]:
        with database.begin(Mode.READ) as connection:
            return [tuple(row) for row in connection.execute(sa.select(*columns))]

    return select
