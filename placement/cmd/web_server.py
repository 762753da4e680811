# SPDX-License-Identifier: Apache-2.0
"""The web server of commands, for trials: a socket, and waitress."""

import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any
from wsgiref.types import WSGIApplication

import waitress
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError

# Maximum number of connections that wait to be accepted.
BACKLOG = 2048

MAX_PORT = 65535


class CannotServe(Exception):
    """The reason why a command cannot start to serve, in one line."""


class CannotListen(CannotServe):
    """The reason why an address cannot be used; `is_taken` is True if another program uses it."""

    def __init__(self, host: str, port: int, error: Exception) -> None:
        super().__init__(f'cannot listen on {host} port {port}: {words_of(error)}')
        self.is_taken = getattr(error, 'errno', None) == errno.EADDRINUSE


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve the addresses of a host; at least one.

    :raises CannotListen: the name has no address
    """
    try:
        _check_port(port)
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error
    return [str(address[0]) for *_, address in addresses]


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections, on a free port for 0.

    :raises CannotListen: the address is taken, not of this host, or not permitted
    """
    try:
        # The library would raise the same, but leave a socket open.
        _check_port(port)
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error


def _check_port(port: int) -> None:
    """Raise `OverflowError` for an invalid port."""
    if not 0 <= port <= MAX_PORT:
        raise OverflowError(f'a port is a number from 0 to {MAX_PORT}')


def url_of(listener: socket.socket) -> str:
    """The URL of a socket, without a final slash; an IPv6 address is in brackets."""
    host, port = listener.getsockname()[:2]
    return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'


def words_of(error: Exception) -> str:
    """The message of an error in one line, without its number."""
    number = getattr(error, 'errno', None)
    if isinstance(error, socket.gaierror):
        # The numbers of these errors are not those of the operating system.
        words = error.strerror or ''
    elif number and number > 0:
        words = os.strerror(number)
    else:
        words = str(error)
    return ' '.join(words.split()) or type(error).__name__


# SIGINT of Ctrl-C, and SIGTERM of a service manager.
ENDING = (signal.SIGINT, signal.SIGTERM)

MAX_CONNECTIONS = 500
# Maximum size of request line and headers in bytes; the longest queries of nova have 16 KB.
MAX_HEADER_SIZE = 32 << 10
# Seconds after which an idle connection is closed.
CHANNEL_TIMEOUT = 120
# Seconds after a signal in which requests that were sent before it are still answered.
STOP_SECONDS = 20.0
STOP_SETTLE_SECONDS = 0.25


# Maximum number of consecutive blanks in a header. The library takes quadratic time for blanks at
# the beginning of a malformed value.
MAX_BLANKS = 64


class BoundedParser(HTTPRequestParser):
    """Parses a request, and refuses headers that take long to parse."""

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the request line and the headers.

        :raises ParsingError: they are malformed
        """
        # The library joins folded lines.
        joined = header_plus.translate(None, b'\r\n').replace(b'\t', b' ')
        if b' ' * (MAX_BLANKS + 1) in joined:
            raise ParsingError(f'More than {MAX_BLANKS} blanks in a row')
        super().parse_header(header_plus)


class _Channel(HTTPChannel):
    parser_class = BoundedParser


def run_until_signal(name: str, work: Callable[[], None]) -> int:
    """Run the work of a command until a signal arrives; return the exit status."""
    interrupt()
    try:
        work()
    except KeyboardInterrupt:
        pass
    except CannotServe as reason:
        print(f'{name}: {reason}', file=sys.stderr)
        return 1
    print(f'{name}: stopped', flush=True)
    return 0


def interrupt() -> None:
    """Make signals raise `KeyboardInterrupt` in the main thread."""
    for number in ENDING:
        signal.signal(number, signal.default_int_handler)


def serve(
    application: WSGIApplication,
    listening: socket.socket,
    threads: int,
    ready: Callable[[], None],
    max_body_size: int = 0,
) -> None:
    """Serve until a signal arrives; return after answering the requests that have arrived.

    `ready` is called when connections are accepted. A second signal raises `KeyboardInterrupt`.
    """
    # The library warns of each request that waits for a thread, which is normal.
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
        # The application reads these headers, if configured.
        clear_untrusted_proxy_headers=False,
    )
    server.channel_class = _Channel
    with _stopping(server) as signals:
        ready()
        while not signals:
            wasyncore.loop(timeout=1, use_poll=True, map=connections, count=1)
        _finish(server, connections)


@contextlib.contextmanager
def _stopping(server: Any) -> Iterator[list[int]]:
    """Collect the first signal instead of raising an exception in the middle of a step."""
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
    """Answer the requests that have arrived or are about to arrive."""
    now = time.monotonic()
    settled, end = now + STOP_SETTLE_SECONDS, now + STOP_SECONDS
    while now < settled or (_is_busy(server) and now < end):
        wasyncore.loop(timeout=0.05, use_poll=True, map=connections, count=1)
        now = time.monotonic()
        if now >= settled:
            server.accepting = False


def _is_busy(server: Any) -> bool:
    """True if a request is in progress, or an answer is not sent yet."""
    return any(
        channel.requests or channel.total_outbufs_len
        for channel in server.active_channels.values()
    )
