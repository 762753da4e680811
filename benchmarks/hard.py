# SPDX-License-Identifier: Apache-2.0
"""Searches that are hard, on both services, which have the same time for each answer.

The table has the share of queries that were decided: answered with candidates, or by an empty
answer that is complete.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence

from benchmarks.client import Answer, Client, TooSlow
from benchmarks.clouds.hard import Query
from benchmarks.measure import percentile
from benchmarks.report import columns, significant
from benchmarks.services import Service

NAME = 'hard'
# Upstream ends few of them, and is started again after each that it does not: the first of each
# family have to do.
UPSTREAM_QUERIES = 5


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of one search: its processor time, and whether candidates were found.

    `found` is None if the search was not decided in time, or within its budget.
    """

    cpu_ms: float
    found: bool | None


@dataclasses.dataclass(frozen=True)
class HardResult:
    """The outcomes of one family: of all queries, and of the first of them for upstream."""

    family: str
    ours: tuple[Outcome, ...]
    upstream: tuple[Outcome, ...]

    def contradictions(self) -> int:
        """The number of queries with different results."""
        return sum(
            None not in (one.found, other.found) and one.found != other.found
            for one, other in zip(self.ours, self.upstream, strict=False)
        )


def is_chosen(only: Sequence[str]) -> bool:
    """True if the words of --only ask for these searches; they are not part of other runs."""
    return any(word in NAME for word in only)


def measure_hard(
    chosen: Sequence[Query], services: Sequence[Service], limit: float, say: Callable[[str], None]
) -> list[HardResult]:
    """The outcome of each query on our service, and of some on upstream, by family."""
    ours, upstream = services
    outcomes: dict[str, tuple[list[Outcome], list[Outcome]]] = {}
    for number, query in enumerate(chosen):
        say(f'{query.family}, query {number + 1} of {len(chosen)}')
        of_ours, of_upstream = outcomes.setdefault(query.family, ([], []))
        of_ours.append(_outcome(ours, query, limit))
        if len(of_upstream) < UPSTREAM_QUERIES:
            of_upstream.append(_outcome(upstream, query, limit))
    return [HardResult(family, tuple(a), tuple(b)) for family, (a, b) in outcomes.items()]


def _outcome(service: Service, query: Query, limit: float) -> Outcome:
    client, before = Client(service.port, limit), service.cpu_seconds()
    try:
        answer = client.get(query.path)
    except TooSlow:
        spent = service.cpu_seconds() - before
        # It would go on searching, and take processor time from the next query.
        service.restart()
        return Outcome(spent * 1000, None)
    finally:
        client.close()
    return Outcome((service.cpu_seconds() - before) * 1000, _found(answer))


def _found(answer: Answer) -> bool | None:
    if answer.json()['allocation_requests']:
        return True
    is_cut = answer.headers.get('openstack-placement-search') == 'incomplete'
    return None if is_cut else False


HEADINGS = (
    'hard searches', 'queries', 'fit',
    'ours: median', '99 %', 'worst ms', 'decided',
    'upstream: queries', 'median', '99 %', 'worst ms', 'decided', 'contradictions',
)  # fmt: skip


def table(results: Sequence[HardResult]) -> str:
    """A line for each family: processor time of one search, and the share decided."""
    lines: list[Sequence[str]] = [HEADINGS]
    for result in results:
        fit = sum(1 for one in result.ours if one.found)
        lines.append(
            (
                result.family, str(len(result.ours)), str(fit),
                *_cells(result.ours), str(len(result.upstream)), *_cells(result.upstream),
                str(result.contradictions()),
            )
        )  # fmt: skip
    return columns(lines)


def _cells(outcomes: Sequence[Outcome]) -> Sequence[str]:
    times = sorted(one.cpu_ms for one in outcomes)
    decided = sum(one.found is not None for one in outcomes) / len(outcomes)
    figures = (statistics.median(times), percentile(times, 0.99), times[-1])
    return (*map(significant, figures), f'{decided:.0%}')
