# SPDX-License-Identifier: Apache-2.0
"""The web server of the commands that serve by themselves: a socket, and waitress, for trials."""

import contextlib
import errno
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn
from wsgiref.types import WSGIApplication

import waitress
from waitress import wasyncore

# How many connections wait until they are accepted.
BACKLOG = 2048

MAX_PORT = 65535


class CannotServe(Exception):
    """The reason why a command cannot start to serve, in one line."""


class CannotListen(CannotServe):
    """The reason why nobody can listen on an address; `is_taken` where another program does."""

    def __init__(self, host: str, port: int, error: Exception) -> None:
        super().__init__(f'cannot listen on {host} port {port}: {words_of(error)}')
        self.is_taken = getattr(error, 'errno', None) == errno.EADDRINUSE


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve the addresses of a host, one at least. Raises `CannotListen`."""
    try:
        _check_port(port)
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error
    return [str(address[0]) for *_, address in addresses]


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections, on a free port for 0. Raises `CannotListen`."""
    try:
        # The library would raise this, too, but leave a socket open.
        _check_port(port)
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error


def _check_port(port: int) -> None:
    """Raise `OverflowError` for a number that is no port."""
    if not 0 <= port <= MAX_PORT:
        raise OverflowError(f'a port is a number from 0 to {MAX_PORT}')


def url_of(listener: socket.socket) -> str:
    """The URL of a socket, without a slash at the end; an address of version 6 is in brackets."""
    host, port = listener.getsockname()[:2]
    return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'


def words_of(error: Exception) -> str:
    """The message of an error in one line, without its number."""
    number = getattr(error, 'errno', None)
    if isinstance(error, socket.gaierror):
        # It has numbers of its own.
        words = error.strerror or ''
    elif number and number > 0:
        words = os.strerror(number)
    else:
        words = str(error)
    return ' '.join(words.split()) or type(error).__name__


# SIGINT, as Ctrl-C sends it, and SIGTERM, as a manager does.
ENDING = (signal.SIGINT, signal.SIGTERM)

MAX_CONNECTIONS = 500
# Request line and headers together; the longest queries of nova have 16 KB.
MAX_HEADER_SIZE = 32 << 10
# Seconds for which a connection is kept without anything that arrives on it.
CHANNEL_TIMEOUT = 120
# Seconds after a signal for requests to be answered that have arrived, and in which those that
# were sent before it arrive.
STOP_SECONDS = 20.0
STOP_SETTLE_SECONDS = 0.25


def interrupt() -> None:
    """Raise `KeyboardInterrupt` in the main thread at a signal, whatever is being done."""
    for number in ENDING:
        signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def serve(
    application: WSGIApplication,
    listening: socket.socket,
    threads: int,
    ready: Callable[[], None],
    max_body_size: int = 0,
) -> None:
    """Serve until a signal arrives, and return when what has arrived is answered.

    `ready` is called when connections are accepted. A second signal raises `KeyboardInterrupt`.
    """
    # A request that waits for a thread is no reason for a warning.
    logging.getLogger('waitress.queue').setLevel(logging.ERROR)
    connections: dict[int, Any] = {}
    server = waitress.create_server(
        application,
        map=connections,
        sockets=[listening],
        threads=threads,
        backlog=BACKLOG,
        connection_limit=MAX_CONNECTIONS,
        channel_timeout=CHANNEL_TIMEOUT,
        max_request_header_size=MAX_HEADER_SIZE,
        max_request_body_size=max_body_size,
        asyncore_use_poll=True,
        ident='placement',
        # The application reads them where it is configured to.
        clear_untrusted_proxy_headers=False,
    )
    with _stopping(server) as signals:
        ready()
        while not signals:
            wasyncore.loop(timeout=1, use_poll=True, map=connections, count=1)
        _finish(server, connections)


@contextlib.contextmanager
def _stopping(server: Any) -> Iterator[list[int]]:
    """Collect the first signal, so that no exception cuts a step of the server."""
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)
        interrupt()
        server.pull_trigger()

    for number in ENDING:
        signal.signal(number, note)
    try:
        yield arrived
    finally:
        interrupt()
        server.task_dispatcher.shutdown()
        wasyncore.close_all(server._map)


def _finish(server: Any, connections: dict[int, Any]) -> None:
    """Answer what has arrived, or is about to arrive."""
    now = time.monotonic()
    settled, end = now + STOP_SETTLE_SECONDS, now + STOP_SECONDS
    while now < settled or (_is_busy(server) and now < end):
        wasyncore.loop(timeout=0.05, use_poll=True, map=connections, count=1)
        now = time.monotonic()
        if now >= settled:
            server.accepting = False


def _is_busy(server: Any) -> bool:
    """Test whether a request is worked on, or an answer not sent."""
    return any(
        channel.requests or channel.total_outbufs_len
        for channel in server.active_channels.values()
    )
