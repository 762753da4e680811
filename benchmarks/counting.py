# SPDX-License-Identifier: Apache-2.0
"""Counts the statements that each request of a unit sends to the database."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from benchmarks.client import Answer, Client
from benchmarks.services import Service

_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Counted(NamedTuple):
    """Statements and round trips of one request; round trips are counted with PyMySQL only."""

    request: str
    statements: int
    round_trips: int


class CountingClient(Client):
    """A client that reads the counters of the service before and after each request."""

    def __init__(self, service: Service, limit: float) -> None:
        super().__init__(service.port, limit)
        self._service = service
        self.requests: list[Counted] = []

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer; its cost is appended to `requests`."""
        before = self._service.counters()
        answer = super().request(method, path, body)
        after = self._service.counters()
        statements, round_trips = (
            after[name] - before[name] for name in ('statements', 'round_trips')
        )
        self.requests.append(Counted(f'{method} {_route(path)}', statements, round_trips))
        return answer


def _route(path: str) -> str:
    """The path without query string and uuids."""
    return _UUID.sub('{uuid}', path.partition('?')[0])
