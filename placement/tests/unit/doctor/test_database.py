# SPDX-License-Identifier: Apache-2.0
"""Checks of SQLite; those of servers are in placement/tests/functional/test_doctor.py."""

import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.engines import create_engine
from placement.db.schema import migration, revisions, tables
from placement.doctor import database
from placement.doctor.check import Code, Deployment
from placement.tests.unit.doctor.conftest import Configure, expect


@pytest.fixture
def url(directory: pathlib.Path) -> str:
    return f'sqlite:///{directory}/placement.sqlite'


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    engine = create_engine(url)
    migration.sync(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def deployment(configure: Configure, url: str) -> Deployment:
    return configure(f'[placement_database]\nconnection = {url}\n')


@pytest.mark.usefixtures('engine')
def test_migrated_database_passes(deployment: Deployment, url: str) -> None:
    connection = database.check_connection(deployment)
    schema = database.check_schema(deployment)

    assert (connection.code, connection.finding) == (Code.SUCCESS, f'Connected to {url}.')
    assert schema.code is Code.SUCCESS
    assert all(chain.newest in schema.finding for chain in revisions.CHAINS)
    assert database.check_writes(deployment).code is Code.SUCCESS
    # It is the clock of this machine.
    assert database.check_clock(deployment) is None
    assert database.check_replica(deployment) is None


def test_missing_own_tables_are_a_failure(deployment: Deployment, engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text(f'DROP TABLE {revisions.OWN.table}'))

    words = f'revision none instead of {revisions.OWN.newest}'
    remedy = 'Run "placement-manage db sync".'
    expect(database.check_schema(deployment), Code.FAILURE, words, remedy)


def test_file_that_is_no_database_is_a_failure(
    deployment: Deployment, directory: pathlib.Path
) -> None:
    (directory / 'placement.sqlite').write_text('This is no database, as everybody can see.' * 99)

    result = database.check_connection(deployment)

    remedy = 'Stop the service and restore the database from a backup.'
    expect(result, Code.FAILURE, 'file is not a database', remedy)


@pytest.mark.parametrize(
    ('hosts', 'is_random', 'status'),
    [
        (1000, False, Code.SUCCESS),
        (1001, False, Code.WARNING),
        (1001, True, Code.SUCCESS),
    ],
)
def test_more_hosts_than_schedulers_ask_for_want_random_candidates(
    configure: Configure, url: str, engine: sa.Engine, hosts: int, is_random: bool, status: Code
) -> None:
    rows = [{'uuid': f'uuid {i}', 'name': f'name {i}'} for i in range(hosts)]
    child = {'uuid': 'child', 'name': 'child', 'parent_provider_id': 1}
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.resource_providers), rows)
        connection.execute(sa.insert(tables.resource_providers), child)
    deployment = configure(
        f'[placement_database]\nconnection = {url}\n'
        f'[placement]\nrandomize_allocation_candidates = {is_random}\n'
    )

    result = database.check_randomization(deployment)

    assert result.code is status
    assert result.finding.startswith(f'{hosts} root providers')


@pytest.mark.parametrize('driver', ['mysql+pymysql', 'postgresql+psycopg'])
@pytest.mark.parametrize('option', ['connection', 'slave_connection'])
def test_server_that_is_not_there_is_a_failure(
    configure: Configure, option: str, driver: str
) -> None:
    url = f'{driver}://me:secret@127.0.0.1:1/p'
    text = f'[placement_database]\nconnection = {url}\nslave_connection = {url}\n'
    check = database.check_replica if option == 'slave_connection' else database.check_connection

    result = check(configure(text))

    expect(result, Code.FAILURE, 'onnection refused', f'[placement_database] {option}')
    assert result is not None
    assert 'secret' not in result.finding
