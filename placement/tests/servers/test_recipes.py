# SPDX-License-Identifier: Apache-2.0
"""Each pair of servers that the pages name, under a load of claims, while it is reloaded.

No request is without an answer, and no answer is false.
"""

import contextlib
import pathlib
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from placement.tests.servers import installation, servers, test_bounds

CLIENTS = 4
SECONDS = 6
HEADERS = {'X-Auth-Token': 'admin', 'OpenStack-API-Version': 'placement 1.36'}
PROVIDER = '9a2b6a6c-0000-4000-8000-000000000001'

NAMES = ('apache', 'nginx-apache', 'nginx-uwsgi', 'haproxy-uwsgi', 'nginx-gunicorn')


class Load:
    """Clients that claim, read their claim, and release it; a context manager runs them."""

    def __init__(self, port: int, host: str = '127.0.0.1') -> None:
        self.url = f'http://{host}:{port}'
        self.answers = 0
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]

    def _run(self) -> None:
        while not self._is_over.is_set():
            with requests.Session() as session:
                session.headers.update(HEADERS)
                try:
                    # Longer than a client of nova keeps one.
                    for _ in range(20):
                        self._claim(session)
                        if self._is_over.is_set():
                            break
                except (requests.RequestException, AssertionError) as error:
                    self.failures.append(repr(error))

    def _claim(self, session: requests.Session) -> None:
        path = f'/allocations/{uuid.uuid4()}'
        claim = {
            'allocations': {PROVIDER: {'resources': {'VCPU': 1}}},
            'project_id': 'project', 'user_id': 'user', 'consumer_generation': None,
        }  # fmt: skip
        self._expect(session, 204, 'PUT', path, claim)
        allocations = self._expect(session, 200, 'GET', path).json()['allocations']
        assert allocations[PROVIDER]['resources'] == {'VCPU': 1}, allocations
        self._expect(session, 204, 'DELETE', path)

    def _expect(
        self, session: requests.Session, status: int, method: str, path: str, body: Any = None
    ) -> requests.Response:
        answer = session.request(method, self.url + path, json=body, timeout=servers.TIMEOUT)
        assert answer.status_code == status, (method, answer.status_code, answer.text)
        self.answers += 1
        return answer

    def __enter__(self) -> 'Load':
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def check(load: Load, database: pathlib.Path) -> None:
    """Every request was answered, and nothing is left of the claims."""
    check_answers(load)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute('SELECT COUNT(*) FROM allocations').fetchone() == (0,)


def check_answers(load: Load) -> None:
    """Every request was answered, and no answer was false."""
    assert load.failures == []
    assert load.answers > 100


def create_provider(port: int, host: str = '127.0.0.1') -> None:
    """Create a provider with room for all clients."""
    url = f'http://{host}:{port}/resource_providers'
    provider = {'name': 'host', 'uuid': PROVIDER}
    assert requests.post(url, json=provider, headers=HEADERS).ok
    inventories: dict[str, Any] = {
        'resource_provider_generation': 0,
        'inventories': {'VCPU': {'total': 1000}},
    }
    path = f'{url}/{PROVIDER}/inventories'
    assert requests.put(path, json=inventories, headers=HEADERS).ok


@pytest.fixture(params=NAMES)
def recipe(request: pytest.FixtureRequest) -> Iterator[tuple[servers.Server, int]]:
    """A server, and the port of what is in front of it."""
    with installation.directory() as directory, contextlib.ExitStack() as stack:
        server = stack.enter_context(test_bounds.made(request.param, directory))
        yield server, stack.enter_context(test_bounds.in_front_of(server, request.param)).port


def test_no_request_is_lost_while_processes_are_exchanged(
    recipe: tuple[servers.Server, int],
) -> None:
    server, port = recipe
    create_provider(port)
    with Load(port) as load:
        time.sleep(SECONDS / 2)
        server.reload()
        time.sleep(SECONDS)
    print(load.answers, 'requests answered')
    check(load, server.database)


#: What takes a machine out of service, as the page about installing says.
OUT_OF_SERVICE = """
[healthcheck]
backends = disable_by_file
disable_by_file_path = {path}
"""


@pytest.fixture
def controllers() -> Iterator[tuple[servers.Uwsgi, servers.Uwsgi]]:
    """Two machines with uWSGI that share a database."""
    with (
        installation.directory() as one,
        installation.directory() as two,
        contextlib.ExitStack() as stack,
    ):
        machines = []
        for directory in (one, two):
            machine = test_bounds.made('uwsgi', directory)
            assert isinstance(machine, servers.Uwsgi)
            machine.options = OUT_OF_SERVICE.format(path=directory / 'out-of-service')
            machines.append(machine)
        first, second = machines
        stack.enter_context(first)
        second.database = first.database
        second.configure()
        stack.callback(second.stop)
        second.restart()
        yield first, second


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when a condition holds."""
    deadline = time.monotonic() + servers.TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_no_request_is_lost_in_a_rolling_restart(
    controllers: tuple[servers.Uwsgi, servers.Uwsgi],
) -> None:
    first, _second = controllers
    with servers.Haproxy(first.directory, *controllers) as haproxy:
        create_provider(haproxy.port)
        with Load(haproxy.port) as load:
            for machine in controllers:
                mark = machine.directory / 'out-of-service'
                mark.touch()
                # Two health checks, two seconds apart.
                time.sleep(6)
                machine.stop()
                mark.unlink()
                machine.restart()
                time.sleep(6)
        check(load, first.database)


def test_an_idle_connection_takes_no_thread_of_uwsgi(
    controllers: tuple[servers.Uwsgi, servers.Uwsgi],
) -> None:
    answer = requests.get(controllers[0].probe)
    assert answer.headers['Connection'] == 'close'


def test_the_api_answers_while_no_worker_has_its_database(
    controllers: tuple[servers.Uwsgi, servers.Uwsgi],
) -> None:
    first, _second = controllers
    with servers.Haproxy(first.directory, *controllers) as haproxy:
        url = f'http://127.0.0.1:{haproxy.port}'
        aside = first.database.with_name('aside')
        first.database.rename(aside)
        first.database.mkdir()
        end = time.monotonic() + 8
        while time.monotonic() < end:
            version = requests.get(f'{url}/', timeout=servers.TIMEOUT)
            assert (version.status_code, list(version.json())) == (200, ['versions'])
            refused = requests.get(f'{url}/resource_providers', headers=HEADERS)
            assert refused.status_code == 503
            assert 'Retry-After' in refused.headers
            (error,) = refused.json()['errors']
            assert 'database' in error['detail']
            time.sleep(0.3)
        first.database.rmdir()
        aside.rename(first.database)
        wait_for(lambda: requests.get(f'{url}/healthcheck').status_code == 200)
        assert requests.get(f'{url}/resource_providers', headers=HEADERS).status_code == 200


def test_haproxy_itself_answers_with_errors_of_the_api(
    controllers: tuple[servers.Uwsgi, servers.Uwsgi],
) -> None:
    first, second = controllers
    with servers.Haproxy(first.directory, *controllers) as haproxy:
        url = f'http://127.0.0.1:{haproxy.port}/resource_providers'
        body = b'x' * ((16 << 20) + 1)
        for status in (413, 503):
            answer = requests.post(url, data=body, headers=HEADERS, timeout=servers.TIMEOUT)
            assert answer.status_code == status
            assert answer.headers['Content-Type'] == 'application/json'
            (error,) = answer.json()['errors']
            assert error['status'] == status
            first.stop()
            second.stop()
            body = b'{}'
        assert answer.headers['Retry-After'] == '2'
