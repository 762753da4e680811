# SPDX-License-Identifier: Apache-2.0
"""An HTTP client with little overhead: one persistent connection, and a limit for each answer."""

from __future__ import annotations

import collections
import json
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.upstream import MICROVERSION

HEADERS = (
    'Host: 127.0.0.1\r\n'
    'X-Auth-Token: admin\r\n'
    'X-Roles: admin,service\r\n'
    'Accept: application/json\r\n'
    f'OpenStack-API-Version: placement {MICROVERSION}\r\n'
)
WITHOUT_BODY = (204, 304)


class TooSlow(Exception):
    """The service did not answer within the limit."""


class Unexpected(Exception):
    """The service refused a request that must succeed."""


class Answer(NamedTuple):
    """Status, body and headers, by lower-case name, of an answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}

    def json(self) -> Any:
        """The body as values."""
        return json.loads(self.body)


class Client:
    """One connection to a service, with a count of the answers by status."""

    def __init__(self, port: int, limit: float = 60.0) -> None:
        self._port = port
        self._limit = limit
        self._socket: socket.socket | None = None
        self._rest = b''
        self.statuses: collections.Counter[int] = collections.Counter()

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer, whatever its status.

        :raises TooSlow: there is none within the limit
        :raises OSError: the connection cannot be made, or was lost
        """
        content = b'' if body is None else json.dumps(body).encode()
        head = f'{method} {path} HTTP/1.1\r\n{HEADERS}'
        if body is not None:
            head += f'Content-Type: application/json\r\nContent-Length: {len(content)}\r\n'
        try:
            connection = self._connected()
            connection.sendall(head.encode() + b'\r\n' + content)
            answer = self._read_answer(connection)
        except OSError as error:
            self.close()
            if isinstance(error, TimeoutError):
                raise TooSlow(f'{method} {path[:80]}') from error
            raise
        self.statuses[answer.status] += 1
        return answer

    def get(self, path: str) -> Answer:
        """The answer to a GET.

        :raises Unexpected: its status is not 200
        """
        return _checked(self.request('GET', path), path)

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer to a change.

        :raises Unexpected: it was refused
        """
        return _checked(self.request(method, path, body), f'{method} {path}')

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._rest = b''

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(('127.0.0.1', self._port), self._limit)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _read_answer(self, connection: socket.socket) -> Answer:
        received = self._rest
        while (end := received.find(b'\r\n\r\n')) < 0:
            received += _receive(connection)
        status, headers = _parse_head(received[:end])
        length = 0 if status in WITHOUT_BODY else int(headers.get('content-length', 0))
        parts, missing = [received[end + 4 :]], length - (len(received) - end - 4)
        while missing > 0:
            parts.append(_receive(connection))
            missing -= len(parts[-1])
        body = b''.join(parts)
        self._rest = body[length:]
        if headers.get('connection', '').lower() == 'close':
            self.close()
        return Answer(status, body[:length], headers)


def _receive(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 18)
    if not received:
        raise ConnectionError('the service closed the connection')
    return received


def _parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """The status and the headers, by lower-case name."""
    first, *lines = head.decode('latin-1').split('\r\n')
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(':') for x in lines)}
    return int(first.split(' ', 2)[1]), headers


def _checked(answer: Answer, request: str) -> Answer:
    if answer.status >= 300:
        raise Unexpected(f'{request[:120]}: {answer.status} {answer.body[:300].decode()}')
    return answer
