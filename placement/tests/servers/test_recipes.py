# SPDX-License-Identifier: Apache-2.0
"""Each pair of servers that the pages name, under a load of claims, while it is restarted.

No request is without an answer, and no answer is false.
"""

import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence

import pytest
import requests

from placement.tests.databases.acknowledged_claims import HEADERS, AcknowledgedClaims, HttpSender
from placement.tests.servers import installation, servers
from placement.tests.waiting import TIMEOUT, wait_until

SECONDS = 6

#: What a machine runs behind haproxy.
MACHINES = ('uwsgi', 'nginx-uwsgi', 'apache', 'nginx-apache', 'gunicorn')


def claims_at(url: str) -> AcknowledgedClaims:
    """Return clients that claim, read and release, none of which may be refused."""
    return AcknowledgedClaims([HttpSender(url)] * 2, may_refuse=False)


#: What takes a machine out of service, as the page about installing says.
OUT_OF_SERVICE = """
[healthcheck]
backends = disable_by_file
disable_by_file_path = {path}
"""


def patient(sample: str) -> str:
    """Return a sample of haproxy whose health checks outlast each pause of a busy machine."""
    text, number = re.subn(
        r'(?m)^    timeout check \d+s$', f'    timeout check {TIMEOUT}s', sample
    )
    assert number == 1
    return text


class PatientHaproxy(servers.Haproxy):
    """haproxy that notices no pause: what is tested is without faults."""

    def configuration(self) -> str:
        """The sample."""
        return patient(super().configuration())


class Machine:
    """A machine that runs the service, and perhaps nginx before it, for haproxy before both."""

    def __init__(self, name: str, directory: pathlib.Path) -> None:
        self.name = name
        self.server = servers.made(name, directory)
        self.mark = directory / 'out-of-service'
        self.server.options = OUT_OF_SERVICE.format(path=self.mark)
        self.front: servers.Server | servers.Nginx = self.server

    def start(self, database: pathlib.Path | None, stack: contextlib.ExitStack) -> None:
        """Start it on a database, or on an empty one; the stack stops it."""
        if database is None:
            self.server.start()
        else:
            self.server.database = database
            self.server.configure()
            self.server.restart()
        stack.callback(self.server.stop)
        front = stack.enter_context(servers.in_front_of(self.server, self.name))
        assert not isinstance(front, servers.Haproxy)
        self.front = front

    def restart(self, haproxy: servers.Haproxy) -> None:
        """Take it out of service, stop its processes as their manager does, and start them."""
        address = f'127.0.0.1:{self.front.port}'
        self.mark.touch()
        wait_until(lambda: haproxy.is_done_with(address))
        self.front.stop()
        self.server.stop()
        self.server.restart()
        if self.front is not self.server:
            self.front.start()
        self.mark.unlink()
        wait_until(lambda: haproxy.passes_to(address))


@contextlib.contextmanager
def machines(name: str) -> Iterator[Sequence[Machine]]:
    """Two machines that share a database."""
    with (
        installation.directory() as one,
        installation.directory() as two,
        contextlib.ExitStack() as stack,
    ):
        first, second = Machine(name, one), Machine(name, two)
        first.start(None, stack)
        second.start(first.server.database, stack)
        yield first, second


@contextlib.contextmanager
def haproxy_before(controllers: Sequence[Machine]) -> Iterator[servers.Haproxy]:
    """Run haproxy before machines."""
    installation.install_system_packages('haproxy')
    ports = [machine.front.port for machine in controllers]
    with PatientHaproxy(controllers[0].server.directory, *ports) as haproxy:
        yield haproxy


@pytest.fixture
def controllers() -> Iterator[Sequence[Machine]]:
    """Two machines with uWSGI."""
    with machines('uwsgi') as controllers:
        yield controllers


@pytest.mark.parametrize('name', MACHINES)
def test_no_request_is_lost_in_a_rolling_restart(name: str) -> None:
    with machines(name) as controllers, haproxy_before(controllers) as haproxy:
        with claims_at(haproxy.url).running():
            for machine in controllers:
                machine.restart(haproxy)
            time.sleep(1)
        database = controllers[0].server.database
        with contextlib.closing(sqlite3.connect(database)) as connection:
            assert connection.execute('SELECT COUNT(*) FROM allocations').fetchone() == (0,)


def test_each_process_of_apache_loads_the_service_before_its_first_request() -> None:
    with installation.directory() as directory, servers.made('apache', directory) as server:
        loaded = re.compile(r' (\d+) DEBUG placement.wsgi \[-\] Configuration options gathered')
        wait_until(lambda: len(set(loaded.findall(server.log.read_text()))) == servers.PROCESSES)


@pytest.mark.parametrize('name', ['uwsgi', 'gunicorn'])
def test_haproxy_is_told_that_a_connection_ends_with_its_answer(name: str) -> None:
    with installation.directory() as directory, servers.made(name, directory) as server:
        assert requests.get(server.probe).headers['Connection'] == 'close'


def test_the_api_answers_while_no_worker_has_its_database(
    controllers: Sequence[Machine],
) -> None:
    database = controllers[0].server.database
    with haproxy_before(controllers) as haproxy:
        url = haproxy.url
        aside = database.with_name('aside')
        database.rename(aside)
        database.mkdir()
        end = time.monotonic() + 8
        while time.monotonic() < end:
            version = requests.get(f'{url}/', timeout=TIMEOUT)
            assert (version.status_code, list(version.json())) == (200, ['versions'])
            refused = requests.get(f'{url}/resource_providers', headers=HEADERS)
            assert refused.status_code == 503
            assert 'Retry-After' in refused.headers
            (error,) = refused.json()['errors']
            assert 'database' in error['detail']
            time.sleep(0.3)
        database.rmdir()
        aside.rename(database)
        wait_until(lambda: requests.get(f'{url}/healthcheck').status_code == 200)
        assert requests.get(f'{url}/resource_providers', headers=HEADERS).status_code == 200


class HaproxyWithInsight(PatientHaproxy):
    """haproxy that passes questions below /insight to a server of their own."""

    def __init__(self, directory: pathlib.Path, port: int, port_of_insight: int) -> None:
        super().__init__(directory, port)
        self._port_of_insight = port_of_insight

    def configuration(self) -> str:
        """The sample, with the lines for these questions."""
        commented = re.compile('^( *)#(use_backend|backend|    )', re.MULTILINE)
        text = commented.sub(r'\1\2', super().configuration())
        assert text.count('127.0.0.1:8780') == 1
        return text.replace('127.0.0.1:8780', f'127.0.0.1:{self._port_of_insight}')


#: What the log has of a question before it is answered.
ASKED = 'Starting request: 127.0.0.1 "GET /insight/names"'


def test_processes_of_their_own_answer_questions_while_they_are_there(
    controllers: Sequence[Machine],
) -> None:
    of_api, of_insight = (machine.server for machine in controllers)

    def answered(path: str, by_api: int, by_insight: int) -> bool:
        is_answered = requests.get(f'{haproxy.url}/{path}', headers=HEADERS).ok
        logs = of_api.log.read_text(), of_insight.log.read_text()
        return is_answered and [log.count(ASKED) for log in logs] == [by_api, by_insight]

    installation.install_system_packages('haproxy')
    with HaproxyWithInsight(of_api.directory, of_api.port, of_insight.port) as haproxy:
        # Its health checks have passed.
        time.sleep(6)
        assert answered('insight/names', 0, 1)
        assert answered('%69nsight/names', 0, 2)
        assert answered('resource_providers', 0, 2)
        of_insight.stop()
        wait_until(lambda: answered('insight/names', 1, 2))


def test_haproxy_itself_answers_with_errors_of_the_api(
    controllers: Sequence[Machine],
) -> None:
    with haproxy_before(controllers) as haproxy:
        url = f'{haproxy.url}/resource_providers'
        body = b'x' * ((16 << 20) + 1)
        for status in (413, 503):
            answer = requests.post(url, data=body, headers=HEADERS, timeout=TIMEOUT)
            assert answer.status_code == status
            assert answer.headers['Content-Type'] == 'application/json'
            (error,) = answer.json()['errors']
            assert error['status'] == status
            for machine in controllers:
                machine.server.stop()
            body = b'{}'
        assert answer.headers['Retry-After'] == '2'


class Gated(servers.Gunicorn):
    """gunicorn, whose processes load the service when a test lets them, or at once with `gate`."""

    MODULE = """
import os, pathlib, time
directory = pathlib.Path(__file__).parent
directory.joinpath(f'{os.getpid()}.loading').touch()
while not any(directory.joinpath(name).exists() for name in ('gate', f'{os.getpid()}.gate')):
    time.sleep(0.05)
from placement.wsgi.api import application
"""

    @property
    def environ(self) -> Mapping[str, str]:
        """Where the module is that it loads."""
        return {**super().environ, 'PYTHONPATH': str(self.directory)}

    def command(self) -> list[str]:
        """The command of the unit, with that module."""
        self.directory.joinpath('gated.py').write_text(self.MODULE)
        *command, application = super().command()
        assert application == 'placement.wsgi.api:application'
        return [*command, 'gated:application']

    def reload(self) -> None:
        """Send the signal of its unit."""
        unit = installation.REPOSITORY / 'etc' / 'systemd' / 'placement-gunicorn.service'
        (name,) = re.findall(r'^ExecReload=/bin/kill -(\w+) \$MAINPID$', unit.read_text(), re.M)
        os.kill(self.pid, signal.Signals[f'SIG{name}'])

    def begun(self, number: int) -> set[int]:
        """Return the processes that have begun to load the service, when there are so many."""

        def find() -> set[int]:
            found = {int(path.stem) for path in self.directory.glob('*.loading')}
            return found if len(found) == number else set()

        return wait_until(find)

    def let(self, processes: set[int]) -> None:
        """Let processes load the service."""
        for pid in processes:
            self.directory.joinpath(f'{pid}.gate').touch()

    def ended(self) -> set[int]:
        """Return the processes that have ended."""
        found = re.findall(r'Worker exiting \(pid: (\d+)\)', self.log.read_text())
        return set(map(int, found))


def test_gunicorn_answers_while_processes_load_the_service_for_a_reload() -> None:
    with installation.directory() as directory:
        gate = directory / 'gate'
        gate.touch()
        with (
            Gated(directory, servers.wsgi_environment(), '') as server,
            claims_at(server.url).running(),
        ):
            old = server.begun(servers.PROCESSES)
            server.let(old)
            gate.unlink()
            server.reload()
            try:
                for number in range(1, servers.PROCESSES + 1):
                    begun = server.begun(servers.PROCESSES + number)
                    assert servers.statuses_of(server, ['/resource_providers'] * 20) == {200}
                    server.let(begun)
            finally:
                gate.touch()
            wait_until(lambda: old == server.ended())
            server.begun(2 * servers.PROCESSES)
