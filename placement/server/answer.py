# SPDX-License-Identifier: Apache-2.0
"""The application's answer as bytes."""

from __future__ import annotations

import email.utils
import functools
import http
import json
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import WSGIApplication

LOG = logging.getLogger(__name__)

# What a server decides, not an application (RFC 9110, 7.6.1).
_HOP_BY_HOP = frozenset(
    ('connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade')
)


class Answer:
    """Status, headers and body of one answer."""

    __slots__ = ('_close', 'body', 'head')

    def __init__(
        self,
        status: str,
        headers: list[tuple[str, str]],
        body: list[bytes],
        close: Callable[[], object] | None = None,
    ) -> None:
        #: Status line and headers, without the line that says what becomes of the connection,
        #: and without the empty line after it.
        self.head = _head(status, headers, sum(map(len, body)))
        self.body = [] if _has_no_body(status) else body
        self._close = close

    def close(self) -> None:
        """Let the application do what it does once an answer is on its way; raises nothing."""
        if self._close is not None:
            try:
                self._close()
            except Exception:
                LOG.exception('The application failed after it had answered.')

    def size(self) -> int:
        """Bytes of the body."""
        return sum(map(len, self.body))


def _has_no_body(status: str) -> bool:
    return status[:3] in ('204', '304') or status[0] == '1'


def _head(status: str, headers: list[tuple[str, str]], size: int) -> bytes:
    """Status line and headers, with those that are up to the server.

    The length of the body is known, so that no answer is sent in chunks.

    :raises ValueError: a header has a line break in it, or what is not Latin-1
    """
    lines = [f'HTTP/1.1 {status}']
    names = set()
    for name, value in headers:
        lower = name.lower()
        if lower not in _HOP_BY_HOP:
            names.add(lower)
            lines.append(f'{name}: {value}')
    if 'content-length' not in names and not _has_no_body(status):
        lines.append(f'Content-Length: {size}')
    if 'date' not in names:
        lines.append(f'Date: {_http_date(int(time.time()))}')
    lines.append('Server: placement\r\n')
    head = '\r\n'.join(lines)
    if head.count('\n') != len(lines) or head.count('\r') != len(lines):
        raise ValueError('a header of the answer has a line break in it')
    return head.encode('latin-1')


@functools.lru_cache(maxsize=2)
def _http_date(second: int) -> str:
    return email.utils.formatdate(second, usegmt=True)


def refusal(status: http.HTTPStatus, detail: str) -> Answer:
    """The server's own answer of an error, in the form that the API has for errors."""
    error = {'status': status.value, 'title': status.phrase, 'detail': detail}
    body = json.dumps({'errors': [error]}).encode()
    headers = [('Content-Type', 'application/json'), ('Content-Length', str(len(body)))]
    return Answer(f'{status.value} {status.phrase}', headers, [body])


def run(application: WSGIApplication, environ: dict[str, Any]) -> Answer:
    """The whole answer of the application to one request; 500 in place of any exception."""
    try:
        return _run(application, environ)
    except Exception:
        LOG.exception('The application failed to answer.')
        return refusal(
            http.HTTPStatus.INTERNAL_SERVER_ERROR, 'The server failed to answer the request.'
        )


def _run(application: WSGIApplication, environ: dict[str, Any]) -> Answer:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    body: list[bytes] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], object]:
        if started and exc_info is None:
            raise RuntimeError('start_response was called twice')
        started[:] = [(status, headers)]
        return body.append

    returned: Iterable[bytes] = application(environ, start_response)
    close = getattr(returned, 'close', None)
    try:
        body.extend(filter(None, returned))
        ((status, headers),) = started
        return Answer(status, headers, body, close)
    except Exception:
        if close is not None:
            close()
        raise
