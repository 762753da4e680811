# SPDX-License-Identifier: Apache-2.0
"""A SQLite file that others lock, replace, remove or damage while a service uses it."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_log import log

from placement import errors
from placement.cmd import manage, status
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.microversions import NEWEST
from placement.tests.waiting import TIMEOUT

from .fixtures import applications, clouds, databases
from .fixtures.backends import on_sqlite
from .fixtures.client import Client

pytestmark = on_sqlite

HOST = clouds.uuid_of('host')
READS = ('/', '/traits', '/allocation_candidates?resources=VCPU:1', '/healthcheck')
#: The threads of a server that may be occupied at once.
THREADS = 4


@pytest.fixture
def file(url: str) -> pathlib.Path:
    return pathlib.Path(url.removeprefix('sqlite:///'))


@contextlib.contextmanager
def serving(file: pathlib.Path, lock_timeout: int = 20) -> Iterator[applications.Worker]:
    options = {('placement_database', 'lock_timeout'): lock_timeout}
    with applications.serving(f'sqlite:///{file}', options) as client:
        yield client


def allocations(client: Client, name: str) -> Any:
    path = f'/allocations/{clouds.uuid_of(name)}'
    return client.send('GET', path, version=NEWEST).json['allocations']


def add_host(client: Client) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 1000}),), client)


@contextlib.contextmanager
def foreign_lock(file: pathlib.Path) -> Iterator[None]:
    """Hold the write lock, as another program."""
    other = sqlite3.connect(file, isolation_level=None)
    with contextlib.closing(other):
        other.execute('BEGIN IMMEDIATE')
        yield
        other.execute('ROLLBACK')


def test_reads_do_not_wait_while_another_program_has_the_write_lock(file: pathlib.Path) -> None:
    """Read while another program has the lock, and writers wait for it."""
    with serving(file) as client:
        add_host(client)
        with (
            concurrent.futures.ThreadPoolExecutor(2 * THREADS) as threads,
            foreign_lock(file),
        ):
            writers = [
                threads.submit(clouds.put_claim, client, f'server-{n}') for n in range(THREADS)
            ]
            readers = [threads.submit(client.send, 'GET', path, version=NEWEST) for path in READS]
            assert [reader.result(60).status for reader in readers] == [200] * len(READS)
            assert [writer.done() for writer in writers] == [False] * THREADS
        assert [writer.result().status for writer in writers] == [204] * THREADS


def test_writers_wait_for_a_program_that_works_for_long(file: pathlib.Path) -> None:
    """Hold the lock for 4 seconds, with a `lock_timeout` of 60, for writers of two services."""
    with serving(file, lock_timeout=60) as client, serving(file, lock_timeout=60) as other:
        add_host(client)
        with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
            with foreign_lock(file):
                writers = [
                    threads.submit(clouds.put_claim, (client, other)[n % 2], f'server-{n}')
                    for n in range(THREADS)
                ]
                concurrent.futures.wait(writers, timeout=4)
                assert [writer.done() for writer in writers] == [False] * THREADS
            assert [writer.result().status for writer in writers] == [204] * THREADS


def test_writers_are_answered_503_after_the_lock_timeout(file: pathlib.Path) -> None:
    with serving(file, lock_timeout=2) as client:
        add_host(client)
        with (
            concurrent.futures.ThreadPoolExecutor(THREADS) as threads,
            foreign_lock(file),
        ):
            started = time.monotonic()
            names = [f'server-{n}' for n in range(THREADS)]
            answers = list(threads.map(lambda name: clouds.put_claim(client, name), names))
            assert {answer.status for answer in answers} == {503}
            assert 'busy' in answers[0].text
            assert time.monotonic() - started >= 2
        assert clouds.put_claim(client, 'server').status == 204


def test_writers_wait_for_a_program_that_goes_on_writing(file: pathlib.Path) -> None:
    with serving(file) as client:
        add_host(client)
        is_over = threading.Event()

        def write() -> None:
            other = sqlite3.connect(file, isolation_level=None, timeout=60)
            with contextlib.closing(other):
                while not is_over.is_set():
                    other.execute('BEGIN IMMEDIATE')
                    other.execute('UPDATE users SET updated_at = created_at')
                    time.sleep(0.2)
                    other.execute('COMMIT')
                    # Long enough for somebody to be given a turn on a busy machine.
                    time.sleep(0.05)

        with concurrent.futures.ThreadPoolExecutor(THREADS + 1) as threads:
            writing = threads.submit(write)
            try:
                names = [f'server-{n}' for n in range(THREADS)]
                answers = threads.map(lambda name: clouds.put_claim(client, name), names)
                assert {answer.status for answer in answers} == {204}
            finally:
                is_over.set()
            writing.result(60)


def is_sound(file: pathlib.Path) -> bool:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute('PRAGMA integrity_check').fetchall() == [('ok',)]


def test_file_replaced_by_mv_is_noticed(stored: databases.Database, file: pathlib.Path) -> None:
    """Replace the file but not its log, which must not be applied to the new file."""
    with serving(file) as client, serving(file) as other:
        add_host(client)
        assert clouds.put_claim(client, 'before').status == 204
        copy = file.with_suffix('.backup')
        copy.write_bytes(stored.contents())
        for number in range(50):
            assert clouds.put_claim((client, other)[number % 2], f'lost-{number}').status == 204

        os.replace(copy, file)

        assert allocations(client, 'lost-1') == {}
        assert HOST in allocations(other, 'before')
        for number in range(50):
            assert clouds.put_claim((client, other)[number % 2], f'after-{number}').status == 204
        for reader in (client, other):
            assert HOST in allocations(reader, 'after-1')
            assert allocations(reader, 'lost-1') == {}
            assert reader.send('GET', '/healthcheck').status == 200
    assert is_sound(file)
    with serving(file) as client:
        assert HOST in allocations(client, 'after-49')


def test_missing_file_is_answered_503_and_not_made_anew(file: pathlib.Path) -> None:
    with serving(file) as client:
        add_host(client)
        aside = file.with_suffix('.aside')
        os.rename(file, aside)
        for path in ('/traits', '/healthcheck'):
            assert client.send('GET', path, version=NEWEST).status == 503
        assert clouds.put_claim(client, 'server').status == 503
        assert not file.exists()
        os.rename(aside, file)
        assert clouds.put_claim(client, 'server').status == 204
        assert client.send('GET', '/healthcheck').status == 200


LOGS = (('-wal', '-shm'), ('-wal',), ('-shm',))


def remove(file: pathlib.Path, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        file.with_name(file.name + suffix).unlink()


@pytest.mark.parametrize('suffixes', LOGS, ids=' '.join)
def test_removed_log_loses_nothing_acknowledged(
    file: pathlib.Path, suffixes: tuple[str, ...]
) -> None:
    names = [f'server-{n}' for n in range(10)]
    with serving(file) as client, serving(file) as other:
        add_host(client)
        for number, name in enumerate(names):
            assert clouds.put_claim((client, other)[number % 2], name).status == 204
        remove(file, suffixes)
        for worker in (client, other):
            answer = clouds.put_claim(worker, 'late')
            assert answer.status == 503
            assert 'operator' in answer.text
            assert worker.send('GET', '/healthcheck').status == 503
        # What a crash of all workers leaves.
        after = file.with_suffix('.after')
        shutil.copy(file, after)
    assert is_sound(after)
    for path in (after, file):
        with serving(path) as client:
            assert [name for name in names if not allocations(client, name)] == []
            assert allocations(client, 'late') == {}
            assert clouds.put_claim(client, 'late').status == 204


def test_log_removed_during_a_write_loses_nothing_acknowledged(file: pathlib.Path) -> None:
    with serving(file) as client:
        add_host(client)
        with client.database.begin(Mode.WRITE) as connection:
            connection.execute(sa.text("INSERT INTO traits (name) VALUES ('CUSTOM_KEPT')"))
            remove(file, ('-wal', '-shm'))
        after = file.with_suffix('.after')
        shutil.copy(file, after)
    with serving(after) as another:
        assert another.send('GET', '/traits/CUSTOM_KEPT', version=NEWEST).status == 204


WRITE = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute('UPDATE users SET updated_at = created_at')
"""


def test_write_to_a_log_that_was_replaced_is_not_acknowledged(
    file: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Remove the log during a write, and write with another program, which creates a new log."""
    with serving(file) as client:
        add_host(client)

        def write() -> None:
            with client.database.begin(Mode.WRITE) as connection:
                connection.execute(sa.text("INSERT INTO traits (name) VALUES ('CUSTOM_LOST')"))
                remove(file, ('-wal', '-shm'))
                subprocess.run([sys.executable, '-c', WRITE, str(file)], check=True)

        with pytest.raises(errors.OutcomeUnknown):
            write()
        assert clouds.put_claim(client, 'server').status == 503
        assert client.send('GET', '/healthcheck').status == 503
    assert 'changes may be lost' in caplog.text


@contextlib.contextmanager
def limited_file_size(size: int) -> Iterator[None]:
    """Make every write beyond a size fail, as a full disk does."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_full_disk_is_answered_503_until_there_is_room(file: pathlib.Path) -> None:
    with serving(file) as client:
        add_host(client)
        size = file.with_name(f'{file.name}-wal').stat().st_size
        with limited_file_size(size):
            answer = clouds.put_claim(client, 'server')
            assert answer.status == 503, answer.text
            assert 'INSERT' not in answer.text
            assert client.send('GET', '/healthcheck').status == 503
            assert client.send('GET', '/traits', version=NEWEST).status == 200
        assert clouds.put_claim(client, 'server').status == 204
        assert client.send('GET', '/healthcheck').status == 200


def damage(file: pathlib.Path) -> None:
    """Overwrite all pages except the first."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b'\xff' * (len(content) - 4096))


def test_corrupt_file_is_answered_503_and_logged_without_a_traceback(
    file: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(file) as client:
        add_host(client)
        damage(file)
        caplog.clear()
        for path in ('/traits', '/healthcheck'):
            answer = client.send('GET', path, version=NEWEST)
            assert answer.status == 503
            assert 'malformed' not in answer.text
        assert any('malformed' in record.getMessage() for record in caplog.records)
        assert [record for record in caplog.records if record.exc_info] == []


def test_file_that_is_overwritten_under_a_connection_is_answered_503(file: pathlib.Path) -> None:
    with serving(file) as client:
        add_host(client)
        damage(file)
        with file.open('r+b') as opened:
            opened.write(b'this is no database ' * 5)
        for name in ('one', 'two'):
            assert clouds.put_claim(client, name).status == 503


def spoil(file: pathlib.Path, kind: str) -> None:
    """Replace a file with garbage, a damaged database or a directory."""
    if kind == 'garbage':
        file.write_bytes(b'this is no database ' * 500)
    elif kind == 'damaged':
        damage(file)
    else:
        file.unlink()
        file.mkdir()


COMMANDS = {
    'db sync': (manage.main, 1),
    'db version': (manage.main, 1),
    'db stamp head': (manage.main, 1),
    'db online_data_migrations': (manage.main, 2),
    'upgrade check': (status.main, 2),
}


# oslo.upgradecheck draws its table with a constant that prettytable has deprecated.
@pytest.mark.filterwarnings("ignore:the 'ALL' constant:DeprecationWarning")
@pytest.mark.parametrize('words', COMMANDS)
@pytest.mark.parametrize('kind', ['garbage', 'damaged'])
def test_commands_say_in_a_line_that_the_file_is_damaged(
    file: pathlib.Path,
    kind: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', f'sqlite:///{file}')
    # It would replace the handlers that catch what is logged.
    monkeypatch.setattr(log, 'setup', lambda *_args: None)
    spoil(file, kind)
    command, exit_status = COMMANDS[words]

    assert command(words.split()) == exit_status

    printed = capsys.readouterr()
    text = ' '.join((printed.out + printed.err).replace('|', ' ').split())
    assert ('file is not a database' if kind == 'garbage' else 'image is malformed') in text
    assert 'Traceback' not in text
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize('kind', ['garbage', 'damaged', 'directory'])
def test_start_on_an_unusable_file_fails_at_once(file: pathlib.Path, kind: str) -> None:
    spoil(file, kind)
    started = time.monotonic()
    reason = r'malformed|not a database|unable to open'
    with pytest.raises(Exception, match=reason), serving(file, lock_timeout=2 * TIMEOUT):
        pytest.fail('the file is unusable')  # pragma: no cover
    assert time.monotonic() - started < TIMEOUT


def test_files_are_for_their_owner_and_group_alone(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'new.sqlite'
    before = os.umask(0o022)
    try:
        options = {('placement_database', 'sync_on_startup'): True}
        with applications.serving(f'sqlite:///{file}', options) as client:
            add_host(client)
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)

    assert modes == dict.fromkeys(('new.sqlite', 'new.sqlite-wal', 'new.sqlite-shm'), 0o640)


def test_file_that_is_not_there_is_not_made_for_reading(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'new.sqlite'
    engine = create_engine(f'sqlite:///file:{file}?mode=ro&uri=true')
    with pytest.raises(Exception, match='unable to open database file'):
        engine.connect()
    assert not file.exists()
