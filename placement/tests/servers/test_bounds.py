# SPDX-License-Identifier: Apache-2.0
"""Bounds on each client, behind each server as the pages say to run it."""

import json
import socket
from collections.abc import Iterator

import pytest
import requests

from placement.tests.databases.acknowledged_claims import HEADERS
from placement.tests.servers import attacks, installation, servers
from placement.tests.waiting import TIMEOUT

NAMES = ('apache', 'nginx-apache', 'nginx-uwsgi', 'haproxy-uwsgi', 'nginx-gunicorn')

# They have a thread of the service wait while a body is read, as the page about installing says.
READ_BODIES_SLOWLY = ('apache',)

LARGEST_QUERY = 16 << 10
LARGEST_BODY = 16 << 20


@pytest.fixture(scope='module', params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """One of the servers."""
    server: str = request.param
    return server


@pytest.fixture(scope='module')
def server(name: str) -> Iterator[servers.Server]:
    """A running server."""
    with installation.directory() as directory, servers.made(name, directory) as server:
        yield server


@pytest.fixture(scope='module')
def port(server: servers.Server, name: str) -> Iterator[int]:
    """Where clients reach the server."""
    with servers.in_front_of(server, name) as front:
        yield front.port


def test_answers_about_the_cloud_are_compressed_and_those_of_the_api_are_not(port: int) -> None:
    for path, encoding in (('insight/names', 'gzip'), ('traits', None)):
        answer = requests.get(f'http://127.0.0.1:{port}/{path}', headers=HEADERS)
        assert answer.json()
        assert answer.headers.get('Content-Encoding') == encoding


def test_query_of_16_kilobytes_is_answered(port: int) -> None:
    name = 'CUSTOM_' + 'A' * 200
    names = ','.join([name] * (LARGEST_QUERY // (len(name) + 1)))
    path = f'traits?name=in:{names}'
    answer = requests.get(f'http://127.0.0.1:{port}/{path}', headers=HEADERS)

    assert answer.status_code == 200, answer.text
    assert answer.json() == {'traits': []}


def status_of(port: int, request: bytes) -> int:
    """The status of the answer to a request, which may be malformed."""
    with socket.create_connection(('127.0.0.1', port), timeout=TIMEOUT) as client:
        client.sendall(request)
        line = client.makefile('rb').readline()
    return int(line.split()[1])


@pytest.mark.parametrize('token', [b'', b'X-Auth-Token: admin\r\n'])
def test_body_beyond_the_bound_is_refused_before_it_is_sent(port: int, token: bytes) -> None:
    request = (
        b'PUT /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\n' + token +
        b'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n' % (LARGEST_BODY + 1)
    )  # fmt: skip
    assert status_of(port, request) == 413


ODD_REQUESTS = {
    'length of 4,301 digits': b'Content-Length: ' + b'1' * 4301 + b'\r\n\r\n{}',
    'length of 9,000 digits': b'Content-Length: ' + b'9' * 9000 + b'\r\n\r\n{}',
    'length with leading zeros': b'Content-Length: ' + b'0' * 5000 + b'2\r\n\r\n{}',
    'upgrade with a body': b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
    b'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 2\r\n\r\n{}',
}


@pytest.mark.parametrize('what', ODD_REQUESTS)
def test_odd_request_has_a_clean_answer(server: servers.Server, port: int, what: str) -> None:
    logged = server.log.stat().st_size
    request = (
        b'POST /resource_providers HTTP/1.1\r\nHost: localhost\r\n'
        b'X-Auth-Token: admin\r\nContent-Type: application/json\r\n' + ODD_REQUESTS[what]
    )
    assert 400 <= status_of(port, request) < 500
    assert b'Traceback' not in server.log.read_bytes()[logged:]
    assert requests.get(f'http://127.0.0.1:{port}/healthcheck').status_code == 200


def test_body_of_a_few_megabytes_is_taken(port: int) -> None:
    body = json.dumps({'name': 'host', 'padding': 'x' * (8 << 20)})
    url = f'http://127.0.0.1:{port}/resource_providers'
    answer = requests.post(url, body, headers=HEADERS | {'Content-Type': 'application/json'})
    assert answer.status_code == 400
    assert 'padding' in answer.json()['errors'][0]['detail']


def test_health_check_is_answered_while_clients_send_slowly(
    name: str, port: int, subtests: pytest.Subtests
) -> None:
    for what, start in attacks.STARTS.items():
        if name in READ_BODIES_SLOWLY and what.startswith('body'):
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
    """Each health check was answered while a balancer waits for it."""
    assert outcome.seconds
    assert outcome.failures == []
