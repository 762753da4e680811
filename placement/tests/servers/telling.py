# SPDX-License-Identifier: Apache-2.0
"""The stories of gabbits/, told to a service on the other end of a connection."""

import http.client
import pathlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib import parse
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from gabbi import reporter, utils

from placement.tests.functional import test_api
from placement.tests.functional.fixtures import applications
from placement.tests.servers.servers import PATIENCE, Server

# What stands in a path as it is; all else is quoted.
PLAIN = "/:@!$&'()*+,;=~"


def stories_of(*services: str) -> list[pathlib.Path]:
    """The stories that are told to one of these services."""
    return [
        path
        for path in test_api.STORIES
        if utils.load_yaml(yaml_file=path)['fixtures'][0] in services
    ]


def named(names: Collection[str], stories: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    """The stories with these names, each of which has to be there."""
    by_name = {path.stem: path for path in stories}
    missing = [name for name in names if name not in by_name]
    assert not missing, f'there is no story {missing}'
    return [by_name[name] for name in names]


def reaches_service(headers: Mapping[str, str]) -> bool:
    """Whether a web server hands a request on: not if its length is no number."""
    return headers.get('content-length', '0').isdigit()


class Remote:
    """A WSGI application that passes each request on, as it is, to a server."""

    def __init__(self, server: Server, prefix: str) -> None:
        self._server = server
        self._prefix = prefix

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        connection = http.client.HTTPConnection('127.0.0.1', self._server.port, timeout=PATIENCE)
        try:
            self._send(connection, environ)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        start_response(f'{response.status} {response.reason}', response.getheaders())
        return [body]

    def _send(self, connection: http.client.HTTPConnection, environ: WSGIEnvironment) -> None:
        told = environ.get('SCRIPT_NAME', '') + environ['PATH_INFO']
        path = self._prefix + parse.quote(told, PLAIN, 'latin-1')
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
    """In the place of `applications.Service`: a server that starts afresh for each story."""

    def __init__(self, server: Server, prefix: str, told_prefix: str) -> None:
        server.reset()
        # A story of a mounted service has the prefix in its paths.
        remote = Remote(server, '' if told_prefix else prefix)
        self.application: WSGIApplication = applications.mounted(remote, told_prefix)

    def stop(self) -> None:
        """Leave the server running for the next story."""


def tell(
    path: pathlib.Path,
    server: Server,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
    prefix: str = '',
) -> None:
    """Tell one story, its paths below a prefix, to the server with an empty database."""

    def serve(options: Mapping[Any, Any], told_prefix: str) -> RemoteService:
        assert not options, 'the story needs a configuration of its own'
        return RemoteService(server, prefix, told_prefix)

    monkeypatch.setattr(applications, 'Service', serve)
    story = test_api.load_story(path)
    result = reporter.PyTestResult()
    story.start(result)
    try:
        for request in story:
            if not reaches_service(request.test_data['request_headers']):
                continue
            with subtests.test(request.test_data['name']):
                request(result)
    finally:
        story.stop()
