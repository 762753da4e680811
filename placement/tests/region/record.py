# SPDX-License-Identifier: Apache-2.0
"""The record of the answers to clients, in their order."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

# What the service, and the load balancer for it, says where it cannot know.
UNKNOWN = 'may have been made'
# Of a consumer, by host; or what answers show, by path.
State = Mapping[str, Any]


class Clock(Protocol):
    """A clock, as the module `time` is one."""

    def monotonic(self) -> float:
        """Seconds since some moment."""

    def time(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float, /) -> None:
        """Let so much time pass."""


class Operation(NamedTuple):
    """A request and its answer.

    `subject` is the consumer of a claim, and the path of all else. `begun` and `ended` are seconds
    since the record began. `status` is 0 where there was no answer. `before` and `after` are what
    a consumer holds, by host, or what reads show, by path; and what would be so when the write was
    made.
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
        """True if a write was made."""
        return self.status in (200, 201, 204)

    @property
    def is_unknown(self) -> bool:
        """True if a write may or may not have been made."""
        return self.status == 0 or (self.status >= 500 and UNKNOWN in self.text)


class Record:
    """The operations of all clients, and the errors that they detected themselves."""

    def __init__(self, clock: Clock = time) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._began = clock.monotonic()
        #: By the clock of the system, as others have it.
        self.began_at = clock.time()
        self.operations = list[Operation]()
        self.violations = list[str]()
        #: Each as JSON: see `history.History`.
        self.comparisons = list[str]()

    @property
    def now(self) -> float:
        """Seconds since the record began."""
        return self._clock.monotonic() - self._began

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        self._clock.sleep(seconds)

    def add(self, operation: Operation) -> None:
        """Note an operation."""
        with self._lock:
            self.operations.append(operation)

    def compare(self, before: Any, after: Any, copy: Any) -> None:
        """Note two looks at the database, and the copy of a follower that caught up between."""
        with self._lock:
            self.comparisons.append(json.dumps([self.now, before, after, copy]))

    def violation(self, text: str, found: Any = None) -> None:
        """Note an answer that must not be."""
        with self._lock:
            self.violations.append(f'{self.now:.1f} s: {text}: {found}')
