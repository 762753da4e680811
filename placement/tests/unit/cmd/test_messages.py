# SPDX-License-Identifier: Apache-2.0
"""Each mistake in a deployment is reported in one line, without a traceback."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from oslo_config import cfg
from oslo_log import log

from placement import wsgi
from placement.cmd import manage, status
from placement.db.engine.engines import MissingDriverError, create_engine
from placement.db.schema.revisions import MissingSchemaError
from placement.tests.unit.cmd.conftest import Run

CANNOT = 'The configuration cannot be used: '


@pytest.fixture
def file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A configuration file; no variable names a database."""
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION')
    path = tmp_path / 'etc' / 'placement.conf'
    path.parent.mkdir()
    path.write_text('')
    return path


def write(file: pathlib.Path, url: str, text: str = '') -> None:
    file.write_text(f'[placement_database]\nconnection = {url}\n{text}')


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'connection in group [placement_database]: it is not set in {file}'),
        (
            b'[placement_databse]\nconnection = sqlite://\n',
            '{file}; unknown: [placement_databse] (did you mean [placement_database]?)',
        ),
        (b'\xff\xfejunk', '{file} is not a text in UTF-8: invalid start byte'),
        (b'no section', '{file}'),
        (None, 'Failed to find some config files: {file}'),
    ],
)
def test_configuration_that_cannot_be_used_is_named(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    file: pathlib.Path,
    content: bytes | None,
    words: str,
) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)

    outcome = run('--config-file', str(file), 'db', 'version')
    assert status.main([f'--config-file={file}', 'upgrade', 'check']) == status.UNEXPECTED

    assert (outcome.status, outcome.printed) == (1, '')
    for complained in (outcome.complained, capsys.readouterr().err):
        assert complained.startswith(CANNOT)
        assert words.format(file=file) in complained


def test_places_are_named_where_no_configuration_was_found(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION')

    outcome = run('db', 'version')

    assert 'no configuration file was found in ' in outcome.complained
    assert '/etc/placement, /etc' in outcome.complained
    with pytest.raises(cfg.RequiredOptError, match='no configuration file was found in '):
        wsgi.init_application()


AS_NOBODY = """
import os, sys
from placement.cmd import manage
os.setgroups([])
os.setuid(65534)
sys.exit(manage.main(sys.argv[1:]))
"""


def run_as_nobody(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command under an account without rights, its modules loaded before."""
    code = AS_NOBODY if os.geteuid() == 0 else AS_NOBODY.replace('os.set', 'id or os.set')
    return subprocess.run(
        [sys.executable, '-c', code, *words],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures('file')
def test_files_that_may_not_be_read_or_written_are_named(tmp_path: pathlib.Path) -> None:
    # Not below the directory of pytest, which others may not enter.
    directory = pathlib.Path(os.path.realpath('/tmp'), f'placement-{os.getpid()}-{tmp_path.name}')
    directory.mkdir(mode=0o755)
    file, log_file = directory / 'placement.conf', directory / 'placement.log'
    closed = directory / 'home' / '.placement'
    try:
        write(file, 'sqlite://', f'[DEFAULT]\nlog_file = {log_file}\n')
        log_file.touch(mode=0o400)
        log_file.chmod(0o400)
        unwritable = run_as_nobody('--config-file', str(file), 'db', 'sync')
        file.chmod(0o600 if os.geteuid() == 0 else 0)
        unreadable = run_as_nobody('--config-file', str(file), 'db', 'sync')
        closed.parent.mkdir(mode=0o755)
        closed.mkdir(mode=0o700 if os.geteuid() == 0 else 0)
        hidden = run_as_nobody('db', 'sync', HOME=str(closed.parent))
    finally:
        shutil.rmtree(directory)

    assert unreadable.stderr == (
        f'{CANNOT}Failed to open some config files: {file}: permission denied\n'
    )
    assert unwritable.stderr == (
        f'The log {log_file} cannot be opened: Permission denied. Run the command as the user of '
        'the service, who has to own the file.\n'
    )
    assert f'; permission denied for {closed}' in hidden.stderr
    assert {unreadable.returncode, unwritable.returncode, hidden.returncode} == {1}


def test_misspelt_names_are_warned_of(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log, 'setup', lambda *_args: None)
    write(file, 'sqlite://', '[placment]\nsearch_budget = 1\n[api]\nauth_strateg = noauth2\n')

    assert manage.main(['--config-file', str(file), 'db', 'version']) == 0

    warnings = [record.getMessage() for record in caplog.records if record.levelname == 'WARNING']
    words = 'Unknown in the configuration, and without effect:'
    assert warnings == [
        f'{words} [placment] (did you mean [placement]?).',
        f'{words} [api] auth_strateg (did you mean auth_strategy?).',
    ]


def test_missing_driver_is_named_with_its_extra(
    run: Run, file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = r"pymysql cannot be used: .* Run pip install 'openstack-placement\[mysql\]'"
    # What Python sees of a module that is not installed.
    monkeypatch.setitem(sys.modules, 'pymysql', None)
    write(file, 'mysql+pymysql://db/placement')

    outcome = run('--config-file', str(file), 'db', 'sync')

    assert (outcome.status, len(outcome.complained.splitlines())) == (1, 1)
    with pytest.raises(MissingDriverError, match=words):
        create_engine('mysql+pymysql://db/placement')
    assert outcome.complained.endswith("Run pip install 'openstack-placement[mysql]'.\n")


def test_missing_file_of_sqlite_is_named_and_not_made(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    words = f'The database file {tmp_path}/placement.db does not exist. Run "placement-manage db'

    assert words in run('db', 'version').complained
    assert words in run('db', 'online_data_migrations').complained
    assert status.main(['upgrade', 'check']) == 2
    assert words in capsys.readouterr().err
    with pytest.raises(MissingSchemaError, match='does not exist'):
        wsgi.init_application()
    assert not (tmp_path / 'placement.db').exists()


def test_interrupted_command_leaves_no_traceback(tmp_path: pathlib.Path) -> None:
    """Interrupt a command that waits for a database server without answers."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        url = f'mysql+pymysql://db@127.0.0.1:{server.getsockname()[1]}/placement'
        process = subprocess.Popen(
            [sys.executable, '-m', 'placement.cmd.manage', 'db', 'sync'],
            env=os.environ | {'OS_PLACEMENT_DATABASE__CONNECTION': url, 'HOME': str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
            # A shell without job control ignores it in what it runs in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        connection, _ = server.accept()
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=60)
        connection.close()

    assert (process.returncode, complained) == (130, 'Interrupted.\n')
