# SPDX-License-Identifier: Apache-2.0
"""Projects, users and types of very many consumers at once."""

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.statements import owners
from placement.db.statements.owners import Owner

from .fixtures.backends import on_mysql


def questions(connection: sa.Connection) -> int:
    """The number of statements in this session of a MySQL server."""
    row = connection.execute(sa.text("SHOW SESSION STATUS LIKE 'Questions'")).one()
    return int(row[1])


def many(count: int, name: str) -> list[Owner]:
    return [Owner(f'project {name} {n}', f'user {name} {n}', f'{name}_{n}') for n in range(count)]


@on_mysql
@pytest.mark.parametrize('name', ['NEW', 'STORED'])
def test_statements_do_not_grow_with_the_owners(database: Database, name: str) -> None:
    def cost(count: int) -> int:
        with database.engine.begin() as connection:
            before = questions(connection)
            owners.ensure(connection, many(count, f'{name}_{count}'))
            return questions(connection) - before

    if name == 'STORED':
        cost(50)
        cost(100)

    assert cost(50) == cost(100)
