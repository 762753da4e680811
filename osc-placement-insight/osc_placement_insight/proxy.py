# SPDX-License-Identifier: Apache-2.0
"""A server on the loopback that shows one person the page of the service, with a token added.

Every client of it reads the cloud with the rights of the user. So it answers only requests that a
browser sends for the page itself:

* below a random path, which other users of the machine do not know;
* for the address it listens on, by `Host`: a foreign page that lets a name of its own lead to the
  loopback (DNS rebinding) sends that name;
* not from foreign pages, by `Origin` and `Sec-Fetch-Site`, which no page can choose;
* GET, without a body, for the routes in `ROUTE`; and POST for those in `POSTED`, which write
  nothing, with JSON that the page itself sends. Of a request nothing is passed on but its path,
  its query and this JSON.
"""

from __future__ import annotations

import http.server
import json
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

ADDRESS = '127.0.0.1'

#: The paths that the page requests. None of their characters can lead elsewhere after decoding.
ROUTE = re.compile(
    r'ui/(?:[a-z_]+\.[a-z]+)?'
    r'|names\.json'
    r'|insight'
    r'|insight/promises/[a-z0-9][a-z0-9._-]{0,63}/takers'
    r'|insight/(?:allocation_candidates|capacity|changes|consumers|history|names|promises'
    r'|providers|unmet_demand|usages)'
)
#: Questions that do not fit into a query.
POSTED = re.compile('insight/(?:allocation_candidates|capacity|drain|moves|survival)')
#: The largest body of a question, in bytes.
MAX_BODY = 2**20
PRINTABLE = re.compile('[!-~]*')
LENGTH_PATTERN = re.compile('[0-9]{1,12}')

PAGE = 'ui/'
#: By this query the page knows that it needs no token.
QUERY = 'token=proxy'

#: Headers of requests with which two servers may disagree on where a request ends.
FRAMING = ('Transfer-Encoding', 'Upgrade')
LENGTH = 'Content-Length'
#: Headers of answers that are passed on.
PASSED_ON = ('Content-Type', 'Content-Security-Policy', 'Retry-After')
#: Headers of every answer.
OWN_HEADERS = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
}
NO_CONTENT_ALLOWED = "default-src 'none'; frame-ancestors 'none'"

#: Seconds after which a client that sends nothing is left.
TIMEOUT = 30


class Answer(NamedTuple):
    """The answer to the browser, without `OWN_HEADERS`."""

    status: int
    headers: Mapping[str, str]
    content: bytes


Fetch = Callable[[str, Any], Answer]


class Proxy(http.server.ThreadingHTTPServer):
    """The server, bound to the loopback; `serve_forever` answers until interrupted.

    `fetch` is called with the path and the query of each request that is allowed, and the values
    that a POST sends or None, and returns the answer. Any thread may call it. A port of 0 stands
    for any that is free.

    :raises OSError: the port cannot be had
    """

    daemon_threads = True

    def __init__(self, fetch: Fetch, port: int = 0) -> None:
        self.fetch = fetch
        self.prefix = secrets.token_urlsafe(32)
        self._once = ''
        super().__init__((ADDRESS, port), _Handler)

    @property
    def origin(self) -> str:
        """Where the server listens, as a browser names it."""
        return f'http://{ADDRESS}:{self.server_port}'

    @property
    def url(self) -> str:
        """The address of the page."""
        return f'{self.origin}/{self.prefix}/{PAGE}?{QUERY}'

    def url_for_once(self) -> str:
        """An address that leads to the page once.

        For a browser that is started: other users of the machine can read its arguments.
        """
        self._once = f'/{secrets.token_urlsafe(32)}'
        return self.origin + self._once

    def is_opened_by(self, path: str) -> bool:
        """True if a path is that of `url_for_once`, which becomes invalid by this call."""
        is_same = bool(self._once) and _are_equal(path, self._once)
        if is_same:
            self._once = ''
        return is_same

    def route(self, path: str, allowed: re.Pattern[str] = ROUTE) -> str | None:
        """The path below the random one, if it is one of those that are allowed."""
        _, _, below = path.partition('/')
        prefix, _, route = below.partition('/')
        is_allowed = _are_equal(prefix, self.prefix) and allowed.fullmatch(route)
        return route if is_allowed else None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that go away before they have their answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Proxy
    timeout = TIMEOUT

    def do_GET(self) -> None:
        path, mark, query = self.path.partition('?')
        route = self.server.route(path)
        refusal = self._refusal(may_navigate=route in (None, PAGE))
        if refusal is not None:
            self._send(refusal)
        elif LENGTH in self.headers:
            self._send(_in_words(HTTPStatus.BAD_REQUEST))
        elif self.server.is_opened_by(path):
            self._send(Answer(HTTPStatus.FOUND, {'Location': self.server.url}, b''))
        elif route is None or not PRINTABLE.fullmatch(query):
            self._send(_in_words(HTTPStatus.NOT_FOUND))
        else:
            self._send(self.server.fetch(f'/{route}{mark}{query}', None))

    def do_POST(self) -> None:
        path, mark, query = self.path.partition('?')
        route = self.server.route(path, POSTED)
        if route is None:
            self._send(_in_words(HTTPStatus.METHOD_NOT_ALLOWED))
            return
        refusal = self._refusal(may_navigate=False) or self._refusal_of_content()
        if refusal is None and not PRINTABLE.fullmatch(query):
            refusal = _in_words(HTTPStatus.NOT_FOUND)
        if refusal is not None:
            self._send(refusal)
            return
        try:
            question = json.loads(self.rfile.read(int(self.headers[LENGTH])))
        except (ValueError, RecursionError):
            question = None
        if isinstance(question, dict):
            self._send(self.server.fetch(f'/{route}{mark}{query}', question))
        else:
            self._send(_in_words(HTTPStatus.BAD_REQUEST))

    def _refusal_of_content(self) -> Answer | None:
        """The answer to a body that is too large, or that a foreign form may have sent."""
        headers = self.headers
        (length, *others) = headers.get_all(LENGTH, [''])
        if others or not LENGTH_PATTERN.fullmatch(length):
            return _in_words(HTTPStatus.LENGTH_REQUIRED)
        if int(length) > MAX_BODY:
            return _in_words(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if headers.get_all('Content-Type') != ['application/json']:
            return _in_words(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        # Every browser names the page that sends a POST.
        if 'Origin' not in headers:
            return _in_words(HTTPStatus.FORBIDDEN)
        return None

    def _refusal(self, may_navigate: bool) -> Answer | None:
        """The answer to a request that the page cannot have sent, nor a person."""
        headers = self.headers
        if headers.defects or any(name in headers for name in FRAMING):
            return _in_words(HTTPStatus.BAD_REQUEST)
        if headers.get_all('Host') != [f'{ADDRESS}:{self.server.server_port}']:
            return _in_words(HTTPStatus.FORBIDDEN)
        if any(origin != self.server.origin for origin in headers.get_all('Origin', [])):
            return _in_words(HTTPStatus.FORBIDDEN)
        if not (self._is_of_page() or (may_navigate and self._is_navigation())):
            return _in_words(HTTPStatus.FORBIDDEN)
        return None

    def _is_of_page(self) -> bool:
        """True if the browser does not say that a foreign page has sent the request."""
        return set(self.headers.get_all('Sec-Fetch-Site', [])) <= {'same-origin', 'none'}

    def _is_navigation(self) -> bool:
        """True if a link leads the whole window here; the page that has it sees nothing of it."""
        mode, destination = 'Sec-Fetch-Mode', 'Sec-Fetch-Dest'
        found = (self.headers.get_all(mode), self.headers.get_all(destination))
        return found == (['navigate'], ['document'])

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        policy = {'Content-Security-Policy': NO_CONTENT_ALLOWED}
        length = {'Content-Length': str(len(answer.content))}
        for name, value in {**policy, **answer.headers, **OWN_HEADERS, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Refuse what is no request, and other methods, in the same words as all else."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._send(_in_words(status))

    def version_string(self) -> str:
        """The header `Server`, without the version of Python."""
        return 'openstack-placement-ui'

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the random path is a secret."""


def _in_words(status: HTTPStatus) -> Answer:
    words = f'{status.value} {status.phrase}\n'.encode()
    return Answer(status, {'Content-Type': 'text/plain; charset=utf-8'}, words)


def _are_equal(one: str, other: str) -> bool:
    """True if two texts are the same, in a time that does not tell where they differ."""
    return secrets.compare_digest(one.encode(), other.encode())
