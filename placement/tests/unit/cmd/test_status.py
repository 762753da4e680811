# SPDX-License-Identifier: Apache-2.0
"""Results and exit status of the upgrade check."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.cmd import status
from placement.db.engine.database import Database
from placement.db.schema import data_migrations, tables
from placement.tests.unit.cmd.conftest import Run

Check = Callable[[], tuple[int, dict[str, Any]]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """A function that runs the check: its status, and by name the result and the details."""

    def run_check() -> tuple[int, dict[str, Any]]:
        exit_status = status.main(['upgrade', 'check', '--json'])
        report = json.loads(capsys.readouterr().out)
        assert report['name'] == 'Upgrade Check Results'
        return exit_status, {
            found['check']: (found['result'], found['details']) for found in report['checks']
        }

    return run_check


@pytest.mark.usefixtures('database')
def test_a_complete_database_passes_every_check(check: Check) -> None:
    names = (
        'Schema Revisions', 'Missing Root Provider IDs', 'Incomplete Consumers',
        'Policy File JSON to YAML Migration',
    )  # fmt: skip
    assert check() == (0, dict.fromkeys(names, (0, None)))


def test_incomplete_consumers_are_a_warning_with_their_number(
    check: Check, old_data: Database
) -> None:
    with old_data.engine.begin() as connection:
        connection.execute(sa.delete(tables.resource_providers))
    exit_status, found = check()
    assert exit_status == 1
    assert found['Missing Root Provider IDs'] == (0, None)
    result, details = found['Incomplete Consumers']
    assert result == 1
    assert ': 2. ' in details
    assert 'online_data_migrations' in details


@pytest.mark.usefixtures('old_data')
def test_missing_roots_are_a_failure_and_online_data_migrations_the_remedy(
    check: Check, run: Run
) -> None:
    exit_status, found = check()
    result, details = found['Missing Root Provider IDs']
    assert (exit_status, result) == (2, 2)
    assert 'online_data_migrations' in details

    assert run('db', 'online_data_migrations').status == 0
    assert check()[0] == 0


@pytest.mark.usefixtures('database')
def test_a_policy_file_in_json_is_a_failure(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / 'policy.json'
    path.write_text('{"admin_api": "role:admin"}')
    monkeypatch.setenv('OS_OSLO_POLICY__POLICY_FILE', str(path))
    exit_status, found = check()
    assert exit_status == 2
    assert found['Policy File JSON to YAML Migration'][0] == 2


def test_missing_tables_are_a_failure_with_the_remedy(check: Check, tmp_path: Path) -> None:
    (tmp_path / 'placement.db').touch()
    exit_status, found = check()
    assert exit_status == 2
    for name in ('Schema Revisions', 'Missing Root Provider IDs', 'Incomplete Consumers'):
        result, details = found[name]
        assert result == 2
        assert 'placement-manage db sync' in details.replace('\n', ' ')


def test_another_revision_is_a_failure_with_the_remedy(check: Check, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE placement_alembic_version SET version_num = 'c40d9e2a715b'"
        )
    exit_status, found = check()
    assert exit_status == 2
    assert 'placement-manage db sync' in found['Schema Revisions'][1].replace('\n', ' ')
    assert found['Missing Root Provider IDs'] == (0, None)


@pytest.mark.usefixtures('database')
def test_an_error_of_a_check_is_unexpected_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_context: Any) -> int:
        raise RuntimeError('no luck')

    monkeypatch.setattr(data_migrations, 'count_incomplete_consumers', fail)
    assert status.main(['upgrade', 'check']) == 255
    assert 'no luck' in capsys.readouterr().out
