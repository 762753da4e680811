# SPDX-License-Identifier: Apache-2.0
"""The command line of `placement-manage`, its output and its exit status."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import os_resource_classes
import os_traits
import pytest
import sqlalchemy as sa

import placement
from placement import microversions
from placement.cmd import manage
from placement.cmd.openapi import document
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema import data_migrations, migration, revisions, tables
from placement.routes import installed_surface
from placement.tests.unit.cmd.conftest import Run

HEAD = 'a082b8bb98d0'

TABLE = """\
+-----------------------------+-------------+-----------+
|          Migration          | Total Found | Completed |
+-----------------------------+-------------+-----------+
|    set_root_provider_ids    |{roots:^13}|{roots:^11}|
| create_incomplete_consumers |{consumers:^13}|{consumers:^11}|
+-----------------------------+-------------+-----------+
"""

NEGLECTED = """\
+-----------------------+-------------+-----------+
|       Migration       | Total Found | Completed |
+-----------------------+-------------+-----------+
| set_root_provider_ids |      2      |     2     |
+-----------------------+-------------+-----------+
"""

UNLIMITED = 'Running batches of 50 until complete\n'
CHECK_LOG = 'Some migrations failed unexpectedly. Check log for details.\n'


def test_sync_migrates_to_the_newest_revision_and_inserts_standard_names(
    run: Run, engine: sa.Engine
) -> None:
    assert run('db', 'sync') == (0, '', '')
    assert revisions.version(engine) == HEAD
    with engine.connect() as connection:
        traits = set(connection.scalars(sa.select(tables.traits.c.name)))
        classes = connection.scalars(sa.select(tables.resource_classes.c.name)).all()
    assert traits == set(os_traits.get_traits())
    assert sorted(classes) == sorted(os_resource_classes.STANDARDS)


def test_version_of_an_empty_database_is_none_and_names_the_remedy(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / 'placement.db').touch()

    status, printed, complained = run('db', 'version')

    assert (status, printed) == (0, 'None\n')
    assert complained == (
        'None (tables of this service)\n'
        'The database has no tables. Run "placement-manage db sync".\n'
    )


@pytest.mark.usefixtures('database')
def test_version_prints_the_revision_of_upstream_alone_on_standard_output(run: Run) -> None:
    own = f'{revisions.OWN.newest} (tables of this service)\n'
    assert run('db', 'version') == (0, f'{HEAD}\n', own)


def test_version_names_missing_tables_of_this_service(run: Run, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql('DROP TABLE placement_alembic_version')
    outcome = run('db', 'version')
    assert outcome.printed == f'{HEAD}\n'
    assert outcome.complained.startswith('None (tables of this service)\n')
    assert f'none instead of {revisions.OWN.newest}' in outcome.complained
    assert 'placement-manage db sync' in outcome.complained


def test_stamp_writes_the_version_without_migrating(run: Run, engine: sa.Engine) -> None:
    assert run('db', 'stamp', 'b4ed3a175331') == (0, '', '')
    assert run('db', 'version').printed.splitlines()[0] == 'b4ed3a175331'
    assert sa.inspect(engine).get_table_names() == ['alembic_version']
    assert run('db', 'stamp', 'head').status == 0
    assert revisions.version(engine) == HEAD


@pytest.mark.parametrize(
    ('command', 'status', 'parts'),
    [
        ((), 1, ['--config-file', 'db', 'provider', 'doctor']),
        (('db',), 0, ['sync', 'version', 'stamp', 'online_data_migrations']),
        (('provider',), 0, ['set-uuid']),
    ],
)
def test_incomplete_command_prints_its_help(
    run: Run, command: tuple[str, ...], status: int, parts: list[str]
) -> None:
    outcome = run(*command)

    assert (outcome.status, outcome.complained) == (status, '')
    assert outcome.printed.startswith('usage:')
    assert [part for part in parts if part not in outcome.printed] == []


@pytest.mark.parametrize('is_installed', [True, False])
def test_the_version_of_the_program_needs_no_configuration(
    run: Run, monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    def version_of(name: str) -> str:
        if is_installed:
            return f'7.1 of {name}'
        raise manage.metadata.PackageNotFoundError(name)

    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION')
    monkeypatch.setattr(manage.metadata, 'version', version_of)

    printed = '7.1 of openstack-placement\n' if is_installed else 'unknown\n'
    assert run('--version') == (0, printed, '')


@pytest.mark.parametrize(
    ('words', 'version'), [('', microversions.NEWEST), ('--microversion 1.10', '1.10')]
)
def test_the_document_of_the_api_is_printed_where_nothing_is_configured(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: str, version: str
) -> None:
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION')
    outcome = run('openapi', *words.split())

    surface = installed_surface()
    expected = document.document(surface, document.version_named(surface, version))
    assert (outcome.status, outcome.complained) == (0, '')
    assert json.loads(outcome.printed) == json.loads(json.dumps(expected))


@pytest.mark.parametrize('version', ['1', '1.99', 'newest'])
def test_a_document_of_a_version_that_is_not_known_is_refused(run: Run, version: str) -> None:
    status, printed, complained = run('openapi', '--microversion', version)

    assert (status, printed) == (1, '')
    assert version in complained


def test_batches_repeat_and_totals_are_printed(run: Run, old_data: Database) -> None:
    with old_data.engine.begin() as connection:
        connection.execute(
            sa.insert(tables.resource_providers),
            [{'uuid': f'more {number}', 'name': f'more {number}'} for number in range(97)],
        )
    words = ('db', 'online_data_migrations')
    assert run(*words) == (
        0,
        UNLIMITED
        + '50 rows matched query set_root_provider_ids, 50 migrated\n' * 2
        + '2 rows matched query create_incomplete_consumers, 2 migrated\n'
        + TABLE.format(roots=100, consumers=2),
        '',
    )
    assert run(*words) == (0, UNLIMITED + TABLE.format(roots=0, consumers=0), '')


@pytest.mark.usefixtures('old_data')
def test_a_maximum_counts_for_all_migrations_together(run: Run) -> None:
    words = ('db', 'online_data_migrations', '--max-count', '2')
    assert run(*words) == (
        1,
        '2 rows matched query set_root_provider_ids, 2 migrated\n' + NEGLECTED,
        '',
    )
    assert run(*words) == (
        1,
        '1 rows matched query set_root_provider_ids, 1 migrated\n'
        '1 rows matched query create_incomplete_consumers, 1 migrated\n'
        + TABLE.format(roots=1, consumers=1),
        '',
    )
    assert run(*words) == (
        1,
        '1 rows matched query create_incomplete_consumers, 1 migrated\n'
        + TABLE.format(roots=0, consumers=1),
        '',
    )
    assert run(*words) == (0, TABLE.format(roots=0, consumers=0), '')


@pytest.mark.usefixtures('old_data')
@pytest.mark.parametrize('count', ['0', '-1', 'x', '1.5', ''])
def test_a_maximum_has_to_be_a_positive_number(run: Run, count: str) -> None:
    assert run('db', 'online_data_migrations', f'--max-count={count}') == (
        127,
        'Must supply a positive value for max_count\n',
        '',
    )


def test_consumers_are_created_for_the_configured_project_and_user(
    run: Run, old_data: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OS_PLACEMENT__INCOMPLETE_CONSUMER_PROJECT_ID', 'that project')
    monkeypatch.setenv('OS_PLACEMENT__INCOMPLETE_CONSUMER_USER_ID', 'that user')
    run('db', 'online_data_migrations')
    with old_data.begin(Mode.READ) as connection:
        assert connection.scalars(sa.select(tables.projects.c.external_id)).all() == [
            'that project'
        ]
        assert connection.scalars(sa.select(tables.users.c.external_id)).all() == ['that user']


def fail(*_args: Any, **_named: Any) -> int:
    raise RuntimeError('no luck')


@pytest.mark.usefixtures('old_data')
def test_a_migration_that_fails_does_not_stop_the_others(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(data_migrations, 'set_root_provider_ids', fail)
    status, printed, _ = run('db', 'online_data_migrations')
    assert status == 2
    assert printed == (
        UNLIMITED
        + 'Error attempting to run set_root_provider_ids\n'
        + '2 rows matched query create_incomplete_consumers, 2 migrated\n'
        + 'Error attempting to run set_root_provider_ids\n'
        + TABLE.format(roots=0, consumers=2)
        + CHECK_LOG
    )
    assert 'Error attempting to run set_root_provider_ids' in caplog.text
    assert 'no luck' in caplog.text


@pytest.mark.usefixtures('old_data')
def test_there_may_be_more_although_a_migration_failed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_migrations, 'set_root_provider_ids', fail)
    words = ('db', 'online_data_migrations', '--max-count', '10')
    first, second = run(*words), run(*words)
    assert (first.status, CHECK_LOG in first.printed) == (1, False)
    assert (second.status, CHECK_LOG in second.printed) == (2, True)


@pytest.mark.usefixtures('old_data')
def test_a_failure_of_an_earlier_batch_is_not_forgotten(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = data_migrations.create_incomplete_consumers
    failures = [fail]

    def fail_once(*args: Any, **named: Any) -> int:
        return failures.pop()() if failures else create(*args, **named)

    monkeypatch.setattr(data_migrations, 'create_incomplete_consumers', fail_once)
    status, printed, _ = run('db', 'online_data_migrations')
    assert status == 2
    assert printed.endswith(TABLE.format(roots=3, consumers=2) + CHECK_LOG)


@pytest.mark.parametrize(
    ('revision', 'status', 'words'),
    [(None, 0, f'-> {HEAD}'), ('b4ed3a175331', 1, 'Traceback|no such table')],
)
def test_standard_output_is_kept_clear_of_the_log_and_of_tracebacks(
    engine: sa.Engine, revision: str | None, status: int, words: str
) -> None:
    """Run the command in a process, so that it sets up logging."""
    if revision is not None:
        migration.stamp(engine, revision)
    process = subprocess.run(
        [sys.executable, '-m', 'placement.cmd.manage', 'db', 'sync'],
        cwd=Path(placement.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout) == (status, '')
    assert [part for part in words.split('|') if part not in process.stderr] == []
