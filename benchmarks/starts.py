# SPDX-License-Identifier: Apache-2.0
"""The cost of starting a worker and of its first search, and its memory."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks import clouds
from benchmarks.client import Client, TooSlow, Unexpected
from benchmarks.clouds import Plan
from benchmarks.counting import CountingClient
from benchmarks.report import columns, significant
from benchmarks.services import Service

PLANS = (
    *(Plan(clouds.flat, size) for size in (100, 1_000, 10_000, 50_000, 130_000)),
    Plan(clouds.trees_of_eight, 125_000),
)
NAME = 'start and first search'
SEARCH = '/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&limit=10'
# Timeout of a search in seconds; one that takes longer, or fails, counts as infinite.
LIMIT = 60


@dataclass(frozen=True)
class FirstSteps:
    """The start and the first search of one worker."""

    start_seconds: float
    start_cpu_seconds: float
    idle_mb: float
    first_search_ms: float
    first_search_cpu_ms: float
    searched_mb: float


@dataclass(frozen=True)
class StartResult:
    """Medians of several starts of both services, and the statements of their first searches."""

    size: int
    ours: FirstSteps
    upstream: FirstSteps
    # For each service, ours first: statements of the first search, and of the second.
    statements: tuple[tuple[int, int], tuple[int, int]]


def plans(chosen: Collection[int], only: Sequence[str]) -> list[Plan]:
    """The clouds of the chosen sizes."""
    if only and not any(word in NAME for word in only):
        return []
    return [plan for plan in PLANS if plan.size in chosen]


def measure_starts(size: int, services: Sequence[Service], repetitions: int) -> StartResult:
    """Start each service `repetitions` times, in turns."""
    steps: list[list[FirstSteps]] = [[] for _ in services]
    for _ in range(repetitions):
        for service, found in zip(services, steps, strict=True):
            found.append(_first_steps(service))
    ours, upstream = map(_median, steps)
    first, second = map(_count_searches, services)
    return StartResult(size, ours, upstream, (first, second))


def _first_steps(service: Service) -> FirstSteps:
    start = service.start()
    client = Client(service.port, LIMIT)
    cpu, begin = service.cpu_seconds(), time.perf_counter()
    try:
        client.get(SEARCH)
        elapsed = time.perf_counter() - begin
    except (TooSlow, Unexpected):
        elapsed = math.inf
    client.close()
    return FirstSteps(
        start.wall_seconds,
        start.cpu_seconds,
        start.memory_mb,
        elapsed * 1000,
        (service.cpu_seconds() - cpu) * 1000,
        service.memory_mb(),
    )


def _count_searches(service: Service) -> tuple[int, int]:
    service.restart()
    client = CountingClient(service, LIMIT)
    with contextlib.suppress(TooSlow, Unexpected):
        client.get(SEARCH)
        client.get(SEARCH)
    client.close()
    first, second, *_ = *(counted.statements for counted in client.requests), 0, 0
    return first, second


def _median(steps: Sequence[FirstSteps]) -> FirstSteps:
    return FirstSteps(*map(statistics.median, zip(*map(dataclasses.astuple, steps), strict=True)))


HEADINGS = (
    f'{NAME} [size]', 'start s', 'CPU s', 'idle MB',
    'search ms', 'CPU ms', 'SQL', 'then SQL', 'MB',
)  # fmt: skip


def table(results: Sequence[StartResult]) -> str:
    """Two lines for each size: ours, upstream."""
    lines: list[Sequence[str]] = [HEADINGS]
    for result in results:
        for number, name in enumerate(('ours', 'upstream')):
            found: FirstSteps = getattr(result, name)
            first, second = result.statements[number]
            values = (
                found.start_seconds, found.start_cpu_seconds, found.idle_mb,
                found.first_search_ms, found.first_search_cpu_ms, first, second,
                found.searched_mb,
            )  # fmt: skip
            lines.append((f'{name} [{result.size}]', *map(significant, values)))
    return columns(lines)
