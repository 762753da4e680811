# SPDX-License-Identifier: Apache-2.0
"""The page says what is kept about users, for how long, and how it is removed."""

import datetime
import functools
import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from docutils import nodes

from placement.conf import opts
from placement.db.schema import own_tables, tables
from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples
from placement_insight.demand import keeper, statements
from placement_insight.promises.promise import MAX_PROMISES

REPOSITORY = applications.repository_path('.').resolve()
USER, OTHER = 'USER', 'another'

#: A value for each type of column.
VALUES = {str: 'any', int: 1, bool: True, datetime.datetime: datetime.datetime(2026, 12, 1)}

#: Columns with ids or names of people, and ids of requests, which lead to them.
ABOUT_USERS = re.compile(r'(^|_)(user|project)(_|$)|request_ids?$|^external_id$')


@functools.cache
def section() -> nodes.section:
    page = REPOSITORY / 'doc' / 'source' / 'security-hardening.rst'
    tree, _ = samples.parse_page(page.read_text())
    (found,) = (
        one for one in tree.findall(nodes.section) if 'what-is-kept-about-users' in one['ids']
    )
    return found


def rows(place: int) -> list[list[str]]:
    """The cells of a table of the section, without its heading."""
    (body,) = list(section().findall(nodes.table))[place].findall(nodes.tbody)
    return [[cell.astext() for cell in row.findall(nodes.entry)] for row in body.children]


def deletions(block: int) -> list[str]:
    """The statements of a block of SQL."""
    return list(section().findall(nodes.literal_block))[block].astext().splitlines()


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    """A database with rows about a user and about another one, in each table of the page."""
    engine = sa.create_engine('sqlite://')
    tables.metadata.create_all(engine)
    own_tables.metadata.create_all(engine)
    with engine.begin() as connection:
        for user in (USER, OTHER):
            connection.execute(sa.insert(tables.users), {'external_id': user})
            connection.execute(sa.insert(own_tables.promises), filled(own_tables.promises, user))
            for column in ('user_id', 'caller_user_id'):
                row = filled(own_tables.change_history, user, column)
                connection.execute(sa.insert(own_tables.change_history), row)
        for table in (own_tables.unmet_demand, own_tables.unmet_searches):
            connection.execute(sa.insert(table), filled(table, USER))
        yield connection
    engine.dispose()


def filled(table: sa.Table, user: str, column: str = 'user_id') -> dict[str, object]:
    """A row with this user in one column, and with something in those that may not be null."""
    values: dict[str, object] = {
        one.name: VALUES[one.type.python_type] for one in table.columns if not one.nullable
    }
    key = {one.name: user for one in table.primary_key if one.type.python_type is str}
    values.pop('id', None)
    return values | key | ({column: user} if column in table.columns else {})


def count(connection: sa.Connection, table: sa.Table) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def test_options_have_the_defaults_of_the_page() -> None:
    declared = {
        f'[{group}] {option.name}': str(option.default)
        for group, options in opts.list_opts()
        for option in options
    }
    for name, default, _ in rows(1):
        assert declared[name].lower() == default, name


def test_each_table_with_users_has_a_row_of_the_page() -> None:
    named = {
        table.name
        for metadata in (tables.metadata, own_tables.metadata)
        for table in metadata.sorted_tables
        if any(ABOUT_USERS.search(column.name) for column in table.columns)
    }
    assert named == {
        'consumers', 'users', 'projects', 'placement_history', 'placement_unmet_demand',
        'placement_unmet_searches', 'placement_promises',
    }  # fmt: skip
    assert [row[0] for row in rows(0)][:4] == ['Consumers', 'History', 'Unmet demand', 'Promises']


def test_figures_of_the_page_are_those_of_the_code() -> None:
    kept = {where: text for where, _, text in rows(0)}
    searches = statements.MAX_SEARCHES + statements.PRUNED_AT_ONCE
    assert f'{statements.MAX_DEMANDS:,} different' in kept['Unmet demand']
    assert f'last {statements.MAX_REQUEST_IDS} ids' in kept['Unmet demand']
    assert f'last {searches:,} searches' in kept['Unmet demand']
    assert f'{MAX_PROMISES} at most' in kept['Promises']
    assert f'every {keeper.FLUSH_SECONDS:.0f} seconds' in section().astext()
    rotation = (REPOSITORY / 'etc/logrotate.d/placement').read_text()
    (days,) = re.findall(r'daily\n *rotate (\d+)', rotation)
    assert f'{days} days' in kept['Log']


def test_statements_of_the_page_empty_the_tables(connection: sa.Connection) -> None:
    for statement in deletions(0):
        connection.exec_driver_sql(statement)

    for table in (
        own_tables.change_history, own_tables.unmet_demand, own_tables.unmet_searches
    ):  # fmt: skip
        assert count(connection, table) == 0


def test_statements_of_the_page_remove_one_user(connection: sa.Connection) -> None:
    for statement in deletions(1):
        connection.exec_driver_sql(statement)

    assert count(connection, own_tables.change_history) == 2
    assert count(connection, own_tables.promises) == 1
    assert connection.scalars(sa.select(tables.users.c.external_id)).all() == [OTHER]
