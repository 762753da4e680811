# SPDX-License-Identifier: Apache-2.0
"""Upgrade of a database from upstream to this service, and rollback.

After every switch the service that runs now answers over HTTP exactly what the one before it did.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from placement.db.engine.engines import create_engine
from placement.db.schema import migration
from placement.tests.databases import sample_data, state
from placement.tests.functional.fixtures import databases, workers, workload

#: The Python of the environment that upstream (`openstack-placement` 16) is installed in.
UPSTREAM = os.environ.get('PLACEMENT_TEST_UPSTREAM_PYTHON', '')
OURS = sys.executable

#: Servers by name; the Makefile gives the URLs.
SERVERS = {
    'sqlite': '',
    'mariadb': os.environ.get('PLACEMENT_TEST_MARIADB_URL'),
    'postgresql': os.environ.get('PLACEMENT_TEST_POSTGRESQL_URL'),
}

OLDEST = 'b4ed3a175331'

# Upstream has no such option.
HISTORY_ON = {'OS_HISTORY__ENABLED': 'true'}


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> Iterator[databases.Database]:
    url = SERVERS[request.param]
    assert url is not None, f'no URL of a {request.param} server: use make test-upgrade'
    assert UPSTREAM, 'upstream is not installed: use make test-upgrade'
    empty = databases.create_empty(url)
    yield empty
    empty.drop()


def manage(python: str, url: str, *arguments: str, program: str = 'placement-manage') -> int:
    """The exit status of a command of one of the services."""
    with tempfile.TemporaryDirectory() as directory:
        return subprocess.run(
            [pathlib.Path(python).with_name(program), *arguments],
            env=workers.environ(_for_driver(url, python), pathlib.Path(directory)),
            cwd=directory,
        ).returncode


@contextlib.contextmanager
def serving(python: str, url: str) -> Iterator[workload.HttpClient]:
    """A client of one of the services."""
    with workers.running(_for_driver(url, python), 1, python, HISTORY_ON) as cluster:
        client = workload.HttpClient(cluster.port)
        yield client
        client.close()


def _for_driver(url: str, python: str) -> str:
    """The URL for the driver that a service has."""
    return url.replace('+psycopg:', '+psycopg2:') if python == UPSTREAM else url


class SwitchedDatabase:
    """A database that both services run on in turn, whose answers are compared at each switch."""

    def __init__(self, url: str) -> None:
        self._url = url
        # Upstream fails to answer usage by type of consumer on PostgreSQL.
        self._usage_versions = ('1.37',) if url.startswith('postgresql') else ('1.37', '1.39')
        self._said: state.State | None = None

    @contextlib.contextmanager
    def serving(self, python: str) -> Iterator[workload.HttpClient]:
        """A client of the service that runs now; its answers are compared with the last one's."""
        with serving(python, self._url) as client:
            said = self._read(client)
            if self._said is not None:
                assert said == self._said
            yield client
            self._said = self._read(client)
            assert len(self._said['providers']) > 3

    def _read(self, client: workload.HttpClient) -> state.State:
        return state.read(client, sample_data.OWNERS, self._usage_versions)


def test_upstream_database_upgrades_and_rolls_back(database: databases.Database) -> None:
    assert manage(UPSTREAM, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    with switched.serving(UPSTREAM) as client:
        _write(client, 'first')
    assert manage(OURS, database.url, 'db', 'sync') == 0
    assert manage(OURS, database.url, 'upgrade', 'check', program='placement-status') == 0
    with switched.serving(OURS) as client:
        sample_data.SampleData(client, 'first').change()
        _write(client, 'second')
        assert _search_in_vain(client) == 1
        before = _last_changes(client)
    _roll_back_and_upgrade_again(database.url, switched)
    # What upstream does not know was left alone.
    with switched.serving(OURS) as client:
        assert _search_in_vain(client) == 2
        after = _last_changes(client)
    assert after[0] != before[0]
    assert [row for row in after if row in before] == before


def test_upstream_serves_a_database_made_by_this_service(
    database: databases.Database,
) -> None:
    assert manage(OURS, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    with switched.serving(OURS) as client:
        _write(client, 'second')
    _roll_back_and_upgrade_again(database.url, switched)


def test_database_of_the_oldest_revision_upgrades_and_rolls_back(
    database: databases.Database,
) -> None:
    """It has allocations without consumer and providers without root, as old services did."""
    engine = create_engine(database.url)
    with migration.migrating(engine) as connection:
        command.upgrade(migration.configuration(connection), OLDEST)
    with serving(UPSTREAM, database.url) as client:
        sample_data.SampleData(client, 'first').write_providers()
    _leave_incomplete(engine)
    engine.dispose()

    assert manage(OURS, database.url, 'db', 'sync') != 0
    assert manage(OURS, database.url, 'db', 'online_data_migrations') == 0
    assert manage(OURS, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    with switched.serving(OURS):
        pass
    with switched.serving(UPSTREAM) as client:
        sample_data.SampleData(client, 'first').write_consumers()
    with switched.serving(OURS) as client:
        sample_data.SampleData(client, 'first').change()
        _write(client, 'second')
    _roll_back_and_upgrade_again(database.url, switched)


def _search_in_vain(client: workload.HttpClient) -> int:
    """How often was searched in vain for what is searched for here once more."""
    query = 'resources=VCPU:1000000'
    found = client.send('GET', f'/allocation_candidates?{query}', version='1.39')
    assert found.json['allocation_requests'] == []
    demands = client.send('GET', '/insight/unmet_demand').json['unmet_demand']
    times: int = next(demand['times'] for demand in demands if demand['query'] == query)
    return times


def _last_changes(client: workload.HttpClient) -> list[dict[str, Any]]:
    """The history, the last change first."""
    rows: list[dict[str, Any]] = []
    path: str | None = '/insight/history?page_limit=1000'
    while path is not None:
        answer = client.send('GET', path).json
        rows += answer['history']
        path = next((link['href'] for link in answer['links']), None)
    assert rows
    return rows


def _write(client: workload.HttpClient, name: str) -> None:
    data = sample_data.SampleData(client, name)
    data.write_providers()
    data.write_consumers()


def _roll_back_and_upgrade_again(url: str, switched: SwitchedDatabase) -> None:
    """Upstream reads what this service has written, writes more, and this service reads that."""
    assert manage(UPSTREAM, url, 'db', 'sync') == 0
    assert manage(UPSTREAM, url, 'upgrade', 'check', program='placement-status') == 0
    with switched.serving(UPSTREAM) as client:
        sample_data.SampleData(client, 'second').change()
        _write(client, 'third')
    with switched.serving(OURS) as client:
        sample_data.SampleData(client, 'third').change()
    with switched.serving(UPSTREAM):
        pass


def _leave_incomplete(engine: sa.Engine) -> None:
    """Write what only a service of that time could: allocations, some of them without consumer."""
    data = sample_data.SampleData(workload.HttpClient(0), 'first')
    known, unknown, empty, node = map(data.uuid, ('known', 'unknown', 'empty', 'numa1_1'))
    claim = (
        'INSERT INTO allocations'
        ' (created_at, consumer_id, resource_provider_id, resource_class_id, used)'
        f" SELECT CURRENT_TIMESTAMP, '%s', id, 0, 1 FROM resource_providers WHERE uuid = '{node}'"
    )
    consumer = (
        'INSERT INTO consumers (created_at, uuid, project_id, user_id, generation)'
        f" SELECT CURRENT_TIMESTAMP, '{known}', projects.id, users.id, 3 FROM projects, users"
    )
    statements = (
        "INSERT INTO projects (external_id) VALUES ('project-a')",
        "INSERT INTO users (external_id) VALUES ('user-a')",
        consumer,
        claim % known,
        claim % unknown,
        f"UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{empty}'",
    )
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
