# SPDX-License-Identifier: Apache-2.0
"""A SQLite file that others lock, replace, remove or damage while a service uses it."""

import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_log import log

from placement.cmd import manage, status
from placement.db.engine.sqlite_lock import MAX_IDLE_SECONDS
from placement.microversions import NEWEST

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
def serving(file: pathlib.Path, lock_timeout: int = 20) -> Iterator[Client]:
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
    """Another program has the write lock."""
    other = sqlite3.connect(file, isolation_level=None)
    with contextlib.closing(other):
        other.execute('BEGIN IMMEDIATE')
        yield
        other.execute('ROLLBACK')


def test_reads_do_not_wait_while_another_program_has_the_write_lock(file: pathlib.Path) -> None:
    """Neither while more writers wait than a server has threads."""
    with serving(file, lock_timeout=30) as client:
        add_host(client)
        with (
            concurrent.futures.ThreadPoolExecutor(THREADS) as threads,
            foreign_lock(file),
        ):
            writers = [
                threads.submit(clouds.put_claim, client, f'server-{n}') for n in range(THREADS)
            ]
            started = time.monotonic()
            readers = [threads.submit(client.send, 'GET', path, version=NEWEST) for path in READS]
            assert [reader.result(60).status for reader in readers] == [200] * len(READS)
            assert time.monotonic() - started < 5 * MAX_IDLE_SECONDS
            # One of them tries on; another is refused at once.
            ended = concurrent.futures.as_completed(writers, timeout=60)
            refused = list(itertools.islice(ended, THREADS - 1))
            assert {writer.result().status for writer in refused} == {503}
            started = time.monotonic()
            assert clouds.put_claim(client, 'another').status == 503
            assert time.monotonic() - started < 5 * MAX_IDLE_SECONDS
        assert sorted(writer.result().status for writer in writers) == [204, 503, 503, 503]
        assert clouds.put_claim(client, 'another').status == 204


def test_writer_is_answered_503_after_the_lock_timeout(file: pathlib.Path) -> None:
    with serving(file, lock_timeout=2) as client:
        add_host(client)
        with foreign_lock(file):
            started = time.monotonic()
            answer = clouds.put_claim(client, 'server')
            assert answer.status == 503
            assert 'busy' in answer.text
            assert 2 <= time.monotonic() - started < 10
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
    """The log beside it is that of the old file, and must not be applied to the new one."""
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
    """Overwrite all pages but the first."""
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
    """Have garbage, a damaged database or a directory in place of a file."""
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
    with pytest.raises(Exception, match=r'malformed|not a database|unable to open'), serving(file):
        pytest.fail('the file is unusable')  # pragma: no cover
    assert time.monotonic() - started < 5
