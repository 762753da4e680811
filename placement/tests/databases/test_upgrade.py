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
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from placement.db.engine.engines import create_engine
from placement.db.schema import migration
from placement.microversions import NEWEST
from placement.tests.databases.conftest import SERVERS
from placement.tests.functional.fixtures import clouds, databases, workers, workload
from placement.tests.functional.fixtures.freshness_workload import CUSTOM_CLASSES, Workload
from placement.tests.functional.fixtures.history_replay import rows_of
from placement.tests.functional.replay import in_order

#: The Python of the environment that upstream (`openstack-placement` 16) is installed in.
UPSTREAM = os.environ.get('PLACEMENT_TEST_UPSTREAM_PYTHON', '')
OURS = sys.executable

pytestmark = pytest.mark.parametrize('database', SERVERS, indirect=True)

OLDEST = 'b4ed3a175331'

# Upstream has no such option.
HISTORY_ON = {'OS_HISTORY__ENABLED': 'true'}

#: Maximum number of attempts at a kind of change, whose success depends on chance.
TRIES = 20

#: Projects and users that consumers belong to, the last of them by clients that named none.
OWNERS = (
    ('project', 'user'),
    ('project', 'another user'),
    ('projet \u00e9t\u00e9', 'user'),
    ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'),
)

#: What chance does not give a provider.
ODD_INVENTORIES: dict[str, dict[str, Any]] = {
    CUSTOM_CLASSES[0]: {'total': 2147483647, 'max_unit': 2147483647},
    'MEMORY_MB': {'total': 7, 'reserved': 7},
    'VCPU': {
        'total': 10, 'reserved': 2, 'min_unit': 2, 'max_unit': 8, 'step_size': 2,
        'allocation_ratio': 1.5,
    },
}  # fmt: skip

#: The sub-resources read of every provider.
OF_PROVIDER = ('inventories', 'aggregates', 'traits', 'allocations', 'usages')

SEARCHES = (
    'resources=VCPU:1',
    'resources=VCPU:2,DISK_GB:2',
    'resources=VCPU:1,DISK_GB:1&required=CUSTOM_FAST',
    'resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate',
    f'resources={CUSTOM_CLASSES[0]}:1',
)


def manage(python: str, url: str, *arguments: str, program: str = 'placement-manage') -> int:
    """The exit status of a command of one of the services."""
    assert python, 'upstream is not installed: use make test-upgrade'
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
        self._said: dict[str, Any] | None = None
        self._switches = 0

    def switch_to(self, python: str) -> None:
        """Run a service that answers what the last one did, and changes what that has written."""
        with serving(python, self._url) as client:
            said = self._read(client)
            if self._said is not None:
                assert said == self._said
            self._switches += 1
            _write(client, self._switches)
            self._said = self._read(client)

    def _read(self, client: workload.HttpClient) -> dict[str, Any]:
        """All that a service answers about its database."""

        def get(path: str, version: str = NEWEST) -> Any:
            answer = client.send('GET', path, version=version)
            # A class or trait may not be there yet, which is an answer to compare as well.
            assert answer.status == 200 or 'candidates' in path, f'{path}: {answer.text}'
            said[f'{version} {path}'] = in_order(answer.json if answer.status == 200 else None)
            return answer.json

        said: dict[str, Any] = {}
        consumers: set[str] = set()
        for provider in get('/resource_providers')['resource_providers']:
            found = [get(f'/resource_providers/{provider["uuid"]}/{name}') for name in OF_PROVIDER]
            consumers |= found[OF_PROVIDER.index('allocations')]['allocations'].keys()
        for path in (
            '/traits', '/traits?associated=true', '/resource_classes',
            *(f'/allocations/{consumer}' for consumer in consumers),
            *(f'/allocation_candidates?{search}' for search in SEARCHES),
        ):  # fmt: skip
            get(path)
        for project, user in OWNERS:
            of_project = urllib.parse.urlencode({'project_id': project})
            for version in self._usage_versions:
                get(f'/usages?{of_project}', version)
                get(f'/usages?{of_project}&{urllib.parse.urlencode({"user_id": user})}', version)
        return said


def _write(client: workload.HttpClient, number: int) -> None:
    """Add what is unusual, and change what there is in every way."""
    client.send('PUT', f'/resource_classes/{CUSTOM_CLASSES[0]}', version=NEWEST)
    name = f'h\u00f4te \u2603 {number}'
    others = (clouds.Provider(f'{name} {n}', {'VCPU': 8}, ('CUSTOM_FAST',)) for n in range(3))
    clouds.build((clouds.Provider(name, ODD_INVENTORIES, aggregates=('a',)), *others), client)
    for project, user in OWNERS[:3]:
        held = {clouds.uuid_of(name): {'VCPU': 2}}
        claim = clouds.claim(held, None, project, user) | {'consumer_type': 'MIGRATION'}
        path = f'/allocations/{clouds.uuid_of(f"{number} {project} {user}")}'
        answer = client.send('PUT', path, claim, version=NEWEST)
        assert answer.status == 204, answer.text
    actions = Workload(client, number).actions
    undone = {
        kind
        for kind, change in actions.items()
        if not any(change().status < 300 for _ in range(TRIES))
    }
    assert len(undone) < 4, undone


def test_upstream_database_upgrades_and_rolls_back(database: databases.Database) -> None:
    assert manage(UPSTREAM, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    switched.switch_to(UPSTREAM)
    assert manage(OURS, database.url, 'db', 'sync') == 0
    assert manage(OURS, database.url, 'upgrade', 'check', program='placement-status') == 0
    switched.switch_to(OURS)
    with serving(OURS, database.url) as client:
        assert _search_in_vain(client) == 1
        before = rows_of(client)
    _roll_back_and_upgrade_again(database.url, switched)
    # What upstream does not know was left alone.
    with serving(OURS, database.url) as client:
        assert _search_in_vain(client) == 2
        after = rows_of(client)
    assert 0 < len(before) < len(after)
    assert after[: len(before)] == before


def test_upstream_serves_a_database_made_by_this_service(
    database: databases.Database,
) -> None:
    assert manage(OURS, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    switched.switch_to(OURS)
    _roll_back_and_upgrade_again(database.url, switched)


def test_database_of_the_oldest_revision_upgrades_and_rolls_back(
    database: databases.Database,
) -> None:
    """It has allocations without consumer and providers without root, as old services did."""
    engine = create_engine(database.url)
    with migration.migrating(engine) as connection:
        command.upgrade(migration.configuration(connection), OLDEST)
    with serving(UPSTREAM, database.url) as client:
        clouds.build(clouds.NUMA_WITH_SHARED_STORAGE, client)
    _leave_incomplete(engine)
    engine.dispose()

    assert manage(OURS, database.url, 'db', 'sync') != 0
    assert manage(OURS, database.url, 'db', 'online_data_migrations') == 0
    assert manage(OURS, database.url, 'db', 'sync') == 0
    switched = SwitchedDatabase(database.url)
    for service in (OURS, UPSTREAM, OURS):
        switched.switch_to(service)
    _roll_back_and_upgrade_again(database.url, switched)


def _search_in_vain(client: workload.HttpClient) -> int:
    """Repeat an unmet search; return the number of its repetitions in the unmet demand."""
    query = 'resources=VCPU:1000000'
    found = client.send('GET', f'/allocation_candidates?{query}', version='1.39')
    assert found.json['allocation_requests'] == []
    demands = client.send('GET', '/insight/unmet_demand').json['unmet_demand']
    times: int = next(demand['times'] for demand in demands if demand['query'] == query)
    return times


def _roll_back_and_upgrade_again(url: str, switched: SwitchedDatabase) -> None:
    """Upstream reads what this service has written, writes more, and this service reads that."""
    assert manage(UPSTREAM, url, 'db', 'sync') == 0
    assert manage(UPSTREAM, url, 'upgrade', 'check', program='placement-status') == 0
    for service in (UPSTREAM, OURS, UPSTREAM):
        switched.switch_to(service)


def _leave_incomplete(engine: sa.Engine) -> None:
    """Write what only a service of that time could: allocations, some of them without consumer."""
    known, unknown, root, node = map(clouds.uuid_of, ('known', 'unknown', 'ss1', 'numa1_1'))
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
        "INSERT INTO projects (external_id) VALUES ('project')",
        "INSERT INTO users (external_id) VALUES ('user')",
        consumer,
        claim % known,
        claim % unknown,
        f"UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{root}'",
    )
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
