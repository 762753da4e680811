# SPDX-License-Identifier: Apache-2.0
"""Results of `placement-manage doctor` for database servers with the faults.

Specification: commands, "doctor".
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.engines import create_engine
from placement.doctor import database, durability
from placement.doctor.check import Check, Code, Deployment
from placement.tests.unit.doctor.conftest import Configure, configure, directory, expect

from .fixtures import databases
from .fixtures.backends import on_mysql, on_postgresql, on_servers, without_pooler

__all__ = ['configure', 'directory']

pytestmark = on_servers

PASSWORD = 'the secret'
READER = 'placement_reader'


Deploy = Callable[[str], Deployment]


@pytest.fixture
def deploy(configure: Configure) -> Deploy:
    """A function that makes a deployment on a database, which is its own replica."""
    return lambda url: configure(
        f'[placement_database]\nconnection = {url}\nslave_connection = {url}\n'
    )


def execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))
    finally:
        engine.dispose()


@pytest.fixture
def reader(url: str) -> Iterator[str]:
    """The URL for an account that may read everything, and write nothing."""
    name = sa.make_url(url).database
    if databases.backend() == 'mysql':
        account = f"'{READER}'@'%'"
        grants = [
            f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}'",
            f'GRANT SELECT ON `{name}`.* TO {account}',
        ]
        revocations = [f'DROP USER {account}']
    else:
        grants = [
            f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'",
            f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}',
        ]
        revocations = [f'DROP OWNED BY {READER}', f'DROP ROLE {READER}']
    with contextlib.suppress(Exception):
        execute(url, *revocations)
    execute(url, *grants)
    yield (
        sa.make_url(url)
        .set(username=READER, password=PASSWORD)
        .render_as_string(hide_password=False)
    )
    execute(url, *revocations)


@pytest.mark.parametrize(
    'check',
    [
        durability.check_durability,
        database.check_connection,
        database.check_replica,
        database.check_schema,
        database.check_writes,
        database.check_clock,
        database.check_randomization,
    ],
)
def test_migrated_database_passes(url: str, deploy: Deploy, check: Check) -> None:
    result = check(deploy(url))
    expect(result, Code.SUCCESS)
    assert result is not None
    assert result.remedy is None


def test_database_that_does_not_exist_is_a_failure(url: str, deploy: Deploy) -> None:
    elsewhere = sa.make_url(url).set(database='placement_nowhere').render_as_string(False)
    expect(database.check_connection(deploy(elsewhere)), Code.FAILURE, 'placement_nowhere')


@without_pooler
def test_account_that_may_not_write_is_a_failure(reader: str, deploy: Deploy) -> None:
    connection = database.check_connection(deploy(reader))
    expect(connection, Code.SUCCESS)
    assert PASSWORD not in connection.finding
    expect(database.check_writes(deploy(reader)), Code.FAILURE, 'denied')


@on_mysql
def test_wrong_password_is_a_failure(reader: str, deploy: Deploy) -> None:
    wrong = sa.make_url(reader).set(password='no secret').render_as_string(False)
    result = database.check_connection(deploy(wrong))
    expect(result, Code.FAILURE, 'Access denied')
    assert 'no secret' not in result.finding


@on_postgresql
@without_pooler
def test_database_that_is_read_only_is_a_failure(deploy: Deploy) -> None:
    # Of its own, so that no other test gets it.
    own = databases.create_empty()
    databases.migrate(own.url)
    name = sa.make_url(own.url).database
    execute(own.url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    result = database.check_writes(deploy(own.url))
    own.drop()
    expect(result, Code.FAILURE, 'read-only transaction')


@pytest.mark.parametrize(('seconds', 'words'), [(60, 'behind'), (-60, 'ahead of')])
def test_clock_that_differs_is_a_warning(
    url: str, deploy: Deploy, monkeypatch: pytest.MonkeyPatch, seconds: float, words: str
) -> None:
    now = time.time
    monkeypatch.setattr(time, 'time', lambda: now() + seconds)

    result = database.check_clock(deploy(url))
    expect(result, Code.WARNING, f' s {words} that of this machine')


@on_postgresql
@without_pooler
@pytest.mark.parametrize('value', ['off', 'local'])
def test_a_database_that_does_not_wait_for_its_log_is_told(deploy: Deploy, value: str) -> None:
    own = databases.create_empty()
    databases.migrate(own.url)
    name = sa.make_url(own.url).database
    execute(own.url, f'ALTER DATABASE "{name}" SET synchronous_commit = {value}')
    result = durability.check_durability(deploy(own.url))
    own.drop()
    lost = 'about the last second of acknowledged writes is lost'
    expect(
        result, Code.WARNING if value == 'off' else Code.SUCCESS, f'synchronous_commit = {value}'
    )
    assert result is not None
    assert (lost in result.finding) is (value == 'off')
