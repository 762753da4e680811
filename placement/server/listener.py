# SPDX-License-Identifier: Apache-2.0
"""The socket that a server listens on, its address, and why it cannot be had."""

from __future__ import annotations

import errno
import os
import socket

# How many connections wait until they are accepted.
BACKLOG = 2048

MAX_PORT = 65535


class CannotListenError(Exception):
    """Why nobody can listen on an address, in one line; `is_taken` where another program does."""

    def __init__(self, host: str, port: int, error: Exception) -> None:
        super().__init__(f'cannot listen on {host} port {port}: {words_of(error)}')
        self.is_taken = getattr(error, 'errno', None) == errno.EADDRINUSE


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses of a host, one at least. Raises `CannotListenError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListenError(host, port, error) from error
    return [str(address[0]) for *_, address in found]


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections, on a free port for 0. Raises `CannotListenError`."""
    try:
        if not 0 <= port <= MAX_PORT:
            # The library would raise this, too, but leave a socket open.
            raise OverflowError(f'a port is a number from 0 to {MAX_PORT}')
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CannotListenError(host, port, error) from error


def url_of(listener: socket.socket) -> str:
    """The URL of a socket, without a slash at the end; an address of version 6 is in brackets."""
    host, port = listener.getsockname()[:2]
    return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'


def words_of(error: Exception) -> str:
    """What an error says, in one line, without its number."""
    number = getattr(error, 'errno', None)
    if isinstance(error, socket.gaierror):
        # It has numbers of its own.
        words = error.strerror or ''
    elif number and number > 0:
        words = os.strerror(number)
    else:
        words = str(error)
    return ' '.join(words.split()) or type(error).__name__
