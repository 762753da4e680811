# SPDX-License-Identifier: Apache-2.0
"""The service under uWSGI and gunicorn, in processes and threads."""

import http.client
import os
import pathlib
import socket
import sys
from collections.abc import Iterator

import pytest
import requests

from placement.tests.servers import gabbi_runner, installation, servers

# The server restarts for each file, so a few have to do: what all servers must pass on correctly.
AT_ROOT = ('allocations-refused', 'inventories', 'resource-providers', 'traits')
UNDER_PREFIX = ('mount-prefix', 'mount-prefix-authentication', 'negotiation')

# In the complete run, a test that cannot run fails instead of being skipped.
MAY_NOT_SKIP = bool(os.environ.get('PLACEMENT_TEST_EVERYTHING'))

SERVERS = {'uwsgi': servers.Uwsgi, 'gunicorn': servers.Gunicorn}


@pytest.fixture(scope='module')
def environment() -> pathlib.Path:
    """The service in an environment with both servers."""
    return installation.service_environment('wsgi', sys.executable, 'pyuwsgi', 'gunicorn')


@pytest.fixture(params=SERVERS)
def server_class(request: pytest.FixtureRequest) -> type[servers.Server]:
    """Either of the servers."""
    return SERVERS[request.param]


@pytest.fixture
def directory() -> Iterator[pathlib.Path]:
    """Where a server has its files."""
    with installation.directory() as directory:
        yield directory


@pytest.mark.parametrize('prefix', ['', '/placement'])
def test_gabbi_files(
    server_class: type[servers.Server],
    environment: pathlib.Path,
    directory: pathlib.Path,
    prefix: str,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = server_class(directory, environment, prefix)
    names = UNDER_PREFIX if prefix else AT_ROOT
    files = gabbi_runner.files_using('Placement', 'PlacementUnderPrefix')
    with server:
        for path in gabbi_runner.named(names, files):
            gabbi_runner.run(path, server, subtests, monkeypatch, prefix)


def test_uwsgi_serves_the_installed_command_as_its_script(
    environment: pathlib.Path, directory: pathlib.Path
) -> None:
    with servers.UwsgiWithCommand(directory, environment, '') as server:
        answer = requests.get(
            f'{server.url}/resource_providers', headers={'X-Auth-Token': 'admin'}
        )
        assert (answer.status_code, answer.json()) == (200, {'resource_providers': []})


def test_several_processes_answer_requests(
    server_class: type[servers.Server], environment: pathlib.Path, directory: pathlib.Path
) -> None:
    with server_class(directory, environment, '') as server:
        assert len(servers.processes_that_answer(server)) > 1


class Confined(servers.Gunicorn):
    """gunicorn without a network, and with all but /tmp read-only; a socket file leads to it."""

    CONFINE = 'mount --bind /tmp /tmp && mount -o remount,ro,bind / && exec "$@"'

    def command(self) -> list[str]:
        """gunicorn in name spaces of its own."""
        self.socket = self.directory / 'socket'
        inner = [
            f'unix:{self.socket}' if word.startswith('127.') else word
            for word in super().command()
        ]
        return ['unshare', '--mount', '--net', 'sh', '-c', self.CONFINE, 'sh', *inner]

    def _answers(self) -> bool:
        return self.socket.exists() and self.status_of('/') == 200

    def status_of(self, path: str) -> int:
        """The status that the service answers with."""
        connection = http.client.HTTPConnection('localhost')
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.socket))
        connection.request('GET', path, headers={'X-Auth-Token': 'admin'})
        status = connection.getresponse().status
        connection.close()
        return status


@pytest.mark.skipif(
    os.getuid() != 0 and not MAY_NOT_SKIP, reason='only root can create the name spaces'
)
def test_service_runs_without_network_on_a_read_only_file_system(
    environment: pathlib.Path, directory: pathlib.Path
) -> None:
    with Confined(directory, environment, '') as server:
        assert server.status_of('/resource_providers') == 200
        assert server.status_of('/healthcheck') == 200
