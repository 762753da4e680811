# SPDX-License-Identifier: Apache-2.0
"""Requests as bytes, most of them malformed: what a random generator makes of good ones."""

import json
import random
import re

from placement.routes import installed_surface

# At the beginning of a line of the log it shows that a client has written the line.
MARK = 'FORGED'

_BREAKS = (
    b'\n', b'\r', b'\r\n', b'\x0b', b'\x0c', b'\x1b[2K', b'\x85', b'\xc2\x85', b'\xe2\x80\xa8',
)  # fmt: skip
_ENCODED = (b'%0A', b'%0D%0A', b'%1B[2K', b'%C2%85', b'%E2%80%A8', b'%00', b'%FF', b'%25')
_ODD = (
    b'\0', b'\t', b' ', b'\x7f', b'\xff', b'\xc3\x28', b'{', b'"', b'%', b':', b';', b'=', b'/../',
)  # fmt: skip
_METHODS = (b'GET', b'PUT', b'POST', b'DELETE', b'HEAD', b'OPTIONS', b'PATCH', b'TRACE', b'NONE')
_VERSIONS = (b'HTTP/1.1', b'HTTP/1.0', b'HTTP/0.9', b'HTTP/2.0', b'HTTP/1.10', b'http/1.1', b'')
_LENGTHS = (b'0', b'1', b'-1', b'+5', b'5, 5', b'0x10', b'1e3', b'9' * 30, b'', b'99999999')
_QUERIES = (
    'name=in:A,B', 'resources=VCPU:1', 'required=CUSTOM_A&required=in:A,B', 'member_of=!in:a',
    'limit=1&resources1=VCPU:1&group_policy=none', 'uuid=x&uuid=y', 'a[]=1', 'name=startswith:%',
)  # fmt: skip
_BODIES: tuple[object, ...] = (
    {}, [], None, 1, 'text', {'name': 'host'}, {'name': 'a' * 300}, {'generation': -1},
    {'aggregates': [None, 0], 'resource_provider_generation': 10**30},
    {'inventories': {'VCPU': {'total': 1e400}}}, {'allocations': {'x': {'resources': {}}}},
    {'traits': ['\ud800', '\0']},
)  # fmt: skip
_UUIDS = ('9a2b6a6c-0000-4000-8000-000000000001', 'x', '..', '%2e%2e', '\N{SNOWMAN}')


class Generator:
    """An endless source of requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def message(self) -> bytes:
        """One or several requests, well formed or not."""
        chance = self._random.random()
        if chance < 0.05:
            return self._random.randbytes(self._random.randint(1, 2000))
        message = self._request()
        if chance < 0.15:
            message += self._request()
        for _ in range(self._random.choice((0, 0, 0, 0, 1, 1, 5))):
            message = self._mutated(message)
        return message

    def pieces(self, message: bytes) -> list[bytes]:
        """The message as it is sent: at once, or cut at random places."""
        cuts = sorted(
            self._random.randrange(len(message) + 1)
            for _ in range(self._random.choice((0, 0, 0, 1, 3)))
        )
        return [
            message[start:end]
            for start, end in zip([0, *cuts], [*cuts, len(message)], strict=True)
            if start < end
        ]

    def _request(self) -> bytes:
        choice = self._random.choice
        body = self._body()
        headers = [
            b'Host: localhost', b'X-Auth-Token: ' + self._usual(b'admin', b'', self._mark()),
            b'OpenStack-API-Version: placement ' + self._usual(b'latest', b'1.0', b'1.39', b'x'),
            b'Content-Type: ' + self._usual(b'application/json', b'text/plain', self._mark()),
            *self._framing(body), *self._extra_headers(),
        ]  # fmt: skip
        self._random.shuffle(headers)
        kept = [header for header in headers if self._random.random() < 0.98]
        route = choice(installed_surface().routes)
        method = self._usual(route.method.encode(), *_METHODS)
        line = b' '.join((method, self._target(route.path), self._version()))
        return b'\r\n'.join([line, *kept, b'', body])

    def _usual(self, usual: bytes, *others: bytes) -> bytes:
        """Mostly the first of these."""
        return usual if self._random.random() < 0.8 else self._random.choice(others)

    def _version(self) -> bytes:
        return b'HTTP/1.1' if self._random.random() < 0.9 else self._random.choice(_VERSIONS)

    def _target(self, path: str) -> bytes:
        path = re.sub(r'\{[^}]*\}', lambda _: self._random.choice(_UUIDS), path)
        choice = self._random.choice
        target = (path or '/').encode()
        chance = self._random.random()
        if chance < 0.5:
            target += b'?' + choice(_QUERIES).encode()
        if chance < 0.2:
            target += choice((b'', b'&a=', b'/')) + self._mark()
        if chance > 0.95:
            target = choice((b'http://localhost', b'http://', b'*', b'//', b'x')) + target
        return target

    def _mark(self) -> bytes:
        """A break of a line, raw or encoded, and what must not begin a line of the log."""
        choice = self._random.choice
        return choice((*_BREAKS, *_ENCODED)) + MARK.encode()

    def _body(self) -> bytes:
        chance = self._random.random()
        if chance < 0.4:
            return b''
        if chance < 0.5:
            return self._random.randbytes(self._random.randint(0, 300))
        return json.dumps(self._random.choice(_BODIES)).encode()

    def _framing(self, body: bytes) -> list[bytes]:
        """How the length of the body is announced, mostly as it is."""
        chance = self._random.random()
        if chance < 0.75:
            return [b'Content-Length: %d' % len(body)]
        if chance < 0.85:
            return [b'Content-Length: ' + self._random.choice(_LENGTHS)]
        if chance < 0.95:
            return [b'Transfer-Encoding: ' + self._random.choice((b'chunked', b'gzip', b'x'))]
        return [b'Content-Length: %d' % len(body), b'Transfer-Encoding: chunked']

    def _extra_headers(self) -> list[bytes]:
        choice = self._random.choice
        extra = (
            b'X-OpenStack-Request-Id: ' + self._mark(), b'Accept: ' + self._mark(),
            b'X-A:' + choice(_ODD) * self._random.choice((1, 100, 10_000)) + b'x',
            b'X_User_Id: admin', b'Expect: 100-continue', b'Connection: close', b' folded: x',
            b'Connection: Upgrade\r\nUpgrade: h2c', b'Host: ' + self._mark(), b':', b'',
            b'Accept: text/html', b'X-Roles: ' + self._mark(),
        )  # fmt: skip
        return [choice(extra) for _ in range(self._random.choice((0, 0, 1, 2)))]

    def _mutated(self, message: bytes) -> bytes:
        """The message with something removed, repeated, replaced or inserted."""
        randrange, choice = self._random.randrange, self._random.choice
        start = randrange(len(message) + 1)
        end = min(len(message), start + choice((1, 1, 2, 10, 100)))
        piece = message[start:end]
        inserted = choice(
            (b'', piece * 2, piece * choice((3, 200)), self._mark(), choice(_ODD), choice(_BREAKS),
             self._random.randbytes(choice((1, 1, 4))), piece.swapcase())
        )  # fmt: skip
        return message[:start] + inserted + message[end:]
