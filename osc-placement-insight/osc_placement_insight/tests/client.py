# SPDX-License-Identifier: Apache-2.0
"""The real `openstack` client inside the process of the tests."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
import requests
from openstackclient import shell
from osc_lib import clientmanager

from placement import direct


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


class Answering:
    """A service that gives one answer to every question.

    Of requests it remembers the tokens; with `tokens`, only those that have one of these get it.
    """

    def __init__(self, status: str, content: bytes, **headers: str) -> None:
        self._status, self._content = status, content
        self._headers = [(name.replace('_', '-'), value) for name, value in headers.items()]
        self.tokens: Sequence[str] | None = None
        self.sent: list[str] = []

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not environ['PATH_INFO'].startswith('/insight'):
            start_response('200 OK', [])
            return [b'{"versions": []}']
        token = environ['HTTP_X_AUTH_TOKEN']
        self.sent.append(token)
        is_known = self.tokens is None or token in self.tokens
        start_response(self._status if is_known else '401 Unauthorized', self._headers)
        return [self._content]

    def replaces_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer in the place of every service."""
        transport = direct.InProcess(self)
        monkeypatch.setattr(requests.Session, 'get_adapter', lambda *_, **__: transport)


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
