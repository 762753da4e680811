# SPDX-License-Identifier: Apache-2.0
"""What `placement-manage doctor` finds in a database server that has the fault.

Specification: commands, "doctor".
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement import conf as placement_conf
from placement.conf import ConfigOpts
from placement.db.engine.engines import create_engine
from placement.doctor import database, identity
from placement.doctor.check import CheckResult, Code, Deployment, find_account

from .fixtures import databases
from .fixtures.backends import on_mysql, on_postgresql, on_servers

pytestmark = on_servers

PASSWORD = 'the secret'
READER = 'placement_reader'


def deployment(url: str, **options: object) -> Deployment:
    """A deployment on a database; options are of [placement_database]."""
    conf = ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('connection', url, 'placement_database')
    for name, value in options.items():
        conf.set_override(name, value, 'placement_database')
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    identity.register_options(conf)
    return Deployment(conf, find_account(None), os.environ)


def execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))
    finally:
        engine.dispose()


@pytest.fixture
def own_url() -> Iterator[str]:
    """A database that no other test gets, so that this one may damage it."""
    own = databases.create_empty()
    databases.migrate(own.url)
    yield own.url
    own.drop()


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


Check = Callable[[Deployment], CheckResult | None]


def expect(url: str, check: Check, code: Code, words: str) -> CheckResult:
    """Check the code of a result and words of its finding."""
    result = check(deployment(url))
    assert result is not None
    assert result.code is code
    assert words in result.finding
    return result


@pytest.mark.parametrize(
    'check',
    [
        database.check_connection,
        database.check_replica,
        database.check_schema,
        database.check_writes,
        database.check_clock,
        database.check_randomization,
    ],
)
def test_migrated_database_passes(url: str, check: Check) -> None:
    result = check(deployment(url, slave_connection=url))
    assert result is not None
    assert (result.code, result.remedy) == (Code.SUCCESS, None), result


def test_database_that_does_not_exist_is_a_failure(url: str) -> None:
    elsewhere = sa.make_url(url).set(database='placement_nowhere').render_as_string(False)
    expect(elsewhere, database.check_connection, Code.FAILURE, 'placement_nowhere')


def test_database_of_upstream_is_a_failure(own_url: str) -> None:
    execute(own_url, 'DROP TABLE placement_provider_changes')
    expect(own_url, database.check_schema, Code.FAILURE, 'in placement_alembic_version')


def test_account_that_may_not_write_is_a_failure(reader: str) -> None:
    connection = expect(reader, database.check_connection, Code.SUCCESS, '')
    assert PASSWORD not in connection.finding
    expect(reader, database.check_writes, Code.FAILURE, 'denied')


@on_mysql
def test_wrong_password_is_a_failure(reader: str) -> None:
    wrong = sa.make_url(reader).set(password='no secret').render_as_string(False)
    result = expect(wrong, database.check_connection, Code.FAILURE, 'Access denied')
    assert 'no secret' not in result.finding


@on_postgresql
def test_database_that_is_read_only_is_a_failure(own_url: str) -> None:
    name = sa.make_url(own_url).database
    execute(own_url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    expect(own_url, database.check_writes, Code.FAILURE, 'read-only transaction')


@pytest.mark.parametrize(('seconds', 'words'), [(60, 'behind'), (-60, 'ahead of')])
def test_clock_that_differs_is_a_warning(
    url: str, monkeypatch: pytest.MonkeyPatch, seconds: float, words: str
) -> None:
    now = time.time
    monkeypatch.setattr(time, 'time', lambda: now() + seconds)

    expect(url, database.check_clock, Code.WARNING, f' s {words} that of this machine')
