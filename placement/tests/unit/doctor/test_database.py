# SPDX-License-Identifier: Apache-2.0
"""Checks of SQLite; those of servers are in placement/tests/functional/test_doctor.py."""

import pathlib
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.engines import create_engine
from placement.db.schema import migration, revisions, tables
from placement.doctor import database
from placement.doctor.deployment import Deployment
from placement.doctor.result import Status
from placement.tests.unit.doctor.conftest import Configure


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

    assert (connection.status, connection.found) == (Status.OK, f'Connected to {url}.')
    assert schema.status is Status.OK
    assert all(chain.newest in schema.found for chain in revisions.CHAINS)
    assert database.check_writes(deployment).status is Status.OK
    # It is the clock of this machine.
    assert database.check_clock(deployment) is None
    assert database.check_replica(deployment) is None


def test_database_without_tables_is_a_failure(deployment: Deployment) -> None:
    result = database.check_schema(deployment)

    assert (result.status, result.found, result.remedy) == (
        Status.FAILURE,
        'The database has no tables.',
        'Run "placement-manage db sync".',
    )


def test_database_of_upstream_is_a_failure(deployment: Deployment, engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text('DROP TABLE placement_alembic_version'))

    result = database.check_schema(deployment)

    assert result.status is Status.FAILURE
    assert f'revision none instead of {revisions.OWN.newest}' in result.found
    assert result.remedy == 'Run "placement-manage db sync".'


def test_file_that_is_no_database_is_a_failure(
    deployment: Deployment, directory: pathlib.Path
) -> None:
    (directory / 'placement.sqlite').write_text('This is no database, as everybody can see.' * 99)

    result = database.check_connection(deployment)

    assert result.status is Status.FAILURE
    assert 'file is not a database' in result.found
    assert result.remedy == 'Stop the service and restore the database from a backup.'


@pytest.mark.parametrize(
    ('hosts', 'is_random', 'status'),
    [
        (1000, False, Status.OK),
        (1001, False, Status.WARNING),
        (1001, True, Status.OK),
    ],
)
def test_more_hosts_than_schedulers_ask_for_want_random_candidates(
    configure: Configure, url: str, engine: sa.Engine, hosts: int, is_random: bool, status: Status
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

    assert result.status is status
    assert result.found.startswith(f'{hosts} root providers')


def test_server_that_is_not_there_is_a_failure(configure: Configure) -> None:
    result = database.check_connection(
        configure('[placement_database]\nconnection = mysql+pymysql://me:secret@127.0.0.1:1/p\n')
    )

    assert result.status is Status.FAILURE
    assert 'Connection refused' in result.found
    assert 'secret' not in result.found


def test_replica_that_is_not_there_is_a_failure(configure: Configure, url: str) -> None:
    text = f'[placement_database]\nconnection = {url}\n'
    result = database.check_replica(
        configure(f'{text}slave_connection = postgresql+psycopg://me:secret@127.0.0.1:1/p\n')
    )

    assert result is not None
    assert (result.name, result.status) == ('replica', Status.FAILURE)
    assert result.remedy is not None
    assert 'slave_connection' in result.remedy
