# SPDX-License-Identifier: Apache-2.0
"""Drops the unread rest of a request body when the answer is ready.

uWSGI and gunicorn close the connection of such a request. The kernel then resets it, and the
client loses the answer (RFC 9112, 9.6). So the rest is read and dropped first, as long as it
arrives fast: a slow client must not occupy a thread.
"""

import contextlib
import fcntl
import os
import select
import stat
import struct
import termios
import time
from typing import Any, Protocol
from wsgiref.types import WSGIEnvironment

# Seconds in which a client has to send the rest of its body, and the number of bytes that extend
# them by a second. A proxy such as nginx sends a hundred times as fast.
PATIENCE = 0.2
BYTES_A_SECOND = 1 << 20
# This many bytes may have arrived with the headers, so that no wait is needed.
READ_WITH_HEADERS = 1 << 16
_PIECE = 1 << 16
_LAST_CHUNK = b'0\r\n\r\n'
_NUMBER = struct.Struct('i')


class Body(Protocol):
    """A request body with a number of unread bytes."""

    @property
    def left(self) -> int: ...

    def read(self, size: int, /) -> bytes | None: ...


def drop(body: Body, descriptor: int) -> None:
    """Read a body to its end, or until the client sends too slowly. Raises nothing."""
    end = time.monotonic() + (PATIENCE if body.left > READ_WITH_HEADERS else 0)
    dropped = -1
    with contextlib.suppress(OSError):
        while body.left > 0 and dropped:
            # Reading more bytes than have arrived would block without a timeout.
            arrived = _bytes_that_arrived(descriptor, end - time.monotonic())
            dropped = len(body.read(min(arrived, body.left, _PIECE)) or b'')
            end += dropped / BYTES_A_SECOND


class Chunks:
    """A chunked body that the web server does not parse, as bytes of the connection.

    At most `left` of them are read, and none after the last chunk.
    """

    def __init__(self, descriptor: int, left: int) -> None:
        self.left = left
        self._descriptor = descriptor
        self._end = b''

    def read(self, size: int, /) -> bytes:
        """Read bytes that have arrived."""
        data = os.read(self._descriptor, size)
        self._end = (self._end + data)[-len(_LAST_CHUNK) :]
        self.left = 0 if self._end == _LAST_CHUNK else self.left - len(data)
        return data


def descriptor(environ: WSGIEnvironment) -> int | None:
    """The socket of the client, from uWSGI or gunicorn.

    None if the web server has read the body already, or drops the rest by itself.
    """
    if environ['wsgi.url_scheme'] == 'https':
        # Under TLS the bytes on the socket are encrypted.
        return None
    try:
        source: Any = environ.get('gunicorn.socket', environ['wsgi.input'])
        number: int = source.fileno()
        is_socket = stat.S_ISSOCK(os.fstat(number).st_mode)
    except (AttributeError, OSError, ValueError):
        return None
    return number if is_socket else None


def _bytes_that_arrived(descriptor: int, seconds: float) -> int:
    """The number of bytes that can be read without blocking; 0 if none arrive in time."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(max(seconds, 0) * 1_000):
        return 0
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(_NUMBER.size))
    number: int = _NUMBER.unpack(answer)[0]
    return number
