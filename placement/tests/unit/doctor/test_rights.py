# SPDX-License-Identifier: Apache-2.0
"""Rights of the account of the service, by the modes of real files."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import pwd

import pytest

from placement.doctor import check, rights
from placement.doctor.check import Check, Code
from placement.tests.unit.doctor.conftest import Configure, expect

LOG = '[DEFAULT]\nlog_dir = {0}/log\nlog_file = placement.log\n'
NAMELESS_LOG = '[DEFAULT]\nlog_dir = {0}/log\n'
DATABASE = '[placement_database]\nconnection = sqlite:///{0}/data/placement.sqlite\n'
METRICS = '[metrics]\nenabled = true\ndirectory = {0}/run/metrics\n'
LOG_FILE, DATABASE_FILE = 'log/placement.log', 'data/placement.sqlite'
STDERR = ': the log goes to standard error'


def close(path: pathlib.Path) -> None:
    """Give a path to root if possible, and make it read-only."""
    if os.geteuid() == 0:
        os.chown(path, 0, 0)
    path.chmod(0o555)


@pytest.mark.parametrize(
    ('run', 'text', 'there', 'closed', 'code', 'words'),
    [
        (rights.check_log, '', '', '', Code.SUCCESS, 'the log goes to standard error'),
        (rights.check_log, LOG, '', '', Code.FAILURE, 'directory {0}/log does not exist.'),
        (rights.check_log, NAMELESS_LOG, '', '', Code.FAILURE, '{0}/log does not exist.'),
        (rights.check_log, LOG, 'log/', '', Code.SUCCESS, '{1} may write {0}/log/placement.log.'),
        (rights.check_log, LOG, LOG_FILE, LOG_FILE, Code.FAILURE,
         '{0}/log/placement.log' + STDERR + '.|Run chown {1} {0}/log/placement.log,'),
        (rights.check_log, LOG, 'log/', 'log', Code.FAILURE, '{1} may not write {0}/log' + STDERR),
        # It is not made.
        (rights.check_sqlite_file, DATABASE, 'data/', '', Code.FAILURE, 'sync" as the user {1}.'),
        (rights.check_sqlite_file, DATABASE, DATABASE_FILE, '', Code.SUCCESS, ''),
        (rights.check_sqlite_file, DATABASE, DATABASE_FILE, DATABASE_FILE, Code.FAILURE,
         'may not write {0}/data/placement.sqlite: '),
        (rights.check_sqlite_file, DATABASE, DATABASE_FILE, 'data', Code.FAILURE,
         'may not write {0}/data: '),
        (rights.check_metrics, METRICS, 'run/', '', Code.SUCCESS, ' may write {0}/run/metrics.'),
        (rights.check_metrics, METRICS, 'run/', 'run', Code.WARNING,
         'may not write {0}/run: nothing is counted in {0}/run/metrics.'),
    ],
)  # fmt: skip
def test_service_has_to_be_able_to_write_its_files(
    configure: Configure,
    directory: pathlib.Path,
    stranger: pwd.struct_passwd,
    run: Check,
    text: str,
    there: str,
    closed: str,
    code: Code,
    words: str,
) -> None:
    """Create the files and directories `there`, and make `closed` unwritable for the service."""
    parent, _, file = there.rpartition('/')
    for name in filter(None, (parent, file and there)):
        path = directory / name
        path.touch() if name == there else path.mkdir()
        if os.geteuid() == 0:
            os.chown(path, stranger.pw_uid, stranger.pw_gid)
    if closed:
        close(directory / closed)
    before = sorted(directory.rglob('*.*'))
    deployment = dataclasses.replace(configure(text.format(directory)), account=stranger)

    expect(run(deployment), code, *words.format(directory, stranger.pw_name).split('|'))
    before.append(directory / 'placement.conf')
    assert sorted(directory.rglob('*.*')) == sorted(before)


@pytest.mark.parametrize(
    ('run', 'text'),
    [
        (rights.check_sqlite_file, '[placement_database]\nconnection = sqlite://\n'),
        (rights.check_sqlite_file, '[placement_database]\nconnection = mysql+pymysql://db/p\n'),
        (rights.check_metrics, ''),
    ],
)
def test_deployment_without_such_files_needs_no_rights(
    configure: Configure, run: Check, text: str
) -> None:
    assert run(configure(text)) is None


@pytest.mark.parametrize(('name', 'code'), [('nowhere', Code.WARNING), ('.', Code.SUCCESS)])
def test_home_directory_has_to_exist(
    configure: Configure,
    directory: pathlib.Path,
    stranger: pwd.struct_passwd,
    name: str,
    code: Code,
) -> None:
    account = pwd.struct_passwd((*stranger[:5], str(directory / name), ''))

    result = rights.check_home(dataclasses.replace(configure(), account=account))

    expect(result, code, account.pw_dir)


# Whose rights are asked for.


@pytest.mark.parametrize(('default', 'expected'), [('nobody', 'nobody'), ('no such user', 'root')])
def test_account_is_that_of_this_process_unless_it_is_root(
    monkeypatch: pytest.MonkeyPatch, default: str, expected: str
) -> None:
    """Expect root for itself only if the account of the service does not exist."""
    monkeypatch.setattr(check, 'DEFAULT_NAME', default)
    own = pwd.getpwuid(os.geteuid()).pw_name

    assert check.find_account(None).pw_name == (expected if os.geteuid() == 0 else own)


def test_number_without_an_account_is_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'geteuid', lambda: 54321)
    monkeypatch.setenv('HOME', '/home/of/54321')

    account = check.find_account(None)
    assert account[:1] + account[2:4] == ('54321', 54321, os.getegid())
    assert account.pw_dir == '/home/of/54321'
    with pytest.raises(check.UnknownAccount, match='only root can tell what the user nobody'):
        check.find_account('nobody')
