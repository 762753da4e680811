# SPDX-License-Identifier: Apache-2.0
"""The real `openstack` client inside the process of the tests."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import pytest
import requests
from openstackclient import shell
from osc_lib import clientmanager
from requests import adapters


class Printed(NamedTuple):
    """The exit status of a command, and its output on both streams."""

    status: int
    out: str
    err: str

    def lines(self) -> list[str]:
        """Return the output of a command that succeeded and wrote nothing else."""
        assert (self.status, self.err) == (0, ''), self.err
        return self.out.splitlines()

    def values(self) -> Any:
        """The same as values, of a command that printed JSON."""
        return json.loads('\n'.join(self.lines()))

    def refusal(self) -> str:
        """Return the words of a command that failed, having printed nothing."""
        assert (self.status, self.out) == (1, ''), self.out
        assert 'Traceback' not in self.err
        return self.err.strip()

    def misuse(self) -> str:
        """Return the complaint of argparse about an option that was used wrongly.

        The client ends with the same status where it does not know the command.
        """
        assert (self.status, self.out) == (2, ''), self.out
        _usage, _, words = self.err.partition(': error: ')
        return words.strip()


class Transport(adapters.BaseAdapter):
    """A service that gives one answer to every question, and remembers the tokens of all.

    With `tokens`, only to requests that have one of these.
    """

    def __init__(
        self,
        status: int,
        content: bytes,
        headers: Mapping[str, str] | None = None,
        tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._status, self._content, self._headers = status, content, headers or {}
        self._tokens = tokens
        self.sent: list[str] = []

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """The answer, or that of a version document."""
        response = requests.Response()
        response.request, response.url = request, str(request.url)
        response.status_code, response._content = 200, b'{"versions": []}'
        if '/insight' in response.url:
            token = str(request.headers['X-Auth-Token'])
            self.sent.append(token)
            is_known = self._tokens is None or token in self._tokens
            response.status_code = self._status if is_known else 401
            response._content, response.reason = self._content, 'the reason'
            response.headers.update(self._headers)
        return response

    def close(self) -> None:
        """Nothing is open."""

    def replaces_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the place of every service."""
        monkeypatch.setattr(requests.Session, 'get_adapter', lambda *_, **__: self)


class Client:
    """Runs the client with these environment variables, and with no other that begins with OS_."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __call__(self, *arguments: str) -> Printed:
        """Run `openstack` with these arguments."""
        others = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, {**others, **self._environment}, clear=True),
            mock.patch.object(sys, 'argv', ['openstack', *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            _logging_restored(),
        ):
            status = _run(arguments)
        return Printed(status, out.getvalue(), err.getvalue())


def administrator_at(endpoint: str, **others: str) -> Client:
    """A client of a service without authentication (noauth2), with other variables besides."""
    own = {'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': endpoint, 'OS_TOKEN': 'admin'}
    return Client({**own, **others})


def _run(arguments: Sequence[str]) -> int:
    """The exit status."""
    try:
        status: int = _shell().run([*arguments])
    except SystemExit as end:
        # argparse ends the process of whoever asks for help, or uses an option wrongly.
        status = int(end.code or 0)
    return status


def _shell() -> Any:
    """The program, without the connections of an earlier run, which its class keeps."""
    for cache in vars(clientmanager.ClientManager).values():
        if isinstance(cache, clientmanager.ClientCache):
            cache._handle = None
    return shell.OpenStackShell()


@contextlib.contextmanager
def _logging_restored() -> Iterator[None]:
    """Give the loggers back their handlers: each run adds some, to the streams of that run."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
