# SPDX-License-Identifier: Apache-2.0
"""Identity services that are none, that refuse the service, and that do not answer.

A real Keystone is asked in placement/tests/servers/test_keystone.py.
"""

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from placement.doctor import identity
from placement.doctor.result import Status
from placement.tests.unit.doctor.conftest import Configure


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


CHECKS = (
    identity.check_url,
    identity.check_credentials,
    identity.check_public_url,
    identity.check_memcached,
)


def test_identity_service_passes(configure: Configure, url: str) -> None:
    deployment = configure(authtoken(f'{url}/v3'))

    for check in CHECKS[:3]:
        result = check(deployment)
        assert result is not None
        assert (result.status, result.remedy) == (Status.OK, None), result


def test_wrong_password_is_a_failure(configure: Configure, url: str) -> None:
    result = identity.check_credentials(configure(authtoken(f'{url}/v3', password='wrong')))

    assert result is not None
    assert result.status is Status.FAILURE
    assert 'wrong password' in result.found
    assert result.remedy is not None
    assert 'password' in result.remedy


def test_what_is_no_identity_service_is_a_failure(configure: Configure, url: str) -> None:
    deployment = configure(authtoken(f'{url}/other'))
    result = identity.check_url(deployment)
    public = identity.check_public_url(deployment)

    assert result is not None
    assert (result.status, result.name) == (Status.FAILURE, 'identity service')
    assert public is not None
    assert public.status is Status.WARNING


def test_server_that_is_not_there_is_a_failure(configure: Configure) -> None:
    result = identity.check_url(configure(authtoken('http://127.0.0.1:1/v3')))

    assert result is not None
    assert result.status is Status.FAILURE
    assert 'http://127.0.0.1:1/v3: ' in result.found


def test_server_that_says_nothing_is_a_failure(
    configure: Configure, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, '_SECONDS', 0.3)

    result = identity.check_url(configure(authtoken(f'http://{silent}/v3')))

    assert result is not None
    assert result.status is Status.FAILURE
    assert 'timed out' in result.found


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('', 'auth_type or auth_url is not set'),
        ('[keystone_authtoken]\nauth_type = password\n', 'not given: auth_url'),
        ('[keystone_authtoken]\nauth_type = passwort\n', 'passwort'),
    ],
)
def test_missing_account_is_a_failure(configure: Configure, text: str, found: str) -> None:
    result = identity.check_url(configure(text))

    assert result is not None
    assert result.status is Status.FAILURE
    assert found in result.found


def test_missing_public_url_is_a_warning(configure: Configure) -> None:
    result = identity.check_public_url(configure())

    assert result is not None
    assert result.status is Status.WARNING
    assert 'www_authenticate_uri is not set' in result.found


def test_no_memcached_is_a_warning(configure: Configure) -> None:
    result = identity.check_memcached(configure())

    assert result is not None
    assert (result.status, result.remedy) == (
        Status.WARNING,
        'Set [keystone_authtoken] memcached_servers.',
    )


def test_memcached_that_does_not_listen_is_a_warning(configure: Configure, silent: str) -> None:
    servers = f'{silent},127.0.0.1:1'

    result = identity.check_memcached(configure(authtoken('', memcached_servers=servers)))

    assert result is not None
    assert result.status is Status.WARNING
    assert result.found.startswith('Cannot connect to 127.0.0.1:1 (Connection refused)')
    assert silent not in result.found


@pytest.mark.parametrize('form', ['{}', 'inet:{}'])
def test_memcached_that_listens_passes(configure: Configure, silent: str, form: str) -> None:
    servers = form.format(silent)

    result = identity.check_memcached(configure(authtoken('', memcached_servers=servers)))

    assert result is not None
    assert result.status is Status.OK


@pytest.mark.parametrize('check', CHECKS)
def test_noauth2_asks_nobody(configure: Configure, check: Callable[..., object]) -> None:
    deployment = configure('[api]\nauth_strategy = noauth2\n')

    assert check(deployment) is None
    assert identity.check_strategy(deployment).status is Status.WARNING


def test_keystone_is_the_strategy_that_passes(configure: Configure) -> None:
    assert identity.check_strategy(configure()).status is Status.OK
