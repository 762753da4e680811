# SPDX-License-Identifier: Apache-2.0
"""What clients were answered, in the order of the answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

# What the service, and the load balancer for it, says where it cannot know.
UNKNOWN = 'may have been made'
# Of a host, by consumer.
State = Mapping[str, int]


class Operation(NamedTuple):
    """A request and its answer.

    `begun` and `ended` are seconds since the record began. `status` is 0 where there was no
    answer. `before` and `after` are what a consumer holds, by host, and what it would hold.
    """

    client: str
    kind: str
    subject: str
    where: str
    begun: float
    ended: float
    status: int
    text: str = ''
    request_id: str = ''
    has_retry_after: bool = True
    before: State | None = None
    after: State | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Tell if a write was made."""
        return self.status in (200, 201, 204)

    @property
    def is_unknown(self) -> bool:
        """Tell if a write may or may not have been made."""
        return self.status == 0 or (self.status >= 500 and UNKNOWN in self.text)


class Record:
    """The operations of all clients, and what they found wrong at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()
        #: By the clock of the system, as others have it.
        self.began_at = time.time()
        self.operations = list[Operation]()
        self.violations = list[str]()

    @property
    def now(self) -> float:
        """Seconds since the record began."""
        return time.monotonic() - self._began

    def add(self, operation: Operation) -> None:
        """Note an operation."""
        with self._lock:
            self.operations.append(operation)

    def violation(self, text: str, found: Any = None) -> None:
        """Note an answer that must not be."""
        with self._lock:
            self.violations.append(f'{self.now:.1f} s: {text}: {found}')
