# SPDX-License-Identifier: Apache-2.0
"""Runs files of gabbits/ against a service on the other end of a connection."""

import http.client
import pathlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib import parse
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from gabbi import reporter, utils

from placement.tests.functional import test_gabbi
from placement.tests.functional.fixtures import applications
from placement.tests.servers.servers import Server
from placement.tests.waiting import TIMEOUT

# What stands in a path as it is; all else is quoted.
PLAIN = "/:@!$&'()*+,;=~"


def files_using(*services: str) -> list[pathlib.Path]:
    """The gabbi files whose first fixture is one of these services."""
    return [
        path
        for path in test_gabbi.GABBI_FILES
        if utils.load_yaml(yaml_file=path)['fixtures'][0] in services
    ]


def named(names: Collection[str], files: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """The files with these names, each of which has to exist."""
    by_name = {path.stem: path for path in files}
    missing = [name for name in names if name not in by_name]
    assert not missing, f'no gabbi file is named {missing}'
    return [by_name[name] for name in names]


def reaches_service(headers: Mapping[str, str]) -> bool:
    """True if a web server passes a request on: not if its length is no number."""
    return headers.get('content-length', '0').isdigit()


class Remote:
    """A WSGI application that passes each request on, as it is, to a server."""

    def __init__(self, server: Server, prefix: str) -> None:
        self._server = server
        self._prefix = prefix

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        connection = http.client.HTTPConnection('127.0.0.1', self._server.port, timeout=TIMEOUT)
        try:
            self._send(connection, environ)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        start_response(f'{response.status} {response.reason}', response.getheaders())
        return [body]

    def _send(self, connection: http.client.HTTPConnection, environ: WSGIEnvironment) -> None:
        requested = environ.get('SCRIPT_NAME', '') + environ['PATH_INFO']
        path = self._prefix + parse.quote(requested, PLAIN, 'latin-1')
        query = environ.get('QUERY_STRING', '')
        target = f'{path}?{query}' if query else path
        connection.putrequest(
            environ['REQUEST_METHOD'], target, skip_host=True, skip_accept_encoding=True
        )
        for variable, value in environ.items():
            if variable in ('CONTENT_TYPE', 'CONTENT_LENGTH') and value:
                connection.putheader(variable.replace('_', '-'), value)
            elif variable.startswith('HTTP_') and variable != 'HTTP_CONNECTION':
                connection.putheader(variable[5:].replace('_', '-'), value)
        if 'HTTP_HOST' not in environ:
            connection.putheader('Host', 'placement.example')
        connection.endheaders(environ['wsgi.input'].read())


class RemoteService:
    """Replaces `applications.Service`: a server whose database is emptied for each file."""

    def __init__(self, server: Server, prefix: str, mounted_at: str) -> None:
        server.reset()
        # The paths of a file for a mounted service contain the prefix already.
        remote = Remote(server, '' if mounted_at else prefix)
        self.application: WSGIApplication = applications.mounted(remote, mounted_at)

    def stop(self) -> None:
        """Leave the server running for the next file."""


def run(
    path: pathlib.Path,
    server: Server,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
    prefix: str = '',
) -> None:
    """Run one gabbi file, its paths under a prefix, against the server with an empty database."""

    def serve(options: Mapping[Any, Any], mounted_at: str) -> RemoteService:
        assert not options, 'the gabbi file needs a configuration of its own'
        return RemoteService(server, prefix, mounted_at)

    monkeypatch.setattr(applications, 'Service', serve)
    suite = test_gabbi.load_suite(path)
    result = reporter.PyTestResult()
    suite.start(result)
    try:
        for request in suite:
            if not reaches_service(request.test_data['request_headers']):
                continue
            with subtests.test(request.test_data['name']):
                request(result)
    finally:
        suite.stop()
