# SPDX-License-Identifier: Apache-2.0
"""Identity services that refuse or do not answer, and servers that are no identity service.

A real Keystone is asked in placement/tests/servers/test_keystone.py.
"""

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from placement.doctor import identity
from placement.doctor.check import Check, Code
from placement.tests.unit.doctor.conftest import Configure, expect


class Handler(http.server.BaseHTTPRequestHandler):
    """An identity service that knows one password."""

    def do_GET(self) -> None:
        """Answer with the versions, except below /other."""
        links = [{'rel': 'self', 'href': f'http://{self.headers["Host"]}/v3/'}]
        version = {'id': 'v3.14', 'status': 'stable', 'links': links}
        self._reply(200, {'hello': 'world'} if 'other' in self.path else {'version': version})

    def do_POST(self) -> None:
        """Give a token to whoever has the password."""
        body = self.rfile.read(int(self.headers['Content-Length']))
        if b'"correct"' not in body:
            self._reply(401, {'error': {'message': 'wrong password', 'code': 401}})
            return
        token = {'expires_at': '2099-01-01T00:00:00Z', 'methods': ['password'], 'user': {}}
        self._reply(201, {'token': token})

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('X-Subject-Token', 'token')
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope='module')
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections, and then says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        yield f'127.0.0.1:{listener.getsockname()[1]}'


def authtoken(url: str, password: str = 'correct', **more: str) -> str:
    options = {
        'auth_type': 'password',
        'auth_url': url,
        'www_authenticate_uri': url,
        'username': 'placement',
        'password': password,
        'project_name': 'service',
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        **more,
    }
    return '[keystone_authtoken]\n' + ''.join(f'{k} = {v}\n' for k, v in options.items())


def test_identity_service_passes(configure: Configure, url: str) -> None:
    deployment = configure(authtoken(f'{url}/v3'))

    for check in (identity.check_url, identity.check_credentials, identity.check_public_url):
        expect(check(deployment), Code.SUCCESS)


def test_wrong_password_is_a_failure(configure: Configure, url: str) -> None:
    result = identity.check_credentials(configure(authtoken(f'{url}/v3', password='wrong')))

    expect(result, Code.FAILURE, 'wrong password', 'Correct username, password')


def test_another_web_server_is_a_failure(configure: Configure, url: str) -> None:
    deployment = configure(authtoken(f'{url}/other'))

    expect(identity.check_url(deployment), Code.FAILURE, 'Correct [keystone_authtoken] auth_url')
    expect(identity.check_public_url(deployment), Code.WARNING)


def test_server_that_does_not_answer_is_a_failure(
    configure: Configure, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, '_SECONDS', 0.3)
    for address, words in (('127.0.0.1:1', 'http://127.0.0.1:1/v3: '), (silent, 'timed out')):
        result = identity.check_url(configure(authtoken(f'http://{address}/v3')))

        expect(result, Code.FAILURE, words)


NO_SERVERS = 'Set [keystone_authtoken] memcached_servers.'


@pytest.mark.parametrize(
    ('check', 'text', 'code', 'words'),
    [
        (identity.check_url, '', Code.FAILURE, 'auth_type or auth_url is not set'),
        (identity.check_url, 'auth_type = password', Code.FAILURE, 'not given: auth_url'),
        (identity.check_url, 'auth_type = passwort', Code.FAILURE, 'passwort'),
        (identity.check_public_url, '', Code.WARNING, 'www_authenticate_uri is not set'),
        (identity.check_memcached, '', Code.WARNING, NO_SERVERS),
        (identity.check_strategy, '', Code.SUCCESS, 'keystone.'),
        (
            identity.check_strategy,
            '[api]\nauth_strategy = noauth2',
            Code.WARNING,
            'not authenticated',
        ),
    ],
)
def test_missing_options_are_named(
    configure: Configure, check: Check, text: str, code: Code, words: str
) -> None:
    expect(check(configure(f'[keystone_authtoken]\n{text}\n')), code, words)


def test_memcached_that_does_not_listen_is_a_warning(configure: Configure, silent: str) -> None:
    servers = f'{silent},127.0.0.1:1'

    result = identity.check_memcached(configure(authtoken('', memcached_servers=servers)))

    expect(result, Code.WARNING, 'Cannot connect to 127.0.0.1:1 (Connection refused)')
    assert silent not in result.finding


@pytest.mark.parametrize('form', ['{}', 'inet:{}'])
def test_memcached_that_listens_passes(configure: Configure, silent: str, form: str) -> None:
    servers = form.format(silent)

    result = identity.check_memcached(configure(authtoken('', memcached_servers=servers)))

    expect(result, Code.SUCCESS)
