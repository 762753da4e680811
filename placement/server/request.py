# SPDX-License-Identifier: Apache-2.0
"""One request as its bytes arrive, and the environment that WSGI makes of it (PEP 3333)."""

from __future__ import annotations

import functools
import io
import sys
import urllib.parse
from collections.abc import Mapping
from typing import Any

# Their WSGI variables have no prefix.
_UNPREFIXED = {b'CONTENT-TYPE': 'CONTENT_TYPE', b'CONTENT-LENGTH': 'CONTENT_LENGTH'}


class BadRequest(Exception):
    """The request is malformed in a way that the parser lets pass; the text says how."""


class Request:
    """What was sent of one request so far."""

    __slots__ = (
        'body', 'body_size', 'environ', 'headers', 'is_complete', 'keeps_alive', 'method', 'url',
        'version',
    )  # fmt: skip

    def __init__(self) -> None:
        self.url = b''
        self.headers: list[tuple[bytes, bytes]] = []
        self.method = ''
        self.version = ''
        #: The WSGI environment, empty until the headers are complete.
        self.environ: dict[str, Any] = {}
        self.body: list[bytes] = []
        self.body_size = 0
        self.is_complete = False
        #: Whether the client wants to go on using the connection.
        self.keeps_alive = False

    @property
    def has_headers(self) -> bool:
        """Whether all headers are there."""
        return bool(self.environ)

    @property
    def has_body(self) -> bool:
        """Whether a body follows the headers."""
        return self.announced_size > 0 or 'HTTP_TRANSFER_ENCODING' in self.environ

    @property
    def announced_size(self) -> int:
        """The length of the body that the headers announce; 0 when they do not."""
        return int(self.environ.get('CONTENT_LENGTH') or 0)

    def make_environment(self, base: Mapping[str, Any]) -> None:
        """Make the WSGI environment, without its input.

        `base` has what is the same for all requests of the connection.

        :raises BadRequest: something in the headers cannot be understood
        """
        if self.version not in ('1.1', '1.0'):
            raise BadRequest(f'The version of the protocol is {self.version}, not 1.1.')
        path, query = _split_target(self.url, self.method)
        environ = {
            **base,
            'REQUEST_METHOD': self.method,
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'SERVER_PROTOCOL': f'HTTP/{self.version}',
        }
        for name, value in self.headers:
            _add_header(environ, name, value.decode('latin-1').rstrip(' \t'))
        encoding = environ.get('HTTP_TRANSFER_ENCODING', 'chunked')
        if encoding.lower() != 'chunked':
            raise BadRequest('The only transfer encoding that is known is chunked.')
        self.environ = environ

    def input(self, max_body_size: int) -> io.RawIOBase | io.BytesIO:
        """The body for the application; one that is too large is cut off beyond the bound."""
        if self.is_complete or self.body_size > max_body_size:
            return io.BytesIO(b''.join(self.body))
        return UnreadBody()


class UnreadBody(io.RawIOBase):
    """A body that the server did not wait for: reading it is an error."""

    def readable(self) -> bool:
        """True: it is in the place of a stream that can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Raise, so that nobody takes a body that is missing for an empty one."""
        raise OSError('the body of the request was not waited for')


def _add_header(environ: dict[str, Any], name: bytes, value: str) -> None:
    variable = _variable(name)
    if variable is None:
        return
    if variable not in environ:
        environ[variable] = value
    elif variable in ('HTTP_HOST', 'CONTENT_TYPE'):
        raise BadRequest(f'The header {name.decode()} was sent twice.')
    else:
        separator = '; ' if variable == 'HTTP_COOKIE' else ', '
        environ[variable] = f'{environ[variable]}{separator}{value}'


@functools.lru_cache(maxsize=512)
def _variable(name: bytes) -> str | None:
    """The WSGI variable of a header; None for one that could pass for another header.

    ``X_User_Id`` would be the same variable as ``X-User-Id``, which proxies may filter.
    """
    if b'_' in name:
        return None
    name = name.upper()
    return _UNPREFIXED.get(name) or 'HTTP_' + name.decode('latin-1').replace('-', '_')


def _split_target(target: bytes, method: str) -> tuple[str, str]:
    """Path, its escapes resolved, and query of a request target (RFC 9112, 3.2)."""
    if not target.startswith(b'/'):
        if target == b'*' and method == 'OPTIONS':
            return '*', ''
        target = _without_origin(target)
    path, _, query = target.partition(b'#')[0].partition(b'?')
    if b'%' in path:
        path = urllib.parse.unquote_to_bytes(path)
    return path.decode('latin-1'), query.decode('latin-1')


def _without_origin(target: bytes) -> bytes:
    """A target in absolute form, ``http://host/path``, without its scheme and host."""
    scheme, found, rest = target.partition(b'://')
    if not found or scheme.lower() not in (b'http', b'https'):
        raise BadRequest('The target of the request is neither a path nor a URL.')
    end = min((i for i in (rest.find(b'/'), rest.find(b'?')) if i >= 0), default=len(rest))
    path = rest[end:]
    return path if path.startswith(b'/') else b'/' + path


def connection_environment(
    server: tuple[str, int], client: tuple[str, int] | None, software: str
) -> dict[str, Any]:
    """What the environments of all requests of a connection share."""
    host, port = client or ('', 0)
    return {
        'SCRIPT_NAME': '',
        'SERVER_NAME': server[0],
        'SERVER_PORT': str(server[1]),
        'SERVER_SOFTWARE': software,
        'REMOTE_ADDR': host,
        'REMOTE_PORT': str(port),
        'wsgi.version': (1, 0),
        'wsgi.url_scheme': 'http',
        'wsgi.errors': sys.stderr,
        'wsgi.multithread': True,
        'wsgi.multiprocess': False,
        'wsgi.run_once': False,
        # The input ends where the body does, whether or not its length was announced.
        'wsgi.input_terminated': True,
    }
