# SPDX-License-Identifier: Apache-2.0
"""The core alone, on a database with rows of its extension.

Specification: data_model, "Tables of this service alone".
"""

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from alembic import command

from placement.db.engine.engines import create_engine
from placement.db.schema import migration, revisions
from placement.microversions import NEWEST

from .fixtures import applications, clouds, databases, history_replay
from .fixtures.client import Client

WITH_INSIGHT: applications.Options = {
    ('history', 'enabled'): True,
    ('insight', 'unmet_demand'): True,
    ('insight', 'promises'): True,
}
WITHOUT_INSIGHT: applications.Options = {('placement', 'extensions'): []}
HOST = clouds.uuid_of('host')
NOWHERE = '/allocation_candidates?resources=VCPU:1000000'
PROMISE = '/insight/promises/gold'

#: `placement-manage` of an installation that lacks the extension.
MANAGE = """
import sys
sys.modules['placement_insight'] = None
from placement.cmd import manage
sys.exit(manage.main(sys.argv[1:]))
"""


def manage(url: str, directory: pathlib.Path, *arguments: str) -> None:
    """Run a command of the core alone, which has to succeed."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith('OS_')},
        'OS_PLACEMENT_CONFIG_DIR': str(directory),
        'OS_PLACEMENT_DATABASE__CONNECTION': url,
        'OS_PLACEMENT__EXTENSIONS': '',
    }
    ran = subprocess.run(
        [sys.executable, '-c', MANAGE, *arguments],
        env=environ,
        cwd=directory,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def migrate(url: str, revision: str) -> None:
    """Step the own tables up or down to a revision, as Alembic names it."""
    engine = create_engine(url)
    with migration.migrating(engine) as connection:
        settings = migration.configuration(connection, revisions.OWN)
        (command.downgrade if revision.startswith('-') else command.upgrade)(settings, revision)
    engine.dispose()


def claim(client: Client, name: str) -> None:
    path = f'/allocations/{clouds.uuid_of(name)}'
    answer = client.send('PUT', path, clouds.claim({HOST: {'VCPU': 1}}), version=NEWEST)
    assert answer.status == 204, answer.text


def known_to_insight(client: Client) -> tuple[list[Any], list[Any]]:
    """The history and the unmet demand."""
    unmet = client.send('GET', '/insight/unmet_demand').json['unmet_demand']
    return history_replay.rows_of(client), unmet


def check_core(client: Client, name: str) -> None:
    """Check that claims, searches, reads and the health check work."""
    assert client.send('GET', '/healthcheck').status == 200
    assert client.send('GET', '/insight').status == 404
    claim(client, name)
    found = client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
    assert HOST in found.json['provider_summaries']
    assert client.send('GET', NOWHERE, version=NEWEST).json['allocation_requests'] == []
    path = f'/resource_classes/CUSTOM_{name.upper()}'
    assert client.send('PUT', path, version=NEWEST).status == 201
    assert client.send('DELETE', path, version=NEWEST).status == 204


# The last step adds a column to promises, and the one before it creates their table.
@pytest.mark.parametrize(('steps', 'status'), [('-1', 200), ('-2', 404)])
def test_what_insight_keeps_survives_steps_of_the_schema_and_a_core_without_it(
    tmp_path: pathlib.Path, steps: str, status: int
) -> None:
    database = databases.create()
    try:
        _check_steps(database.url, tmp_path, steps, status)
    finally:
        database.drop()


def _check_steps(url: str, directory: pathlib.Path, steps: str, status: int) -> None:
    with applications.serving(url, WITH_INSIGHT) as client:
        clouds.build((clouds.Provider('host', {'VCPU': 1000}),), client)
        claim(client, 'before')
        client.send('GET', NOWHERE, version=NEWEST)
        promise = {'request': 'resources=VCPU:1', 'count': 1}
        assert client.send('PUT', PROMISE, promise).status in (200, 201, 204)
        before = known_to_insight(client)
    history, unmet = before
    assert len(history) >= 2
    assert len(unmet) == 1

    with applications.serving(url, WITHOUT_INSIGHT) as client:
        check_core(client, 'newest')
        migrate(url, steps)
        check_core(client, 'below')
    with applications.serving(url, WITH_INSIGHT) as client:
        assert client.send('GET', '/healthcheck').status == 200
        assert known_to_insight(client) == before
        assert client.send('GET', PROMISE).status == 503
        # Searches cannot know of promises that keep their room, and find all.
        found = client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
        assert HOST in found.json['provider_summaries']
    manage(url, directory, 'db', 'sync')
    with applications.serving(url, WITHOUT_INSIGHT) as client:
        check_core(client, 'again')

    with applications.serving(url, WITH_INSIGHT) as client:
        assert known_to_insight(client) == before
        assert client.send('GET', PROMISE).status == status
        claim(client, 'after')
        history_after, _unmet = known_to_insight(client)
        assert history_after[: len(history)] == history
        assert len(history_after) > len(history)
        assert client.send('GET', '/insight').json['unrecorded'] == 0
