# SPDX-License-Identifier: Apache-2.0
"""The command line, its output and its exit status."""

import json
import logging
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from placement.cmd import manage
from placement.db.engine.engines import create_engine
from placement.db.schema import migration
from placement.doctor import check, command
from placement.tests.unit.cmd.conftest import Outcome, Run


@pytest.fixture
def run(
    directory: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """A function that runs the command for a configuration file."""
    monkeypatch.setenv('HOME', str(directory))

    def run_command(text: str, *words: str) -> Outcome:
        file = directory / 'placement.conf'
        file.write_text(text)
        status = manage.main(['--config-file', str(file), 'doctor', *words])
        return Outcome(status, *capsys.readouterr())

    return run_command


@pytest.fixture
def healthy(directory: pathlib.Path) -> str:
    """The text of a configuration that nothing but noauth2 can be said of."""
    url = f'sqlite:///{directory}/placement.sqlite'
    engine = create_engine(url)
    migration.sync(engine)
    engine.dispose()
    return f'[placement_database]\nconnection = {url}\n[api]\nauth_strategy = noauth2\n'


def test_healthy_deployment_has_status_0_although_something_could_be_better(
    run: Run, healthy: str
) -> None:
    status, printed, complained = run(healthy)

    *lines, summary = printed.splitlines()
    assert (status, complained) == (0, '')
    assert 'WARNING  authentication: Callers are not authenticated: ' in printed
    assert '         -> Set [api] auth_strategy = keystone, ' in printed
    assert [line for line in lines if line.startswith('FAILURE')] == []
    assert summary.startswith('0 failed, 1 with a warning, ')


def test_failure_has_status_1(run: Run, directory: pathlib.Path) -> None:
    url = f'sqlite:///{directory}/placement.sqlite'
    (directory / 'placement.sqlite').touch()

    status, printed, _ = run(f'[placement_database]\nconnection = {url}\n')

    assert status == 1
    assert 'FAILURE  database schema: The database has no tables.\n' in printed
    assert '         -> Run "placement-manage db sync".\n' in printed
    assert 'database writes' not in printed


def test_json_has_every_result(run: Run, healthy: str) -> None:
    status, printed, complained = run(healthy, '--format', 'json')

    found = json.loads(printed)
    by_name: dict[str, Any] = {check['name']: check for check in found['checks']}
    assert (status, complained, found['status']) == (0, '', 'warning')
    assert by_name['database schema']['status'] == 'ok'
    assert by_name['database schema']['remedy'] is None
    assert set(by_name['authentication']) == {'name', 'status', 'found', 'remedy'}


def test_missing_connection_is_a_failure_and_no_traceback(run: Run) -> None:
    status, printed, complained = run('', '--format', 'json')

    assert (status, complained, json.loads(printed)['status']) == (1, '', 'failure')
    assert '[placement_database] connection is not set.' in printed


@pytest.mark.parametrize('text', ['no section', '[api]\nauth_strategy'])
def test_file_that_cannot_be_read_has_status_2(run: Run, text: str) -> None:
    assert manage.main(['--config-file', '/nowhere/placement.conf', 'doctor']) == 2
    status, printed, complained = run(text)

    assert (status, printed) == (2, '')
    for file, line in zip(('/nowhere/', ''), complained.split('\nFAILURE'), strict=True):
        assert 'doctor: The configuration cannot be read. ' in line
        assert f'{file}placement.conf' in line


def test_unknown_user_has_status_2(run: Run, healthy: str) -> None:
    status, printed, complained = run(healthy, '--user', 'nosuchuser')

    assert (status, printed) == (2, '')
    assert 'there is no user nosuchuser' in complained


@pytest.mark.skipif(os.geteuid() != 0, reason='of root only')
def test_rights_are_those_of_the_user_that_is_named(
    run: Run, healthy: str, directory: pathlib.Path
) -> None:
    log = directory / 'placement.log'
    log.touch()
    log.chmod(0o644)
    text = f'[DEFAULT]\nlog_file = {log}\n{healthy}'
    status, printed, _ = run(text, '--user', 'nobody')

    assert status == 1
    assert f'FAILURE  log file: The user nobody may not write {log}: ' in printed
    assert run(text, '--user', 'root').status == 0
    # It was not opened, let alone written or made.
    assert log.read_bytes() == b''
    log.unlink()
    run(text)
    assert not log.exists()


def test_command_ends_though_a_check_hangs(directory: pathlib.Path, healthy: str) -> None:
    file = directory / 'placement.conf'
    file.write_text(healthy)
    code = (
        'import sys, time\n'
        'from placement.cmd import manage\n'
        'from placement.doctor import command\n'
        'def wait(deployment): time.sleep(1000)\n'
        'command.TIMEOUT = 0.2\n'
        'command.CHECKS = (command.ListedCheck("for ever", wait),)\n'
        f'sys.exit(manage.main(["--config-file", "{file}", "doctor"]))\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 1, done.stderr
    assert 'FAILURE  for ever: The check did not end within 0.2 s.' in done.stdout


@pytest.mark.parametrize('words', ['', '--format json'])
def test_reader_that_has_seen_enough_causes_no_traceback(
    directory: pathlib.Path, healthy: str, words: str
) -> None:
    file = directory / 'placement.conf'
    file.write_text(healthy)
    command = f'{sys.executable} -m placement.cmd.manage --config-file {file} doctor {words}'
    done = subprocess.run(
        f'{command} | true', shell=True, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ''


def test_interrupted_command_causes_no_traceback(
    run: Run, healthy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, 'run_check', interrupt)

    assert run(healthy) == (2, '', '')


def test_warnings_of_libraries_are_not_printed(
    run: Run, healthy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(_deployment: object) -> check.CheckResult:
        logging.getLogger('some.library').warning('look at me')
        return check.ok('None.')

    monkeypatch.setattr(command, 'CHECKS', (command.ListedCheck('noise', warn),))

    assert run(healthy) == (
        0,
        'OK       noise: None.\n0 failed, 0 with a warning, 1 passed.\n',
        '',
    )
