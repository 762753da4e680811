# SPDX-License-Identifier: Apache-2.0
"""A service in a process of its own for the client to talk to: this one, or another release.

The interpreter named by an environment variable runs it, so upstream can be
installed in an environment of its own and tested against as a black box.
"""

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import requests
from keystoneauth1 import adapter, exceptions, session, token_endpoint

#: The Python of the environment that the service is installed in; by default that of the tests.
VARIABLE = 'PLACEMENT_TEST_SERVICE_PYTHON'

SERVE = """
import sys
import waitress
from placement.wsgi import init_application

server = waitress.create_server(
    init_application(), host='127.0.0.1', port=0, threads=8, asyncore_use_poll=True)
print(server.effective_port, flush=True)
server.run()
"""

SETTINGS = {
    'OS_API__AUTH_STRATEGY': 'noauth2',
    'OS_OSLO_POLICY__ENFORCE_NEW_DEFAULTS': 'false',
    'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'true',
    'OS_DEFAULT__USE_STDERR': 'true',
}


def is_ours() -> bool:
    """Whether the service under test is that of this repository."""
    return VARIABLE not in os.environ


class Service:
    """A running service on an SQLite file in the directory."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._log = directory / 'service.log'
        with self._log.open('wb') as log:
            self._process = subprocess.Popen(
                # Isolated: the directory of the tests must not lend it its own modules.
                [os.environ.get(VARIABLE, sys.executable), '-I', '-c', SERVE],
                cwd=directory,
                env=_environment(directory),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        port = self._process.stdout.readline().decode().strip()
        assert port, self._log.read_text()
        self.url = f'http://127.0.0.1:{port}'

    def adapter(self, **options: Any) -> 'Recorder':
        """An adapter whose requests are those of an administrator."""
        return Recorder(
            session.Session(auth=token_endpoint.Token(self.url, 'admin')),
            service_type='placement',
            **options,
        )

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _environment(directory: pathlib.Path) -> Mapping[str, str]:
    (directory / 'placement.conf').touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    return {
        **kept,
        **SETTINGS,
        'OS_PLACEMENT_CONFIG_DIR': str(directory),
        'OS_PLACEMENT_DATABASE__CONNECTION': f'sqlite:///{directory}/placement.sqlite',
    }


Trouble = Callable[[str, str], None]


class Recorder(adapter.Adapter):
    """An adapter that remembers its requests and can lose answers."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sent: list[str] = []
        #: Called after a request was answered and before the answer is handed on.
        self.afterwards: list[Trouble] = []

    def request(self, url: str, method: str, **options: Any) -> requests.Response:
        """The answer, if nothing happens to it."""
        self.sent.append(f'{method} {url.partition("?")[0]}')
        response = super().request(url, method, **options)
        if url != '/' and self.afterwards:
            self.afterwards.pop(0)(method, url)
        return response

    def sent_since(self, count: int) -> list[str]:
        """The requests after so many, but for questions about microversions."""
        return [line for line in self.sent[count:] if line != 'GET /']

    def writes(self) -> list[str]:
        """The requests that were to change something."""
        return [line for line in self.sent if not line.startswith('GET ')]


def lose_answer(method: str, url: str) -> None:
    """What happens when a connection breaks after the service has done its work."""
    raise exceptions.ConnectFailure(f'{method} {url}: lost on its way back')


def deliver(method: str, url: str) -> None:
    """Nothing happens to this answer."""
