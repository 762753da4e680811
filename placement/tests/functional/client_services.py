# SPDX-License-Identifier: Apache-2.0
"""A service in a process of its own for the client to talk to: this one, or another release.

The interpreter named by an environment variable runs it, so upstream can be
installed in an environment of its own and tested against as a black box.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import requests
from keystoneauth1 import adapter, exceptions, session, token_endpoint

from .fixtures import databases, workers

#: The Python of the environment that the service is installed in; by default that of the tests.
VARIABLE = 'PLACEMENT_TEST_SERVICE_PYTHON'

SETTINGS = {
    'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'true',
    'OS_DEFAULT__USE_STDERR': 'true',
}


def is_ours() -> bool:
    """True if the service under test is the one in this repository."""
    return VARIABLE not in os.environ


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Yield the URL of a service on an SQLite file."""
    database = databases.create_empty('')
    python = os.environ.get(VARIABLE, sys.executable)
    try:
        with workers.running(database.url, 1, python, SETTINGS) as service:
            yield f'http://127.0.0.1:{service.port}'
    finally:
        database.drop()


def adapter_for(url: str, **options: Any) -> Recorder:
    """Return an adapter with the rights of an administrator."""
    administrator = session.Session(auth=token_endpoint.Token(url, 'admin'))
    return Recorder(administrator, service_type='placement', **options)


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
    """Process a request, then raise the error of a broken connection."""
    raise exceptions.ConnectFailure(f'{method} {url}: lost on its way back')


def deliver(method: str, url: str) -> None:
    """Deliver the answer unchanged."""
