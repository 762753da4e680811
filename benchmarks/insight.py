# SPDX-License-Identifier: Apache-2.0
"""The cost of explanations and capacities: processor time in process, without HTTP.

No other service answers these questions, so nothing is compared. The tables also have the longest
time before other threads may run, and the number of trees examined.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from benchmarks import clouds
from benchmarks.clouds.rows import snapshot_of
from benchmarks.report import columns
from placement.search.candidates import find_candidates
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.tests.large_clouds import Cloud
from placement_insight.search.capacity import CAPACITY_BUDGET, capacity_of
from placement_insight.search.explain import EXPLAIN_BUDGET, explain_request
from placement_insight.search.sliced_work import SlicedWork

Answer = TypeVar('Answer')

NAME = 'explain and capacity (insight)'
SIZES = (1_000, 10_000)
TREE_SIZES = (1_000,)
# How much of everything is in use where a cloud is full.
FULL = 0.97
REPETITIONS = 5

HEADINGS = (
    'cloud', 'request', 'verdict', 'search ms', 'explain ms', 'held ms', 'examined', 'capacity ms',
    'held ms', 'now',
)  # fmt: skip
LEGEND = (
    'Medians of processor time. search: the search that finds nothing, or one candidate, with its '
    'line for the log; held: the longest time between two pauses; now: how many fit.'
)


class Case(NamedTuple):
    """A cloud and a request."""

    cloud: str
    snapshot: Snapshot
    request: str
    wanted: CandidateRequest


class InsightResult(NamedTuple):
    """The measurements of one case; times in milliseconds."""

    cloud: str
    request: str
    verdict: str
    search_ms: float
    explain_ms: float
    explain_held_ms: float
    examined: int
    of: int
    capacity_ms: float
    capacity_held_ms: float
    now: tuple[int, int]


def is_chosen(only: Sequence[str]) -> bool:
    """True if the words of --only ask for these questions; other runs leave them out."""
    return any(word in NAME for word in only)


def flat_requests() -> dict[str, CandidateRequest]:
    """The requests of servers."""
    small = {'VCPU': 8, 'MEMORY_MB': 16384, 'DISK_GB': 80}
    off = frozenset(['COMPUTE_STATUS_DISABLED'])
    return {
        'a server': _one(small, forbidden=off),
        'too large': _one({**small, 'MEMORY_MB': 1_000_000}, forbidden=off),
        'missing trait': _one(small, forbidden=off, required=(frozenset(['CUSTOM_GOLD']),)),
    }


def _one(resources: dict[str, int], **conditions: object) -> CandidateRequest:
    return CandidateRequest((RequestGroup('', resources, **conditions),))  # type: ignore[arg-type]


def tree_requests() -> dict[str, CandidateRequest]:
    """The requests of servers on NUMA nodes."""
    two_ports = tuple(RequestGroup(f'_{side}', {'SRIOV_NET_VF': 5}) for side in 'AB')
    no_such_port = RequestGroup('_P', {'SRIOV_NET_VF': 1}, required=(frozenset(['CUSTOM_X']),))
    node = RequestGroup('_N', {'VCPU': 2, 'MEMORY_MB': 2048})
    disk = RequestGroup(resources={'DISK_GB': 10})
    port = RequestGroup('_P', {'SRIOV_NET_VF': 1}, required=(frozenset(['CUSTOM_PHYSNET_A']),))
    together = (frozenset(['_N', '_P']),)
    return {
        'a NUMA server': CandidateRequest((disk, node, port), same_subtree=together),
        'two ports isolated': CandidateRequest((node, *two_ports), isolate=True),
        'missing trait': CandidateRequest((node, no_such_port), same_subtree=together),
    }


def unlike_hosts(count: int) -> Cloud:
    """Hosts of which each has an inventory, and a trait, that no other has."""
    return clouds.with_own_traits(clouds.different(count, zones=3))


KINDS_OF_HOSTS: Mapping[str, Callable[[int], Cloud]] = {
    'alike': lambda count: clouds.flat(count, zones=3),
    'all different': unlike_hosts,
    'all different, full': lambda count: clouds.filled(unlike_hosts(count), FULL),
}
KINDS_OF_TREES: Mapping[str, Callable[[int], Cloud]] = {
    'alike': clouds.used_trees,
    'all different': lambda count: clouds.used_trees(count, are_different=True),
    'all different, full': lambda count: clouds.filled(clouds.used_trees(count, True), FULL),
}


def cases() -> Iterator[Case]:
    """Every cloud with every request."""
    for title, sizes, kinds, requests in (
        ('hosts', SIZES, KINDS_OF_HOSTS, flat_requests()),
        ('trees of 7', TREE_SIZES, KINDS_OF_TREES, tree_requests()),
    ):
        for size, (kind, make) in itertools.product(sizes, kinds.items()):
            snapshot = snapshot_of(make(size))
            for name, request in requests.items():
                yield Case(f'{size} {title}, {kind}', snapshot, name, request)


def measure_insight(
    chosen: Iterable[Case], repetitions: int = REPETITIONS
) -> Iterator[InsightResult]:
    """The cost of both questions for each case."""
    for case in chosen:
        yield _measured(case, repetitions)


def _measured(case: Case, repetitions: int) -> InsightResult:
    snapshot, request = case.snapshot, case.wanted
    once = dataclasses.replace(request, limit=1)
    searched, explained, counted = _Timed(), _Timed(), _Timed()
    for _ in range(repetitions):
        searched.run(lambda _: find_candidates(snapshot, once))
        answer = explained.run(
            lambda pause: explain_request(snapshot, request, SlicedWork(EXPLAIN_BUDGET, pause))
        )
        capacity = counted.run(
            lambda pause: capacity_of(snapshot, request, SlicedWork(CAPACITY_BUDGET, pause))
        )
    return InsightResult(
        case.cloud,
        case.request,
        answer.verdict.value,
        searched.median_ms,
        explained.median_ms,
        explained.held_ms,
        answer.examined,
        answer.of,
        counted.median_ms,
        counted.held_ms,
        (capacity.now.at_least, capacity.now.at_most),
    )


class _Timed:
    """Runs a question and notes its processor time, and the longest time between two pauses."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._held: list[float] = []

    def run(self, ask: Callable[[Callable[[], None]], Answer]) -> Answer:
        """The answer."""
        gc.collect()
        moments = [time.process_time()]
        answer = ask(lambda: moments.append(time.process_time()))
        moments.append(time.process_time())
        self._times.append(moments[-1] - moments[0])
        self._held.append(max(b - a for a, b in itertools.pairwise(moments)))
        return answer

    @property
    def median_ms(self) -> float:
        return statistics.median(self._times) * 1000

    @property
    def held_ms(self) -> float:
        return statistics.median(self._held) * 1000


def table(results: Iterable[InsightResult]) -> str:
    """A line for each case."""
    lines: list[Sequence[str]] = [HEADINGS]
    for one in results:
        examined = f'{one.examined}' if one.examined == one.of else f'{one.examined} of {one.of}'
        least, most = one.now
        now = f'{least}' if least == most else f'{least} to {most}'
        lines.append(
            (
                one.cloud, one.request, one.verdict, f'{one.search_ms:.1f}',
                f'{one.explain_ms:.1f}', f'{one.explain_held_ms:.1f}', examined,
                f'{one.capacity_ms:.1f}', f'{one.capacity_held_ms:.1f}', now,
            )
        )  # fmt: skip
    return f'{columns(lines)}\n\n{LEGEND}'
