# SPDX-License-Identifier: Apache-2.0
"""What optional features cost the API: one worker for each choice of options, in turns.

Upstream has none of them, so this service is compared with itself, everything off.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import clouds
from benchmarks.client import Client
from benchmarks.clouds import Plan
from benchmarks.measure import Durations, Measurement, measure
from benchmarks.report import columns, significant
from benchmarks.scenarios.base import Get, Scenario
from benchmarks.scenarios.claims import Claim, accepted, new_consumer
from benchmarks.scenarios.search import SERVER as FITS
from benchmarks.services import Service

NAME = 'optional features'
SIZE = 1_000
TURN_SECONDS = 0.05

OFF = {
    'OS_INSIGHT__ALLOCATION_CANDIDATES': 'false',
    'OS_INSIGHT__CAPACITY': 'false',
    'OS_INSIGHT__UNMET_DEMAND': 'false',
    'OS_INSIGHT__CLOUD': 'false',
    'OS_PLACEMENT__LOG_SEARCHES': 'none',
}
HISTORY = {'OS_HISTORY__ENABLED': 'true'}
SEARCHES = {'OS_INSIGHT__UNMET_DEMAND': 'true', 'OS_PLACEMENT__LOG_SEARCHES': 'all'}


def choices(directory: pathlib.Path) -> dict[str, Mapping[str, str]]:
    """The settings of each worker by its name; the first has everything off.

    Workers that count keep their counts below the directory.
    """
    return {
        'off': OFF,
        'default': {},
        'metrics': {**OFF, **_metrics(directory / 'metrics')},
        'history': {**OFF, **HISTORY},
        'searches': {**OFF, **SEARCHES},
        'everything': {**_metrics(directory / 'everything'), **HISTORY, **SEARCHES},
    }


def _metrics(directory: pathlib.Path) -> Mapping[str, str]:
    return {'OS_METRICS__ENABLED': 'true', 'OS_METRICS__DIRECTORY': str(directory)}


class NewServer(Claim):
    """A claim for a new consumer, on a random host, and nothing else."""

    def cycle(self, client: Client, body: Any) -> None:
        """PUT of a new consumer.

        :raises Refused: the host is full, after a thousand of them
        """
        accepted(client.request('PUT', new_consumer(), body))


def scenarios() -> list[Scenario]:
    """The requests that features may slow down."""
    cloud = Plan(clouds.flat, SIZE)
    reads = {
        'read inventories': f'/resource_providers/{clouds.host(1)}/inventories',
        'search, found': f'/allocation_candidates?{FITS}&limit=10',
        'search, nothing found': '/allocation_candidates?resources=VCPU:100000&limit=10',
    }
    gets = [
        Scenario(name, SIZE, cloud, functools.partial(_get, path)) for name, path in reads.items()
    ]
    return [
        *gets,
        Scenario('claim', SIZE, cloud, functools.partial(NewServer, SIZE)),
        Scenario('claim and release', SIZE, cloud, functools.partial(Claim, SIZE, reads=False)),
    ]


def _get(path: str, _number: int) -> Get:
    return Get(path)


@dataclasses.dataclass(frozen=True)
class FeatureResult:
    """One request on the worker of each choice, by its name."""

    request: str
    measured: Mapping[str, Measurement]

    def added(self, choice: str) -> float:
        """The part of the processor time that a choice adds, as 0.03 for 3 %."""
        return self.measured[choice].median_cpu_ms / self.measured['off'].median_cpu_ms - 1

    def as_dict(self) -> dict[str, Any]:
        """The figures by choice, for JSON."""
        return {
            'request': self.request,
            **{
                name: {
                    'cpu_ms': one.median_cpu_ms,
                    'added': self.added(name),
                    'median_ms': one.median_ms,
                    'statements': one.statements,
                }
                for name, one in self.measured.items()
            },
        }


def is_chosen(only: Sequence[str]) -> bool:
    """Whether the words of --only ask for this comparison; it is not part of other runs."""
    return any(word in NAME for word in only)


def measure_features(
    services: Mapping[str, Service], durations: Durations, say: Callable[[str], None]
) -> Iterator[FeatureResult]:
    """The cost of each request on each service; `services` are by the names of `choices`."""
    for scenario in scenarios():
        say(f'{NAME}: {scenario.name}')
        measured = measure(scenario, list(services.values()), durations)
        yield FeatureResult(scenario.name, dict(zip(services, measured, strict=True)))


HEADINGS = (NAME, 'CPU ms', 'added', 'median ms', 'p99 ms', 'statements', 'round trips')


def table(results: Sequence[FeatureResult]) -> str:
    """A line for each request and choice."""
    lines: list[Sequence[str]] = [HEADINGS]
    for result in results:
        for name, one in result.measured.items():
            figures = (one.median_ms, one.p99_ms, one.statements, one.round_trips)
            lines.append(
                (
                    f'{result.request}: {name}', significant(one.median_cpu_ms),
                    f'{result.added(name):+.1%}',
                    *('' if value is None else significant(value) for value in figures),
                )
            )  # fmt: skip
    return columns(lines)
