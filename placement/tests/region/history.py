# SPDX-License-Identifier: Apache-2.0
"""All that a run knows, kept in a file, so that a later checker can judge it again."""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement.tests.region.record import Operation


class Fault(NamedTuple):
    """A fault that was there, in seconds since the record began."""

    name: str
    begun: float
    ended: float


class History(NamedTuple):
    """A run when all is over.

    `about` says what ran, `ended` how many seconds the record has.
    """

    about: Mapping[str, str]
    ended: float
    faults: Sequence[Fault]
    operations: Sequence[Operation]
    #: What clients found wrong at once.
    violations: Sequence[str]
    #: Looks at the database before and after a follower caught up, and its copy, each as JSON.
    comparisons: Sequence[str]
    #: What clients know of their consumers, by host.
    holds: Mapping[str, Mapping[str, int]]
    #: The rows of the change history, first change first; None where it may have gaps.
    changes: Sequence[Mapping[str, Any]] | None
    capacities: Mapping[str, int]
    #: What the database holds of hosts, by consumer.
    final: Mapping[str, Mapping[str, int]]


def write(history: History, path: pathlib.Path) -> None:
    """Write a history, compressed, with a line for each of its members."""
    with gzip.open(path, 'wt') as file:
        for name, value in history._asdict().items():
            file.write(json.dumps({name: value}) + '\n')


def read(path: pathlib.Path) -> History:
    """Read a history that `write` has written."""
    with gzip.open(path, 'rt') as file:
        members = dict(_members(file))
    members['faults'] = [Fault(*one) for one in members['faults']]
    members['operations'] = [Operation(*one) for one in members['operations']]
    return History(**members)


def _members(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for line in lines:
        yield from json.loads(line).items()
