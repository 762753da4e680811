# SPDX-License-Identifier: Apache-2.0
"""Database servers that a test may stop, crash and start as it likes."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

#: How long a server may take to start, in seconds, after a crash as well.
PATIENCE = 60

#: Where servers are when they are not among the commands of everybody.
PLACES = ('/usr/sbin', *map(str, pathlib.Path('/usr/lib/postgresql').glob('*/bin')))

#: What servers listen on: below those that systems lend to whoever connects to somebody.
PORTS = range(20000, 32000)


class PrivateServer:
    """A server with a directory of its own, listening on a port of its own."""

    #: The user that the server is run as by root, which it refuses to be run as.
    user: str
    #: The databases of the server, and how connections are cut that are in a transaction.
    scheme: str
    cut: str

    def __init__(self) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='placement-server-'))
        self.data = self.directory / 'data'
        self.data.mkdir()
        self.port = free_port()
        if os.getuid() == 0:
            for path in (self.directory, self.data):
                shutil.chown(path, self.user)
        self._process: subprocess.Popen[bytes] | None = None
        self._admin = sa.create_engine(
            self.url(''), poolclass=sa.NullPool, isolation_level='AUTOCOMMIT'
        )

    def url(self, database: str) -> str:
        """How to connect to a database."""
        return f'{self.scheme}@127.0.0.1:{self.port}/{database}'

    def initialise(self) -> None:
        """Make the directory that the server works on."""
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        """What runs the server."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self._process = self._run(self.command())
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.execute('SELECT 1')
            except sa.exc.DBAPIError:
                assert self._process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.1)

    def crash(self) -> None:
        """End the server at once, as when the machine loses power."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End the server as an operator does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT if self.user == 'postgres' else signal.SIGTERM)
        self._process.wait(PATIENCE)

    def remove(self) -> None:
        """End the server for good."""
        if self._process is not None and self._process.poll() is None:
            self.crash()
        shutil.rmtree(self.directory, ignore_errors=True)

    def execute(self, statement: str) -> None:
        """Execute a statement as the superuser."""
        with self._admin.connect() as connection:
            connection.execute(sa.text(statement))

    def value(self, statement: str) -> Any:
        """What a statement of the superuser says, which is one value."""
        with self._admin.connect() as connection:
            return connection.scalar(sa.text(statement))

    def wait_until(self, question: str, *answers: object) -> None:
        """Wait until the server answers a question like this."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.value(question)) not in answers:
            assert time.monotonic() < deadline, f'{question}: {found}\n{self.log()}'
            time.sleep(0.05)

    def cut_transactions(self) -> int:
        """Cut the connections that are in a transaction; how many there were."""
        with self._admin.connect() as connection:
            ids = connection.scalars(sa.text(self.cut)).all()
            for one in ids:
                with contextlib.suppress(sa.exc.DBAPIError):  # it may have gone by itself
                    connection.execute(sa.text(self.kill(one)))
        return len(ids)

    def kill(self, connection_id: int) -> str:
        """The statement that cuts a connection."""
        raise NotImplementedError

    def log(self) -> str:
        """What the server has to say."""
        return (self.directory / 'log').read_text(errors='replace')[-4000:]

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self.directory / 'log').open('ab') as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                user=self.user if os.getuid() == 0 else None,
                group=self.user if os.getuid() == 0 else None,
            )

    def _run_once(self, command: Sequence[str]) -> None:
        assert self._run(command).wait() == 0, self.log()


class Postgresql(PrivateServer):
    """PostgreSQL, as it comes."""

    user = 'postgres'
    scheme = 'postgresql+psycopg://postgres'
    cut = (
        "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'placement'"
        ' AND xact_start IS NOT NULL'
    )

    def url(self, database: str) -> str:
        return super().url(database or 'postgres')

    def initialise(self) -> None:
        self._run_once([program('initdb'), '-D', str(self.data), '-A', 'trust', '-U', 'postgres'])

    def command(self) -> Sequence[str]:
        return [
            program('postgres'),
            '-D',
            str(self.data),
            '-p',
            str(self.port),
            '-k',
            str(self.directory),
            '-c',
            'listen_addresses=127.0.0.1',
        ]

    def crash(self) -> None:
        # Its children would live on without it; on this signal all end without writing anything.
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE)

    def kill(self, connection_id: int) -> str:
        return f'SELECT pg_terminate_backend({connection_id})'


class Mariadb(PrivateServer):
    """MariaDB, as it comes, but for what is set here."""

    user = 'mysql'
    options: Sequence[str] = ()
    scheme = 'mysql+pymysql://root'
    cut = (
        'SELECT t.trx_mysql_thread_id FROM information_schema.innodb_trx t'
        ' JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id'
        " WHERE p.db = 'placement'"
    )

    def url(self, database: str) -> str:
        return super().url(database) + '?charset=utf8mb4'

    def initialise(self) -> None:
        self._run_once(
            [
                program('mariadb-install-db'),
                '--no-defaults',
                f'--datadir={self.data}',
                '--auth-root-authentication-method=normal',
                '--skip-test-db',
                *self.options,
            ]
        )

    def command(self) -> Sequence[str]:
        return [
            program('mariadbd'),
            '--no-defaults',
            f'--datadir={self.data}',
            f'--port={self.port}',
            f'--socket={self.directory}/socket',
            '--bind-address=127.0.0.1',
            f'--pid-file={self.directory}/pid',
            '--skip-name-resolve',
            *self.options,
        ]

    def kill(self, connection_id: int) -> str:
        return f'KILL CONNECTION {connection_id}'


def free_port() -> int:
    """A port that nobody listens on, nor gets for a connection while a server is not running."""
    while True:
        port = random.choice(PORTS)
        with contextlib.suppress(OSError), socket.create_server(('127.0.0.1', port)):
            return port


def program(name: str) -> str:
    """The path of a program; it is a failure when there is none."""
    path = os.pathsep.join([os.environ.get('PATH', ''), *PLACES])
    found = shutil.which(name, path=path)
    assert found, f'{name} is not installed'
    return found


@contextlib.contextmanager
def started(kind: type[PrivateServer]) -> Iterator[PrivateServer]:
    """A server that answers, with an empty database `placement`."""
    server = kind()
    try:
        server.initialise()
        server.start()
        server.execute('CREATE DATABASE placement')
        yield server
    finally:
        server.remove()
