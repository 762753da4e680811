# SPDX-License-Identifier: Apache-2.0
"""Upstream and this service, each in a process of its own on the loopback."""

import contextlib
import http.client
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placement.tests.functional.fixtures import workers
from placement.tests.functional.fixtures.client import ADMIN, Answer
from tools.rehearse.access_log import Request
from tools.rehearse.failure import CannotRehearse

SERVER = pathlib.Path(__file__).with_name('server.py')

# The drivers of each engine, by the names of their modules, with the one of the URL.
_DRIVERS: Mapping[str, Mapping[str, str]] = {
    'sqlite': {'sqlite3': 'sqlite'},
    'mysql': {'pymysql': 'mysql+pymysql', 'MySQLdb': 'mysql+mysqldb'},
    'postgresql': {'psycopg2': 'postgresql+psycopg2', 'psycopg': 'postgresql+psycopg'},
}

_LOOK = """
import importlib.metadata, importlib.util, sys
print(importlib.metadata.version('openstack-placement'))
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
"""

# The request that makes a service read the cloud.
FIRST = Request('/allocation_candidates?resources=VCPU:1&limit=1', '1.39')


class Program(NamedTuple):
    """A service that is installed: its name, its Python, its version, and the driver it has."""

    name: str
    python: str
    version: str
    driver: str

    def run(self, url: str, command: str, *arguments: str) -> str:
        """Run a command of the service; the last line that it printed where it fails, or ''."""
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [str(pathlib.Path(self.python).with_name(command)), *arguments],
                env=workers.environ(self.url(url), pathlib.Path(directory)),
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        lines = [line for line in done.stdout.splitlines() if line.strip(' +-|')]
        return '' if done.returncode == 0 else (lines or [f'status {done.returncode}'])[-1]

    def url(self, url: str) -> str:
        """Return the URL of a database for the driver that the service has."""
        return f'{self.driver}:{url.partition(":")[2]}'


def find_program(name: str, python: str, url: str) -> Program:
    """Return the service that a Python has, to be run on the database of a URL.

    :raises CannotRehearse: it has none, or no driver
    """
    # Not resolved: the Python of an environment is a link to another.
    python = os.path.abspath(shutil.which(python) or python)
    drivers = _DRIVERS[url.partition(':')[0].partition('+')[0]]
    try:
        done = subprocess.run(
            [python, '-I', '-c', _LOOK, *drivers], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRehearse(f'{python} does not run: {error}') from error
    if done.returncode:
        raise CannotRehearse(f'{python} has no openstack-placement')
    version, found, *_ = [*done.stdout.splitlines(), '']
    if not found:
        raise CannotRehearse(f'{python} has no driver of the database: {" or ".join(drivers)}')
    return Program(name, python, version, drivers[found.split()[0]])


def find_upstream(python: str, url: str) -> Program:
    """Return upstream as an environment has it.

    :raises CannotRehearse: there is none, or it is this service
    """
    upstream = find_program('upstream', python, url)
    if int(upstream.version.partition('.')[0]) >= 2000:
        raise CannotRehearse(f'{python} has this service, {upstream.version}, and not upstream')
    return upstream


def find_ours(url: str) -> Program:
    """Return this service."""
    return find_program('this service', sys.executable, url)


class Reply(NamedTuple):
    """An answer, or None where there was none within the deadline, and the seconds it took."""

    answer: Answer | None
    seconds: float


class Service:
    """A service that answers reads; one that does not in time is killed and started again."""

    def __init__(self, program: Program, running: workers.Workers, deadline: float) -> None:
        self.program = program
        self._workers, self._deadline = running, deadline
        self._peak = 0
        #: The first search, which reads the cloud.
        self.first = self.get(FIRST)
        if self.first.answer and self.first.answer.status >= 500:
            log = running.log().strip().splitlines()[-1:]
            raise CannotRehearse(f'{program.name} cannot serve the dump: {"".join(log)[:300]}')

    def get(self, request: Request) -> Reply:
        """Send a read."""
        connection = http.client.HTTPConnection('127.0.0.1', self._workers.port, self._deadline)
        headers = {**ADMIN, 'openstack-api-version': f'placement {request.version}'}
        begin = time.perf_counter()
        try:
            connection.request('GET', request.path, headers=headers)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, names, response.read())
        except (TimeoutError, ConnectionError, http.client.HTTPException):
            self._restart()
            return Reply(None, time.perf_counter() - begin)
        finally:
            connection.close()
        return Reply(answer, time.perf_counter() - begin)

    def peak_memory(self) -> int:
        """The most memory that it has had, in KiB."""
        self._peak = max(self._peak, self._workers.peak_memory())
        return self._peak

    def _restart(self) -> None:
        self.peak_memory()
        self._workers.replace_one(0)
        self._workers.wait()


@contextlib.contextmanager
def serving(program: Program, url: str, deadline: float) -> Iterator[Service]:
    """Run a service on a database.

    :raises CannotRehearse: it does not start, or cannot serve it
    """
    running = workers.Workers(program.url(url), 1, program.python, script=SERVER)
    try:
        try:
            running.wait()
        except AssertionError as error:
            reason = str(error).strip().splitlines()[-1:]
            raise CannotRehearse(f'{program.name} does not start: {"".join(reason)}') from error
        yield Service(program, running, deadline)
    finally:
        running.stop()
