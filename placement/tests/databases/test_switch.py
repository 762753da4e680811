# SPDX-License-Identifier: Apache-2.0
"""A database changes hands: from the released service to ours, and back.

After every change whoever has it now says over HTTP exactly what the one before it said.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic import command

from placement.db.engine.engines import create_engine
from placement.db.schema import migration
from placement.tests.databases import state, story
from placement.tests.functional.fixtures import databases, workers, workload

#: The Python of the environment that the released service is installed in.
RELEASED = os.environ.get('PLACEMENT_TEST_RELEASED_PYTHON', '')
OURS = sys.executable

#: Servers by name; the Makefile gives the URLs.
SERVERS = {
    'sqlite': '',
    'mariadb': os.environ.get('PLACEMENT_TEST_MARIADB_URL'),
    'postgresql': os.environ.get('PLACEMENT_TEST_POSTGRESQL_URL'),
}

OLDEST = 'b4ed3a175331'


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> Iterator[databases.Database]:
    url = SERVERS[request.param]
    assert url is not None, f'no URL of a {request.param} server: use make test-switch'
    assert RELEASED, 'no released service: use make test-switch'
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
    with workers.running(_for_driver(url, python), 1, python) as cluster:
        client = workload.HttpClient(cluster.port)
        yield client
        client.close()


def _for_driver(url: str, python: str) -> str:
    """The URL for the driver that a service has."""
    return url.replace('+psycopg:', '+psycopg2:') if python == RELEASED else url


class Hands:
    """A database that goes from one service to the other, compared each time."""

    def __init__(self, url: str) -> None:
        self._url = url
        # The released service fails to tell usage by type of consumer on PostgreSQL.
        self._usage_versions = ('1.37',) if url.startswith('postgresql') else ('1.37', '1.39')
        self._said: state.State | None = None

    @contextlib.contextmanager
    def of(self, python: str) -> Iterator[workload.HttpClient]:
        """A client of the service that has the database now; what it left is compared."""
        with serving(python, self._url) as client:
            said = self._read(client)
            if self._said is not None:
                assert state.differences(self._said, said) == []
            yield client
            self._said = self._read(client)
            assert len(self._said['providers']) > 3

    def _read(self, client: workload.HttpClient) -> state.State:
        return state.read(client, story.OWNERS, self._usage_versions)


def test_a_database_goes_to_us_and_back(database: databases.Database) -> None:
    assert manage(RELEASED, database.url, 'db', 'sync') == 0
    hands = Hands(database.url)
    with hands.of(RELEASED) as client:
        _tell(client, 'first')
    assert manage(OURS, database.url, 'db', 'sync') == 0
    assert manage(OURS, database.url, 'upgrade', 'check', program='placement-status') == 0
    with hands.of(OURS) as client:
        story.Chapter(client, 'first').change()
        _tell(client, 'second')
    _go_back_and_forth(database.url, hands)


def test_a_database_that_we_made_goes_to_the_released_service(
    database: databases.Database,
) -> None:
    assert manage(OURS, database.url, 'db', 'sync') == 0
    hands = Hands(database.url)
    with hands.of(OURS) as client:
        _tell(client, 'second')
    _go_back_and_forth(database.url, hands)


def test_a_database_of_the_oldest_revision_goes_to_us_and_back(
    database: databases.Database,
) -> None:
    """It was left with allocations of nobody and providers without root, as in former times."""
    engine = create_engine(database.url)
    with migration.migrating(engine) as connection:
        command.upgrade(migration.configuration(connection), OLDEST)
    with serving(RELEASED, database.url) as client:
        story.Chapter(client, 'first').write_providers()
    _leave_incomplete(engine)
    engine.dispose()

    assert manage(OURS, database.url, 'db', 'sync') != 0
    assert manage(OURS, database.url, 'db', 'online_data_migrations') == 0
    assert manage(OURS, database.url, 'db', 'sync') == 0
    hands = Hands(database.url)
    with hands.of(OURS):
        pass
    with hands.of(RELEASED) as client:
        story.Chapter(client, 'first').write_consumers()
    with hands.of(OURS) as client:
        story.Chapter(client, 'first').change()
        _tell(client, 'second')
    _go_back_and_forth(database.url, hands)


def _tell(client: workload.HttpClient, name: str) -> None:
    chapter = story.Chapter(client, name)
    chapter.write_providers()
    chapter.write_consumers()


def _go_back_and_forth(url: str, hands: Hands) -> None:
    """The released service has what we left, goes on with it, and we have what it left."""
    assert manage(RELEASED, url, 'db', 'sync') == 0
    assert manage(RELEASED, url, 'upgrade', 'check', program='placement-status') == 0
    with hands.of(RELEASED) as client:
        story.Chapter(client, 'second').change()
        _tell(client, 'third')
    with hands.of(OURS) as client:
        story.Chapter(client, 'third').change()
    with hands.of(RELEASED):
        pass


def _leave_incomplete(engine: sa.Engine) -> None:
    """Write what only a service of that time could: claims, some of them of no consumer."""
    chapter = story.Chapter(workload.HttpClient(0), 'first')
    known, unknown, empty, node = map(chapter.uuid, ('known', 'unknown', 'empty', 'numa1_1'))
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
