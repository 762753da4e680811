# SPDX-License-Identifier: Apache-2.0
"""The unread rest of a request body."""

import io
import itertools
import socket
import tempfile
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
import webob

from placement.middleware import body_limit, unread_body
from placement.tests.unit.middleware.samples import Inner

MOST = 64 << 10


class Input(io.RawIOBase):
    """The body of a request as uWSGI has it: what came with the headers, then the rest.

    A read of more than has arrived would block, which fails here.
    """

    def __init__(self, server: socket.socket, before: bytes = b'') -> None:
        self._server = server
        self._before = io.BytesIO(before)

    def fileno(self) -> int:
        """The socket of the client."""
        return self._server.fileno()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read exactly as many bytes."""
        assert size is not None
        data = self._before.read(size)
        if len(data) < size:
            data += self._server.recv(size - len(data), socket.MSG_DONTWAIT)
        assert len(data) == size
        return data


class Reading(Inner):
    """An application that reads a part of the body."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ['wsgi.input'].read(self._size)
        return super().__call__(environ, start_response)


class Connection(NamedTuple):
    """The two ends of a connection."""

    client: socket.socket
    server: socket.socket

    def unread(self) -> int:
        """The number of unread bytes."""
        try:
            return len(self.server.recv(1 << 20, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return 0


@pytest.fixture
def connection() -> Iterator[Connection]:
    client, server = socket.socketpair()
    with client, server:
        yield Connection(client, server)


def ask(body: Any, length: int, inner: Inner | None = None, **environ: object) -> webob.Response:
    """The answer to a request with this body, which the application does not read."""
    request = webob.Request.blank('/', environ={'wsgi.input': body, **environ})
    request.environ['CONTENT_LENGTH'] = str(length)
    return request.get_response(body_limit.BodyLimit(inner or Inner(), MOST))


@pytest.mark.parametrize('before', [0, 1, 999, 1_000])
def test_body_that_was_not_read_is_dropped(connection: Connection, before: int) -> None:
    connection.client.sendall(b'x' * (1_000 - before))

    assert ask(Input(connection.server, b'x' * before), 1_000).status_int == 204
    assert connection.unread() == 0


def test_no_byte_beyond_the_body_is_read(connection: Connection) -> None:
    connection.client.sendall(b'x' * 1_010)

    ask(Input(connection.server), 1_000)

    assert connection.unread() == 10


def test_rest_of_a_body_is_dropped(connection: Connection) -> None:
    connection.client.sendall(b'x' * 1_000)

    ask(Input(connection.server), 1_000, Reading(300))

    assert connection.unread() == 0


@pytest.mark.parametrize(('length', 'unread'), [(2 * MOST, 0), (2 * MOST + 1, 50_000)])
def test_body_a_little_beyond_the_bound_is_dropped(
    connection: Connection, length: int, unread: int
) -> None:
    connection.client.sendall(b'x' * 50_000)

    assert ask(Input(connection.server), length).status_int == 413
    assert connection.unread() == unread


def test_body_that_does_not_arrive_is_not_waited_for(connection: Connection) -> None:
    connection.client.sendall(b'x' * 10)
    assert ask(Input(connection.server), MOST).status_int == 204

    connection.client.close()
    assert ask(Input(connection.server), MOST).status_int == 204


def test_client_that_sends_fast_gets_more_time(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use a clock that advances by one second at each reading."""
    monkeypatch.setattr(unread_body, 'PATIENCE', 1.5)
    monkeypatch.setattr(unread_body, 'READ_WITH_HEADERS', 0)
    clock = types.SimpleNamespace(monotonic=itertools.count().__next__)
    monkeypatch.setattr(unread_body, 'time', clock)
    sent: list[float] = []

    def arrived(_descriptor: int, seconds: float) -> int:
        sent.append(seconds)
        return 1 << 20

    monkeypatch.setattr(unread_body, '_bytes_that_arrived', arrived)
    monkeypatch.setattr(unread_body, '_PIECE', 1 << 19)

    body = body_limit.LimitedInput(io.BytesIO(b'x' * (2 << 20)), 2 << 20)
    unread_body.drop(body, connection.server.fileno())

    assert sent == [0.5, 0.0, -0.5, -1.0]


def test_chunks_are_dropped_to_the_last_one(connection: Connection) -> None:
    connection.client.sendall(b'5\r\n0\r\n\r\n\r\n')
    body = unread_body.Chunks(connection.server.fileno(), 1_000)
    assert body.read(3) == b'5\r\n'
    connection.client.sendall(b'3\r\nabc\r\n0\r\n')
    assert body.read(100).endswith(b'abc\r\n0\r\n')
    assert body.left > 0
    connection.client.sendall(b'\r\n')
    unread_body.drop(body, connection.server.fileno())
    assert body.left == 0


def test_failure_of_the_connection_is_no_failure_of_the_answer(connection: Connection) -> None:
    class Broken(Input):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError

    connection.client.sendall(b'x')
    assert ask(Broken(connection.server), 10).status_int == 204


def test_gunicorn_has_the_socket_beside_the_body(connection: Connection) -> None:
    connection.client.sendall(b'x' * 10)

    environ: dict[str, Any] = {'gunicorn.socket': connection.server}
    ask(io.BytesIO(b'x' * 20), 20, **environ)
    assert connection.unread() == 10


@pytest.mark.parametrize('scheme', ['http', 'https'])
def test_web_servers_that_have_read_the_body_are_left_alone(scheme: str) -> None:
    with tempfile.TemporaryFile() as file:
        environ = {'wsgi.input': file, 'wsgi.url_scheme': scheme}
        assert unread_body.descriptor(environ) is None
    assert unread_body.descriptor({'wsgi.input': io.BytesIO(), 'wsgi.url_scheme': scheme}) is None


def test_bytes_of_an_encrypted_connection_are_not_those_of_the_body(
    connection: Connection,
) -> None:
    environ = {'wsgi.input': Input(connection.server), 'wsgi.url_scheme': 'https'}
    assert unread_body.descriptor(environ) is None
    environ['wsgi.url_scheme'] = 'http'
    assert unread_body.descriptor(environ) == connection.server.fileno()
