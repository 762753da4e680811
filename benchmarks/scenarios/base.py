# SPDX-License-Identifier: Apache-2.0
"""The parts of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.client import Answer, Client
from benchmarks.clouds import Plan


class Work:
    """The work that one client repeats; one unit of it is timed.

    A unit that competes with others may raise `Refused`.
    """

    def prepare(self, client: Client) -> None:
        """Set up the first unit."""

    def run(self, client: Client) -> Answer | None:
        """Do one unit; the answer that both services have to agree on, if any."""
        raise NotImplementedError

    def finish(self, client: Client) -> None:
        """Leave the cloud as it was."""


class Refused(Exception):
    """The service refused a unit because clients compete; the unit does not count."""


class Get(Work):
    """One read."""

    def __init__(self, path: str) -> None:
        self._path = path

    def run(self, client: Client) -> Answer:
        """The answer to the read."""
        return client.get(self._path)


@dataclass(frozen=True)
class Budget:
    """A target: at least this many times cheaper, or at most this much processor time."""

    ratio: float | None = None
    milliseconds: float | None = None
    # The quantity compared: processor time per unit ('cpu') or units per second ('rate').
    of: str = 'cpu'
    # The database engine that it applies to; any when empty.
    engine: str = ''


@dataclass(frozen=True)
class Scenario:
    """Work in a cloud."""

    name: str
    size: int
    cloud: Plan
    # The work of the client with this number; each service gets its own.
    work: Callable[[int], Work]
    clients: int = 1
    budget: Budget = Budget()
    # Whether --quick includes it.
    is_quick: bool = True
    # More settings for upstream, as environment variables.
    upstream_settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name and size."""
        return f'{self.name} [{self.size}]'


def number_of_items(answer: Answer | None) -> int | None:
    """The number of items in the answer, which must be equal in both services."""
    if answer is None or not answer.body:
        return None
    value: Any = answer.json()
    lists = [part for part in value.values() if isinstance(part, (list, dict))]
    return len(lists[0]) if lists else None
