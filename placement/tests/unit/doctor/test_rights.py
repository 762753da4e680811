# SPDX-License-Identifier: Apache-2.0
"""Rights of the account of the service, by the modes of real files."""

import dataclasses
import os
import pathlib
import pwd

import pytest

from placement.doctor import check, rights
from placement.doctor.check import Account, Code, Deployment
from placement.tests.unit.doctor.conftest import Configure, expect


@pytest.fixture
def log(configure: Configure, directory: pathlib.Path, stranger: Account) -> Deployment:
    """A service that runs as somebody, with a log in a directory."""
    deployment = configure(f'[DEFAULT]\nlog_dir = {directory}/log\nlog_file = placement.log\n')
    return dataclasses.replace(deployment, account=stranger)


def give(path: pathlib.Path, owner: Account, mode: int) -> None:
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, owner.user_id, owner.group_id)


def close(path: pathlib.Path) -> None:
    """Keep everybody but root from writing."""
    path.chmod(0o555)


def test_log_that_does_not_exist_yet_passes_where_it_can_be_made(
    log: Deployment, directory: pathlib.Path
) -> None:
    (directory / 'log').mkdir()
    give(directory / 'log', log.account, 0o755)

    words = f'The user {log.account.name} may write {directory}/log/placement.log.'
    expect(rights.check_log(log), Code.SUCCESS, words)


@pytest.mark.parametrize('name', ['placement.log', '.'])
def test_log_or_directory_of_another_user_is_a_failure(
    log: Deployment, directory: pathlib.Path, name: str
) -> None:
    (directory / 'log').mkdir()
    give(directory / 'log', log.account, 0o755)
    closed = (directory / 'log' / name).resolve()
    if name != '.':
        closed.touch()
    elif os.geteuid() == 0:
        os.chown(closed, 0, 0)
    close(closed)

    words = f'The user {log.account.name} may not write {closed}: the log goes to standard error'
    remedy = f'Run chown {log.account.name} {closed}, and run commands as that user.'
    expect(rights.check_log(log), Code.FAILURE, words, remedy)


@pytest.mark.parametrize('file', ['', 'log_file = placement.log'])
def test_missing_directory_of_logs_is_a_failure(
    configure: Configure, directory: pathlib.Path, file: str
) -> None:
    result = rights.check_log(configure(f'[DEFAULT]\nlog_dir = {directory}/log\n{file}\n'))

    expect(result, Code.FAILURE, f'The directory {directory}/log does not exist.')


def test_standard_error_needs_no_rights(configure: Configure) -> None:
    expect(rights.check_log(configure()), Code.SUCCESS)


@pytest.mark.parametrize(('is_there', 'code'), [(False, Code.WARNING), (True, Code.SUCCESS)])
def test_home_directory_has_to_exist(
    configure: Configure, directory: pathlib.Path, is_there: bool, code: Code
) -> None:
    deployment = configure()
    home = str(directory if is_there else directory / 'nowhere')
    account_of_home = dataclasses.replace(deployment.account, home=home)

    result = rights.check_home(dataclasses.replace(deployment, account=account_of_home))

    expect(result, code, home)


@pytest.fixture
def database(configure: Configure, directory: pathlib.Path, stranger: Account) -> Deployment:
    """A service with an SQLite database in a directory of its own."""
    (directory / 'data').mkdir()
    give(directory / 'data', stranger, 0o755)
    url = f'sqlite:///{directory}/data/placement.sqlite'
    deployment = configure(f'[placement_database]\nconnection = {url}\n')
    return dataclasses.replace(deployment, account=stranger)


def test_missing_database_file_is_a_failure_and_not_made(
    database: Deployment, directory: pathlib.Path
) -> None:
    remedy = f'Run "placement-manage db sync" as the user {database.account.name}.'
    expect(rights.check_sqlite_file(database), Code.FAILURE, remedy)
    assert list((directory / 'data').iterdir()) == []


def test_database_file_that_can_be_written_passes(
    database: Deployment, directory: pathlib.Path
) -> None:
    file = directory / 'data' / 'placement.sqlite'
    file.touch()
    give(file, database.account, 0o600)

    expect(rights.check_sqlite_file(database), Code.SUCCESS)


@pytest.mark.parametrize('name', ['placement.sqlite', '.'])
def test_database_file_or_directory_of_another_user_is_a_failure(
    database: Deployment, directory: pathlib.Path, name: str
) -> None:
    file = directory / 'data' / 'placement.sqlite'
    file.touch()
    give(file, database.account, 0o600)
    closed = (directory / 'data' / name).resolve()
    if os.geteuid() == 0:
        os.chown(closed, 0, 0)
    close(closed)

    expect(rights.check_sqlite_file(database), Code.FAILURE, f'may not write {closed}: ')


@pytest.mark.parametrize('url', ['sqlite://', 'mysql+pymysql://db/placement'])
def test_servers_and_memory_have_no_file(configure: Configure, url: str) -> None:
    deployment = configure(f'[placement_database]\nconnection = {url}\n')

    assert rights.check_sqlite_file(deployment) is None


# Whose rights are asked for.


def test_account_is_that_of_this_process_unless_it_is_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check, 'DEFAULT_NAME', 'nobody')
    expected = 'nobody' if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name

    assert check.find_account(None).name == expected


def test_root_stands_for_itself_where_the_service_has_no_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check, 'DEFAULT_NAME', 'no such user')

    assert check.find_account(None).user_id == os.geteuid()


def test_number_without_an_account_is_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'geteuid', lambda: 54321)
    monkeypatch.setenv('HOME', '/home/of/54321')

    assert check.find_account(None) == Account('54321', 54321, os.getegid(), '/home/of/54321')


def test_unknown_user_is_refused() -> None:
    with pytest.raises(check.UnknownAccount, match='there is no user nosuchuser'):
        check.find_account('nosuchuser')


def test_only_root_can_ask_for_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'geteuid', lambda: 54321)

    with pytest.raises(check.UnknownAccount, match='only root can tell what the user nobody'):
        check.find_account('nobody')


@pytest.fixture
def metrics(configure: Configure, directory: pathlib.Path, stranger: Account) -> Deployment:
    """A service that runs as somebody, with metrics in a directory that is not there yet."""
    text = f'[metrics]\nenabled = true\ndirectory = {directory}/run/metrics\n'
    return dataclasses.replace(configure(text), account=stranger)


def test_directory_for_metrics_passes_where_it_can_be_made(
    metrics: Deployment, directory: pathlib.Path
) -> None:
    (directory / 'run').mkdir()
    give(directory / 'run', metrics.account, 0o755)

    words = f'The user {metrics.account.name} may write {directory}/run/metrics.'
    expect(rights.check_metrics(metrics), Code.SUCCESS, words)


def test_directory_for_metrics_that_cannot_be_made_is_a_warning(
    metrics: Deployment, directory: pathlib.Path
) -> None:
    (directory / 'run').mkdir()
    close(directory / 'run')

    words = f'may not write {directory}/run: nothing is counted in {directory}/run/metrics.'
    expect(rights.check_metrics(metrics), Code.WARNING, words)


def test_directory_for_metrics_is_of_no_interest_while_they_are_off(configure: Configure) -> None:
    assert rights.check_metrics(configure()) is None
