# SPDX-License-Identifier: Apache-2.0
"""One of the two services in its processes: started, observed from outside, stopped."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import time
from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.client import Answer, Client, TooSlow
from placement.tests.databases.servers import free_port

LAUNCHER = pathlib.Path(__file__).with_name('launcher.py')
START_LIMIT = 120.0

# Web servers that the services can run under: one in Python, and one in C as in production.
WAITRESS = 'waitress'
WSGI_SERVERS = (WAITRESS, 'uwsgi')

# The configuration of both services; all other options have their defaults.
SETTINGS = {
    'OS_API__AUTH_STRATEGY': 'noauth2',
    'OS_OSLO_POLICY__ENFORCE_NEW_DEFAULTS': 'false',
    'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'true',
    'OS_DEFAULT__USE_STDERR': 'true',
}


class CannotStart(Exception):
    """The service did not start."""


class Start(NamedTuple):
    """The cost of a start until the first answer."""

    wall_seconds: float
    cpu_seconds: float
    memory_mb: float


class Service:
    """The worker processes of one service and the resources they use.

    There is one process, or several under uWSGI.
    """

    def __init__(
        self,
        name: str,
        python: str,
        database: str,
        directory: pathlib.Path,
        threads: int = 4,
        drivers: Mapping[str, str] | None = None,
        wsgi_server: str = WAITRESS,
        processes: int = 1,
    ) -> None:
        self.name = name
        self.processes = processes
        self._wsgi_server = wsgi_server
        self.database = database
        self.port = 0
        # Replacements of the beginnings of database URLs, for drivers that this service needs.
        self._drivers = drivers or {}
        self._python = python
        self._directory = directory
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._settings: Mapping[str, str] = {}

    def start(self, settings: Mapping[str, str] | None = None) -> Start:
        """Start it, with more settings if any, and wait for the first answer.

        :raises CannotStart: it ends, or does not answer within START_LIMIT seconds
        """
        self.stop()
        self._settings = settings or {}
        self.port = free_port()
        environment = self._environment()
        # Its log goes to a file: writing it is part of the work, showing it is not.
        with self.log.open('ab') as log:
            begin = time.perf_counter()
            self._process = subprocess.Popen(
                self._command(),
                env=environment, cwd=self._directory, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self._wait_for_answer()
        return Start(time.perf_counter() - begin, self.cpu_seconds(), self.memory_mb())

    def _command(self) -> list[str]:
        port, threads = str(self.port), str(self._threads)
        if self._wsgi_server == WAITRESS:
            return [self._python, str(LAUNCHER), port, threads]
        environment = pathlib.Path(self._python).parents[1]
        uwsgi = environment / 'bin' / 'uwsgi'
        if not uwsgi.exists():
            raise CannotStart(f'pyuwsgi is not installed in {environment}')
        return [
            str(uwsgi), '--http-socket', f'127.0.0.1:{port}',
            # With persistent connections each would occupy a thread, and there are more of them.
            '--add-header', 'Connection: close',
            '--wsgi-file', str(LAUNCHER), '--home', str(environment), '--threads', threads,
            '--processes', str(self.processes), '--listen', '100',
            '--buffer-size', '65535', '--need-app', '--disable-logging',
        ]  # fmt: skip

    def restart(self) -> None:
        """Start a new process with the settings of the last, for instance when that hangs."""
        self.start(self._settings)

    def stop(self) -> None:
        """Kill the processes."""
        if self._process is not None:
            # The first of them has forked the others, in a session of its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    @property
    def log(self) -> pathlib.Path:
        """The file of its output."""
        return self._directory / f'{self.name}.log'

    def cpu_seconds(self) -> float:
        """Processor time of all processes and threads since they were started."""
        # The clock of another process, as clock_getcpuclockid(3) makes it on Linux: /proc
        # would count in hundredths of a second.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self._pids())

    def memory_mb(self) -> float:
        """Resident memory of a process, the mean of all."""
        pages = [
            int(pathlib.Path(f'/proc/{pid}/statm').read_text().split()[1]) for pid in self._pids()
        ]
        return statistics.fmean(pages) * os.sysconf('SC_PAGE_SIZE') / 1e6

    def counters(self) -> dict[str, int]:
        """Counted statements and round trips to the database; starts the counting.

        Only a single process can be asked.
        """
        counted: dict[str, int] = self._ask('/-/counters').json()
        return counted

    def stop_counting(self) -> None:
        """Count nothing until `counters` is called again."""
        self._ask('/-/counters/stop')

    def _ask(self, path: str) -> Answer:
        client = Client(self.port)
        try:
            return client.get(path)
        finally:
            client.close()

    def _pid(self) -> int:
        if self._process is None or self._process.poll() is not None:
            raise CannotStart(f'{self.name} is not running, see {self.log}')
        return self._process.pid

    def _pids(self) -> list[int]:
        """The first process, and those that it has forked."""
        first = self._pid()
        children = pathlib.Path(f'/proc/{first}/task/{first}/children').read_text().split()
        return [first, *map(int, children)]

    def _environment(self) -> dict[str, str]:
        ours = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        ours.pop('PYTHONPATH', None)
        # An installed service has its bytecode; one that starts from its sources writes bytecode,
        # unless this variable forbids it.
        ours.pop('PYTHONDONTWRITEBYTECODE', None)
        # A placement.conf of this machine must not be read: an empty one is named instead.
        (self._directory / 'placement.conf').touch()
        connection = self.database
        for usual, needed in self._drivers.items():
            connection = connection.replace(usual, needed, 1)
        return {
            **ours,
            **SETTINGS,
            **self._settings,
            'OS_PLACEMENT_CONFIG_DIR': str(self._directory),
            'OS_PLACEMENT_DATABASE__CONNECTION': connection,
        }

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            self._pid()
            client = Client(self.port, limit=START_LIMIT)
            try:
                client.get('/')
                return
            except (OSError, TooSlow):
                time.sleep(0.01)
            finally:
                client.close()
        raise CannotStart(f'{self.name} did not answer within {START_LIMIT} s, see {self.log}')


def stop_on_sigterm() -> None:
    """Make SIGTERM end this process as Ctrl-C does, so that services and databases are removed.

    A service that is left running may go on with a search that does not end, and take processor
    time from the next measurement.
    """

    def stop(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
