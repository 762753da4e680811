# SPDX-License-Identifier: Apache-2.0
"""What no client can take from the others, behind each server as the pages say to run it."""

import contextlib
import json
import pathlib
import socket
import sys
from collections.abc import Iterator

import pytest
import requests

from placement.tests.servers import attacks, installation, servers, test_apache

NAMES = ('placement-api', 'apache', 'nginx-apache', 'nginx-uwsgi', 'nginx-gunicorn')

# It has a thread of the service wait while it reads a body, as the page about installing says.
READS_BODIES_SLOWLY = 'apache'

LARGEST_QUERY = 16 << 10
LARGEST_BODY = 16 << 20


@pytest.fixture(scope='module', params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """One of the servers."""
    server: str = request.param
    return server


@pytest.fixture(scope='module')
def port(name: str) -> Iterator[int]:
    """Where clients reach a running server."""
    with installation.directory() as directory, contextlib.ExitStack() as stack:
        server = stack.enter_context(made(name, directory))
        if name.startswith('nginx-'):
            installation.install_system_packages('nginx-light')
            yield stack.enter_context(servers.Nginx(directory, server)).port
        else:
            yield server.port


def made(name: str, directory: pathlib.Path) -> servers.Server:
    """A server, to be started; a prefix says that nginx is to be in front of it."""
    if name.endswith('apache'):
        installation.install_system_packages(*test_apache.PACKAGES)
        environment = installation.service_environment('apache', installation.SYSTEM_PYTHON)
        (script,) = environment.glob(test_apache.SCRIPT)
        return servers.Apache(directory, environment, '', script)
    environment = installation.service_environment('wsgi', sys.executable, 'pyuwsgi', 'gunicorn')
    kinds: dict[str, type[servers.Server]] = {
        'placement-api': servers.PlacementApi,
        'uwsgi': servers.Uwsgi,
        'gunicorn': servers.Gunicorn,
    }
    return kinds[name.removeprefix('nginx-')](directory, environment, '')


def test_query_of_16_kilobytes_is_answered(port: int) -> None:
    name = 'CUSTOM_' + 'A' * 200
    names = ','.join([name] * (LARGEST_QUERY // (len(name) + 1)))
    answer = requests.get(
        f'http://127.0.0.1:{port}/traits',
        params=f'name=in:{names}',
        headers={'X-Auth-Token': 'admin', 'OpenStack-API-Version': 'placement latest'},
    )

    assert answer.status_code == 200, answer.text
    assert answer.json() == {'traits': []}


@pytest.mark.parametrize('token', [b'', b'X-Auth-Token: admin\r\n'])
def test_body_beyond_the_bound_is_refused_before_it_is_sent(port: int, token: bytes) -> None:
    with socket.create_connection(('127.0.0.1', port), timeout=servers.TIMEOUT) as client:
        client.sendall(
            b'PUT /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\n' + token +
            b'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n' % (LARGEST_BODY + 1)
        )  # fmt: skip
        line = client.makefile('rb').readline()

    assert line.split()[1] == b'413', line


def test_body_of_a_few_megabytes_is_taken(port: int) -> None:
    body = json.dumps({'name': 'host', 'padding': 'x' * (8 << 20)})
    answer = requests.post(
        f'http://127.0.0.1:{port}/resource_providers',
        data=body,
        headers={'X-Auth-Token': 'admin', 'Content-Type': 'application/json'},
    )

    assert answer.status_code == 400
    assert 'padding' in answer.json()['errors'][0]['detail']


def test_health_check_is_answered_while_clients_send_slowly(
    name: str, port: int, subtests: pytest.Subtests
) -> None:
    for what, start in attacks.STARTS.items():
        if name == READS_BODIES_SLOWLY and what.startswith('body'):
            continue
        with subtests.test(what):
            outcome = attacks.drip(port, start)
            print(name, what, outcome, sep=': ')
            check(outcome)


def test_health_check_is_answered_while_clients_keep_their_connections(
    name: str, port: int
) -> None:
    outcome = attacks.keep_alive(port)
    print(name, 'keep-alive', outcome, sep=': ')

    check(outcome)
    assert outcome.answered >= attacks.KEEPING


def check(outcome: attacks.Outcome) -> None:
    """It was always answered, and hardly ever late: both run on the same machine."""
    assert outcome.seconds
    assert outcome.failures == []
    assert sorted(outcome.seconds)[len(outcome.seconds) * 3 // 4] < 1
