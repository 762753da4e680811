# SPDX-License-Identifier: Apache-2.0
"""Database servers that a test may stop, crash and start."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from placement.tests.waiting import TIMEOUT, wait_until

#: Directories of server programs that are not on the PATH of every user.
PLACES = ('/usr/sbin', *map(str, pathlib.Path('/usr/lib/postgresql').glob('*/bin')))

#: Ports of servers: below the range that systems use for outgoing connections. Each process takes
#: one after the other, from another one on than those that are started with it.
PORTS = range(20000, 32000)
_CHOSEN = (PORTS[(os.getpid() * 331 + number) % len(PORTS)] for number in itertools.count())


class PrivateServer:
    """A server with a directory of its own, listening on a port of its own."""

    #: Seconds within which it answers after its start.
    patience = TIMEOUT
    #: The user that root runs the server as; servers refuse to run as root.
    user: str
    #: The scheme of URLs, and the statement that lists connections which are in a transaction.
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
        """The URL of a database."""
        return f'{self.scheme}@127.0.0.1:{self.port}/{database}'

    def service_url(self) -> str:
        """The URL for a service."""
        return self.url('placement')

    def prepare(self) -> None:
        """Create the database of a service."""
        self.execute('CREATE DATABASE placement')

    def program(self, name: str) -> str:
        """The path of a program of the server."""
        return program(name)

    def initialise(self) -> None:
        """Create the data directory."""
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        """The command line of the server."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server, and return when it answers."""
        process = self._process = self._run(self.command())

        def answers() -> bool:
            with contextlib.suppress(sa.exc.DBAPIError):
                return self.value('SELECT 1') == 1
            assert process.poll() is None, self.log()
            return False

        wait_until(answers, self.log, self.patience)

    @property
    def is_running(self) -> bool:
        """True if it has not ended."""
        return self._process is not None and self._process.poll() is None

    def crash(self) -> None:
        """Kill the server at once, as when the machine loses power."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Stop the server as an operator does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT if self.user == 'postgres' else signal.SIGTERM)
        self._process.wait(TIMEOUT)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process without its notice, as when its machine is suspended."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        """Stop the server and delete its files."""
        if self.is_running:
            self.crash()
        shutil.rmtree(self.directory, ignore_errors=True)

    def execute(self, statement: str) -> None:
        """Execute a statement as the superuser."""
        with self._admin.connect() as connection:
            connection.execute(sa.text(statement))

    def value(self, statement: str) -> Any:
        """The single value that a statement of the superuser returns."""
        with self._admin.connect() as connection:
            return connection.scalar(sa.text(statement))

    def wait_until(self, query: str, *answers: object) -> None:
        """Wait until a query returns one of these values.

        Until then it may fail: a node of Galera that joins the others refuses statements.
        """

        def returned() -> Any:
            try:
                return self.value(query)
            except sa.exc.DBAPIError as error:
                return error

        wait_until(lambda: returned() in answers, lambda: f'{query}: {returned()}\n{self.log()}')

    def cut_transactions(self) -> int:
        """Kill the connections that are in a transaction; how many there were."""
        with self._admin.connect() as connection:
            ids = connection.scalars(sa.text(self.cut)).all()
            for one in ids:
                with contextlib.suppress(sa.exc.DBAPIError):  # it may have ended by itself
                    connection.execute(sa.text(self.kill(one)))
        return len(ids)

    def kill(self, connection_id: int) -> str:
        """The statement that kills a connection."""
        raise NotImplementedError

    def log(self) -> str:
        """The end of the server's log."""
        return (self.directory / 'log').read_text(errors='replace')[-4000:]

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self.directory / 'log').open('ab') as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                # MariaDB removes the temporary tables of other servers from where it has its own.
                env={**os.environ, 'TMPDIR': str(self.directory)},
                user=self.user if os.getuid() == 0 else None,
                group=self.user if os.getuid() == 0 else None,
            )

    def _run_once(self, command: Sequence[str]) -> None:
        assert self._run(command).wait() == 0, self.log()


class Postgresql(PrivateServer):
    """PostgreSQL with its default configuration."""

    user = 'postgres'
    scheme = 'postgresql+psycopg://postgres'
    cut = (
        "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'placement'"
        ' AND xact_start IS NOT NULL'
    )

    def url(self, database: str) -> str:
        return super().url(database or 'postgres')

    def initialise(self) -> None:
        self._run_once(
            [self.program('initdb'), '-D', str(self.data), '-A', 'trust', '-U', 'postgres']
        )

    def command(self) -> Sequence[str]:
        return [
            self.program('postgres'),
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
        # SIGKILL would leave its children running; on SIGQUIT all end without writing anything.
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(TIMEOUT)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        # Each connection is a process of its own, in a session of its own.
        with super().frozen():
            children = self._children()
            for child in children:
                _signal(child, signal.SIGSTOP)
            try:
                yield
            finally:
                for child in children:
                    _signal(child, signal.SIGCONT)

    def _children(self) -> list[int]:
        assert self._process is not None
        command = ['pgrep', '--parent', str(self._process.pid)]
        return list(map(int, subprocess.check_output(command, text=True).split()))

    def kill(self, connection_id: int) -> str:
        return f'SELECT pg_terminate_backend({connection_id})'


class Mariadb(PrivateServer):
    """MariaDB with its default configuration, except for `options`."""

    user = 'mysql'
    server = 'mariadbd'
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
                self.program('mariadb-install-db'),
                '--no-defaults',
                f'--datadir={self.data}',
                '--auth-root-authentication-method=normal',
                '--skip-test-db',
                *self.options,
            ]
        )

    def command(self) -> Sequence[str]:
        return [
            self.program(self.server),
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


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def free_port() -> int:
    """A port without listener, outside the range of outgoing connections, and another each time:
    a server may listen much later."""
    return next(filter(_is_free, _CHOSEN))


def _is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_server(('127.0.0.1', port)):
        return True
    return False


def program(name: str) -> str:
    """The path of a program; fails the test when it is not installed."""
    path = os.pathsep.join([os.environ.get('PATH', ''), *PLACES])
    found = shutil.which(name, path=path)
    assert found, f'{name} is not installed'
    return found


Kind = TypeVar('Kind', bound=PrivateServer)


@contextlib.contextmanager
def started(kind: type[Kind]) -> Iterator[Kind]:
    """A server that answers, with an empty database `placement`."""
    server = kind()
    try:
        server.initialise()
        server.start()
        server.prepare()
        yield server
    finally:
        server.remove()
