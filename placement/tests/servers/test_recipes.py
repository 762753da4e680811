# SPDX-License-Identifier: Apache-2.0
"""Each pair of servers that the pages name, under a load of claims, while it is reloaded.

No request is without an answer, and no answer is false.
"""

import contextlib
import pathlib
import sqlite3
import time
from collections.abc import Callable, Iterator

import pytest
import requests

from placement.tests.databases.acknowledged_claims import (
    HEADERS,
    THREADS,
    AcknowledgedClaims,
    HttpSender,
)
from placement.tests.servers import installation, servers

CLIENTS = 4
SECONDS = 6

NAMES = ('apache', 'nginx-apache', 'nginx-uwsgi', 'haproxy-uwsgi', 'nginx-gunicorn')


def claims_at(port: int, host: str = '127.0.0.1') -> AcknowledgedClaims:
    """Return clients that claim, read and release, none of which may be refused."""
    senders = [HttpSender(port, host) for _ in range(CLIENTS // THREADS)]
    return AcknowledgedClaims(senders, may_refuse=False)


def check(claims: AcknowledgedClaims, database: pathlib.Path) -> None:
    """Every request was answered, and nothing is left of the claims."""
    check_answers(claims)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute('SELECT COUNT(*) FROM allocations').fetchone() == (0,)


def check_answers(claims: AcknowledgedClaims) -> None:
    """Every request was answered, and no answer was false."""
    print(claims.count, 'writes acknowledged')
    assert claims.wrong_answers == []
    assert claims.count > 30


@pytest.fixture(params=NAMES)
def recipe(request: pytest.FixtureRequest) -> Iterator[tuple[servers.Server, int]]:
    """A server, and the port of what is in front of it."""
    with installation.directory() as directory, contextlib.ExitStack() as stack:
        server = stack.enter_context(servers.made(request.param, directory))
        yield server, stack.enter_context(servers.in_front_of(server, request.param)).port


def test_no_request_is_lost_while_processes_are_exchanged(
    recipe: tuple[servers.Server, int],
) -> None:
    server, port = recipe
    claims = claims_at(port)
    with claims.running():
        time.sleep(SECONDS / 2)
        server.reload()
        time.sleep(SECONDS)
    check(claims, server.database)


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
            machine = servers.made('uwsgi', directory)
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
        claims = claims_at(haproxy.port)
        with claims.running():
            for machine in controllers:
                mark = machine.directory / 'out-of-service'
                mark.touch()
                # Two health checks, two seconds apart.
                time.sleep(6)
                machine.stop()
                mark.unlink()
                machine.restart()
                time.sleep(6)
        check(claims, first.database)


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
