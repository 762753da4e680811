# SPDX-License-Identifier: Apache-2.0
"""Measures two services, which take turns at the same work."""

from __future__ import annotations

import collections
import contextlib
import math
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.client import Client, TooSlow, Unexpected
from benchmarks.counting import Counted, CountingClient
from benchmarks.scenarios.base import Refused, Scenario, Work, number_of_items
from benchmarks.services import Service

# Statements are counted in up to this many units within this time, but in one at least.
UNITS_COUNTED = 10
SECONDS_OF_COUNTING = 0.5


@dataclass(frozen=True)
class Durations:
    """The durations of measurements, in seconds."""

    # One scenario, and one turn of one service in it.
    seconds: float = 10.0
    turn_seconds: float = 0.25
    # A turn of several clients, which need time until they compete.
    concurrent_turn_seconds: float = 2.5
    # For one request.
    limit_seconds: float = 40.0
    # The whole run; scenarios that have not begun by then are left out.
    total_seconds: float = float('inf')


@dataclass
class Measurement:
    """The measurements of one service in one scenario."""

    latencies: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0
    elapsed: float = 0.0
    # Of one unit.
    requests: list[Counted] = field(default_factory=list)
    memory_mb: float | None = None
    items: int | None = None
    refused: dict[int, int] = field(default_factory=dict)
    # Why the measurement ended: an answer took longer than this limit in seconds, after so much
    # processor time that was wasted; or the error.
    too_slow: float | None = None
    wasted_cpu_seconds: float = 0.0
    failure: str | None = None

    @property
    def has_failed(self) -> bool:
        """The measurement ended early."""
        return self.too_slow is not None or self.failure is not None

    @property
    def never_answered(self) -> bool:
        """No unit ended within the limit."""
        return self.too_slow is not None and not self.latencies

    @property
    def median_ms(self) -> float | None:
        """The median of the latencies in milliseconds."""
        return statistics.median(self.latencies) * 1000 if self.latencies else None

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile of the latencies in milliseconds."""
        return percentile(self.latencies, 0.99) * 1000 if self.latencies else None

    @property
    def cpu_ms(self) -> float | None:
        """Processor time of the worker for one unit, in milliseconds."""
        return self.cpu_seconds / len(self.latencies) * 1000 if self.latencies else None

    @property
    def units_per_second(self) -> float | None:
        """The throughput of all clients together."""
        return len(self.latencies) / self.elapsed if self.elapsed else None

    @property
    def statements(self) -> float | None:
        """Statements to the database per request."""
        return mean_of([request.statements for request in self.requests])

    @property
    def round_trips(self) -> float | None:
        """Round trips to the database per request; counted with PyMySQL only."""
        return mean_of([request.round_trips for request in self.requests])


def mean_of(values: Sequence[float]) -> float | None:
    """The mean of some values; None if there are none."""
    return statistics.fmean(values) if values else None


def percentile(values: Sequence[float], part: float) -> float:
    """The value that a part of the values does not exceed, such as 0.99 of them."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


class Runner:
    """The clients of one scenario, and the measurement of one service."""

    def __init__(self, service: Service, scenario: Scenario, durations: Durations) -> None:
        self.measurement = Measurement()
        self._service = service
        self._durations = durations
        self._cpu_before = 0.0
        self._has_begun_cold = False
        numbers = range(scenario.clients)
        self._clients = [Client(service.port, durations.limit_seconds) for _ in numbers]
        self._works = [scenario.work(number) for number in numbers]

    def warm_up(self) -> None:
        """Run one unit, which is counted only if it takes half of the time of the scenario."""
        self._guard(self._warm_up)

    def take_turn(self) -> None:
        """Run units for the length of a turn, at least one."""
        if not self.measurement.has_failed:
            self._guard(self._take_turn)

    def conclude(self) -> Measurement:
        """The measurement, completed by statements and memory."""
        if not self.measurement.has_failed:
            self._guard(self._count_statements)
        for client in self._clients:
            client.close()
        return self.measurement

    def _guard(self, step: Callable[[], None]) -> None:
        """Run a step; record a failure in the measurement, and restart the service."""
        try:
            step()
        except TooSlow:
            limit = self._durations.limit_seconds
            self.measurement.too_slow = limit
            spent = self._service.cpu_seconds() - self._cpu_before
            self.measurement.wasted_cpu_seconds = min(spent / len(self._clients), limit)
            # The service is still working on the abandoned request.
            self._service.restart()
        except (Unexpected, Refused, OSError) as error:
            self.measurement.failure = str(error)
            self._service.restart()

    def _warm_up(self) -> None:
        self._begin()
        for work, client in zip(self._works, self._clients, strict=True):
            work.prepare(client)
        begin = self._begin()
        self._works[0].run(self._clients[0])
        if time.perf_counter() - begin > self._durations.seconds / 2:
            self._add([time.perf_counter() - begin], begin)
            self._has_begun_cold = True
        for client in self._clients:
            client.statuses.clear()

    def _take_turn(self) -> None:
        is_concurrent = len(self._clients) > 1
        durations = self._durations
        seconds = durations.concurrent_turn_seconds if is_concurrent else durations.turn_seconds
        begin = self._begin()
        if is_concurrent:
            latencies = run_together(begin + seconds, self._works, self._clients)
        else:
            latencies = _run_until(begin + seconds, self._works[0], self._clients[0])
        if self._has_begun_cold:
            # The unit of the warm-up counts only as long as there is no other.
            self.measurement, self._has_begun_cold = Measurement(), False
        self._add(latencies, begin)

    def _begin(self) -> float:
        """The current time; also records the processor time."""
        self._cpu_before = self._service.cpu_seconds()
        return time.perf_counter()

    def _add(self, latencies: list[float], begin: float) -> None:
        self.measurement.elapsed += time.perf_counter() - begin
        self.measurement.cpu_seconds += self._service.cpu_seconds() - self._cpu_before
        self.measurement.latencies += latencies

    def _count_statements(self) -> None:
        """Count the statements of some more units, if there is one process, and clean up."""
        measurement = self.measurement
        seen = collections.Counter[int]()
        for client in self._clients:
            seen.update(client.statuses)
        measurement.refused = {status: n for status, n in seen.items() if status >= 400}
        if self._service.processes == 1:
            measurement.requests = self._counted_requests()
        measurement.memory_mb = self._service.memory_mb()
        for work, client in zip(self._works, self._clients, strict=True):
            work.finish(client)

    def _counted_requests(self) -> list[Counted]:
        """The requests of a unit with their statements."""
        counting = CountingClient(self._service, self._durations.limit_seconds)
        counted = [self._count_unit(counting)]
        end = time.perf_counter() + SECONDS_OF_COUNTING
        while len(counted) < UNITS_COUNTED and time.perf_counter() < end:
            counted.append(self._count_unit(counting))
        counting.close()
        self._service.stop_counting()
        return least_of(counted)

    def _count_unit(self, counting: CountingClient) -> list[Counted]:
        counting.requests = []
        self.measurement.items = number_of_items(self._works[0].run(counting))
        return counting.requests


def least_of(units: Sequence[Sequence[Counted]]) -> list[Counted]:
    """The minimum of each request over the units.

    So work that a worker does once for each host, or at random, does not count.
    """
    return [
        Counted(
            requests[0].request,
            min(request.statements for request in requests),
            min(request.round_trips for request in requests),
        )
        for requests in zip(*units, strict=False)
    ]


def measure(
    scenario: Scenario, services: Sequence[Service], durations: Durations
) -> list[Measurement]:
    """The measurements of a scenario for each of the services, which take turns."""
    runners = [Runner(service, scenario, durations) for service in services]
    for runner in runners:
        runner.warm_up()
    deadline = time.perf_counter() + durations.seconds
    while True:
        for runner in runners:
            if not runner.measurement.latencies or time.perf_counter() < deadline:
                runner.take_turn()
        if time.perf_counter() >= deadline or all(
            runner.measurement.has_failed for runner in runners
        ):
            return [runner.conclude() for runner in runners]


def run_together(end: float, works: Sequence[Work], clients: Sequence[Client]) -> list[float]:
    """The latencies in seconds of the units of concurrent clients, at least one each.

    :raises Exception: the first that stopped a client
    """
    latencies: list[float] = []
    failures: list[Exception] = []

    def run(work: Work, client: Client) -> None:
        try:
            latencies.extend(_run_until(end, work, client))
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=pair) for pair in zip(works, clients, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return latencies


def _run_until(end: float, work: Work, client: Client) -> list[float]:
    """The latencies of units in seconds, at least of one."""
    latencies = []
    while True:
        begin = time.perf_counter()
        with contextlib.suppress(Refused):
            work.run(client)
            latencies.append(time.perf_counter() - begin)
        if time.perf_counter() >= end:
            return latencies
