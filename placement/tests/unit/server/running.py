# SPDX-License-Identifier: Apache-2.0
"""A server in a thread of the test, and clients that write bytes."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.types import WSGIApplication

from placement.server.limits import Limits
from placement.server.server import Server

# Longer than anything takes, so that a test which hangs fails.
SECONDS = 20

GET = b'GET /path HTTP/1.1\r\nHost: localhost\r\n\r\n'


class Client:
    """A connection that is written to and read from byte by byte."""

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(SECONDS)
        try:
            self.socket.connect(('127.0.0.1', port))
        except OSError:
            self.socket.close()
            raise
        self._file = self.socket.makefile('rb')

    def send(self, data: bytes) -> None:
        """Send bytes; those that the other side no longer takes are lost."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def receive(self, with_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next answer."""
        line = self._file.readline()
        assert line, 'the connection was closed'
        headers = {}
        while (header := self._file.readline().strip()) != b'':
            name, _, value = header.decode().partition(': ')
            headers[name.lower()] = value
        size = int(headers.get('content-length', '0')) if with_body else 0
        return int(line.split()[1]), headers, self._file.read(size)

    def is_closed(self) -> bool:
        """Whether the server ends the connection without sending anything more."""
        try:
            return self._file.read(1) == b''
        except ConnectionError:
            return True

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self.socket.close()


class Running:
    """A server, and what connects to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=server.run, args=[self.listener])
        self._clients: list[Client] = []

    def client(self, receive_buffer: int | None = None) -> Client:
        """A new connection, which is closed with the server."""
        client = Client(self.port, receive_buffer)
        self._clients.append(client)
        return client

    def ask(self, request: bytes = GET) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request on a connection of its own."""
        client = self.client()
        client.send(request)
        return client.receive()

    def stop(self) -> None:
        """Have the server stop, and wait until it has."""
        if self.thread.is_alive():
            self.server.stop()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()

    def close(self) -> None:
        """Close what has connected to the server, and stop it."""
        for client in self._clients:
            client.close()
        self.stop()


@contextlib.contextmanager
def running(
    application: WSGIApplication,
    threads: int = 1,
    wants_body: Callable[[dict[str, Any]], bool] = lambda environ: True,
    **bounds: Any,
) -> Iterator[Running]:
    """A server of an application while the block runs."""
    service = Running(
        Server(application, threads, Limits(**{'stop_timeout': 0.3, **bounds}), wants_body)
    )
    service.thread.start()
    try:
        service.ask()
        yield service
    finally:
        service.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds, and fail if it never does."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
