# SPDX-License-Identifier: Apache-2.0
"""The samples between clients and the service: the headers, paths and methods they let through."""

import contextlib
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pytest

from placement.tests.servers import installation, servers
from placement.tests.waiting import TIMEOUT, wait_until

NAMES = ('apache', 'nginx-apache', 'nginx-uwsgi', 'haproxy-uwsgi', 'nginx-gunicorn')

# The client, which is none of those that may ask for the health check: its balancer may, and
# somebody else.
CLIENT, SOMEBODY = '127.0.0.2', '192.0.2.1'
RESTRICTED = f"""
[healthcheck]
allowed_source_ranges = 127.0.0.1/32, {SOMEBODY}/32
"""
BELIEVED = """
[oslo_middleware]
enable_proxy_headers_parsing = true
"""

FORGED = {
    'Forwarded': f'for={SOMEBODY};host=evil.example;proto=gopher',
    'X-Forwarded-For': SOMEBODY,
    'X-Forwarded-Host': 'evil.example',
    'X-Forwarded-Proto': 'gopher',
    'X-Forwarded-Prefix': '/evil',
}
SPELLINGS = [
    *FORGED,
    *(name.replace('-', '_') for name in FORGED if '-' in name),
    *(name.replace('d-', 'd_') for name in FORGED if '-' in name),
]
TOKEN = {'X-Auth-Token': 'admin'}
NEWEST = {'OpenStack-API-Version': 'placement latest'}
JSON = {'Content-Type': 'application/json'}


class Answer(NamedTuple):
    """An answer as far as these tests look at it."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Front(NamedTuple):
    """What clients connect to, and the server whose log shows what reached it."""

    name: str
    server: servers.Server
    port: int

    @property
    def ports(self) -> set[int]:
        """Where clients connect, and where what is in front of the server does."""
        return {self.port, self.server.port}

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None = None,
        port: int | None = None,
    ) -> Answer:
        """The answer to a request of the client; a body of several pieces goes in chunks."""
        source = (CLIENT, 0)
        connection = http.client.HTTPConnection('127.0.0.1', port or self.port, TIMEOUT, source)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def is_buffered(self, port: int) -> bool:
        """True if whole requests are passed on, with the length of their bodies."""
        return self.name.startswith('nginx') and port == self.port

    def address_logged(self, mark: str) -> str:
        """The address of the client of a request whose query has this mark."""
        line = re.compile(rf'INFO placement.requestlog .* (\S+) "\S+ \S+\?{mark}" status')
        found: list[str] = []

        def is_logged() -> bool:
            found[:] = line.findall(self.server.log.read_text(errors='replace'))
            return bool(found)

        wait_until(is_logged)
        return found[0]


@pytest.fixture(scope='module', params=NAMES)
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """A service that reads the headers of proxies, and what is in front of it."""
    name = request.param
    with installation.directory() as directory:
        server = servers.made(name, directory)
        server.options = RESTRICTED + BELIEVED
        with server, servers.in_front_of(server, name) as process:
            yield Front(name, server, process.port)


@pytest.mark.parametrize('name', SPELLINGS)
def test_clients_do_not_say_where_they_are_and_what_they_asked(front: Front, name: str) -> None:
    host, mark = str(uuid.uuid4()), str(uuid.uuid4())
    forged = {name: FORGED[name.replace('_', '-')]}
    body = json.dumps({'name': host, 'uuid': host}).encode()
    headers = TOKEN | forged | JSON

    answer = front.ask('POST', '/resource_providers', headers, body)
    front.ask('GET', f'/?{mark}', forged)

    assert answer.status == 201, answer
    base = f'http://127.0.0.1:{front.port}'
    assert answer.headers['Location'] == f'{base}/resource_providers/{host}'
    assert front.address_logged(mark) == CLIENT
    assert front.ask('GET', '/healthcheck', forged).status == 401


def test_paths_of_metrics_are_denied(front: Front) -> None:
    for path in ('/metrics', '/%6Detrics', '/placement/metrics'):
        assert front.ask('GET', path, TOKEN).status == 403, path


def test_trace_does_not_return_what_a_client_has_sent(front: Front) -> None:
    answer = front.ask('TRACE', '/resource_providers', TOKEN | {'X-Secret': 'pony'})

    assert answer.status == 405
    assert b'pony' not in answer.body


@pytest.mark.parametrize('size', [20_000, 300_000, 14 << 20])
def test_answer_arrives_though_the_body_is_not_read(front: Front, size: int) -> None:
    for port in front.ports:
        for path, headers, status in (
            ('/resource_providers', {}, 401),
            ('/pony', TOKEN, 404),
            (f'/traits/CUSTOM_{size}_{port}', TOKEN | NEWEST, 201),
        ):
            for _ in range(4):
                answer = front.ask('PUT', path, headers | JSON, b'x' * size, port)
                assert answer.status in (status, 204), (port, path)


def test_body_in_chunks_is_read_or_refused_in_words(front: Front) -> None:
    for port in front.ports:
        body = json.dumps({'name': f'host at {port}'}).encode()
        answer = front.ask('POST', '/resource_providers', TOKEN | JSON, [body[:5], body[5:]], port)
        if isinstance(front.server, servers.Gunicorn) or front.is_buffered(port):
            assert answer.status == 201, answer
        else:
            assert answer.status == 411
            assert b'Content-' in answer.body


def test_behind_a_proxy_every_client_has_its_address_unless_its_headers_are_read() -> None:
    with installation.directory() as directory:
        server = servers.made('uwsgi', directory)
        server.options = RESTRICTED
        with server, servers.in_front_of(server, 'haproxy-uwsgi') as haproxy:
            front = Front('haproxy-uwsgi', server, haproxy.port)
            assert front.ask('GET', '/healthcheck', {}).status == 200
            front.ask('GET', '/?pony', {})
            assert front.address_logged('pony') == '127.0.0.1'


class NginxBehindHaproxy(servers.Nginx):
    """nginx that passes on what haproxy sets, as a comment of the sample says."""

    def command(self) -> list[str]:
        """The command, whose configuration has other values of two headers."""
        command = super().command()
        path = self.directory / 'nginx.conf'
        text = path.read_text()
        for old, new in (
            ('For $remote_addr;', 'For $http_x_forwarded_for;'),
            ('Proto $scheme;', 'Proto $http_x_forwarded_proto;'),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text)
        return command


class EncryptedHaproxy(servers.Haproxy):
    """haproxy whose clients connect with TLS."""

    @property
    def certificate(self) -> pathlib.Path:
        """A key and its certificate, made once."""
        path = self.directory / 'haproxy.pem'
        if not path.exists():
            certificate = path.with_suffix('.crt')
            request = 'req -x509 -newkey rsa:2048 -nodes -subj /CN=placement -days 2 -addext'
            command = ['openssl', *request.split(), 'subjectAltName=IP:127.0.0.1']
            files = ['-keyout', str(path), '-out', str(certificate)]
            subprocess.run([*command, *files], check=True, capture_output=True)
            path.write_bytes(path.read_bytes() + certificate.read_bytes())
        return path

    def configuration(self) -> str:
        """The sample, with the certificate."""
        text = super().configuration()
        assert text.count('bind :8778\n') == 1
        return text.replace('bind :8778\n', f'bind :8778 ssl crt {self.certificate}\n')

    def connection(self) -> http.client.HTTPSConnection:
        """A connection of the client."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection(
            '127.0.0.1', self.port, timeout=TIMEOUT, source_address=(CLIENT, 0), context=context
        )

    def _answers(self) -> bool:
        connection = self.connection()
        try:
            connection.request('GET', '/')
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def test_service_behind_haproxy_and_nginx_learns_address_and_scheme_of_the_client() -> None:
    installation.install_system_packages('haproxy', 'nginx-light', 'openssl')
    with installation.directory() as directory:
        server = servers.made('uwsgi', directory)
        server.options = BELIEVED
        with (
            server,
            NginxBehindHaproxy(directory, server) as nginx,
            EncryptedHaproxy(directory, nginx.port) as haproxy,
            contextlib.closing(haproxy.connection()) as client,
        ):
            headers = TOKEN | JSON | dict.fromkeys(FORGED, 'evil')
            client.request('POST', '/resource_providers?', b'{"name": "host"}', headers)
            answer = client.getresponse()
            location = answer.headers['Location']
            answer.read()
            client.request('GET', '/?pony')
            client.getresponse().read()
            front = Front('haproxy-nginx-uwsgi', server, haproxy.port)
            assert location.startswith(f'https://127.0.0.1:{haproxy.port}/resource_providers/')
            assert front.address_logged('pony') == CLIENT
