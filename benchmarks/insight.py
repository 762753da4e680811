# SPDX-License-Identifier: Apache-2.0
"""The cost of explanations and capacities: processor time in process, without HTTP.

Nobody else answers these questions, so there is nothing to compare with. Beside the time stands
how long the interpreter is held at most before other threads have their turn, and how many trees
were examined.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from benchmarks.report import columns
from benchmarks.search_core import TRAITS, different_rows, flat_rows, granular, nested_rows
from placement.search.candidates import find_candidates
from placement.search.insight.capacity import CAPACITY_BUDGET, capacity_of
from placement.search.insight.explain import EXPLAIN_BUDGET, explain_request
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot

Answer = TypeVar('Answer')

NAME = 'explain and capacity (insight)'
SIZES = (1_000, 10_000, 100_000)
TREE_SIZES = (1_000, 10_000)
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


@dataclasses.dataclass(frozen=True)
class InsightResult:
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

    def as_dict(self) -> dict[str, object]:
        """The values by name."""
        return dataclasses.asdict(self)


def is_chosen(only: Sequence[str]) -> bool:
    """Tell if the words of --only ask for these questions; other runs leave them out."""
    return any(word in NAME for word in only)


def unlike_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts of which each has an inventory, and a trait, that no other has."""
    for row in different_rows(count):
        yield row._replace(traits=(*TRAITS, f'CUSTOM_HOST_{row.id}'))


def unlike_trees(count: int) -> Iterator[ProviderRow]:
    """Trees of seven, each of which has an inventory that no other has."""
    for row in nested_rows(count):
        if 'DISK_GB' in row.inventories:
            disk = row.inventories['DISK_GB']._replace(total=2000 + row.id)
            yield row._replace(inventories={'DISK_GB': disk})
        else:
            yield row


def nearly_full(rows: Iterable[ProviderRow]) -> Iterator[ProviderRow]:
    """The same providers with little left."""
    for row in rows:
        yield row._replace(
            inventories={
                name: inventory._replace(used=int(_capacity(inventory) * 0.97))
                for name, inventory in row.inventories.items()
            }
        )


def _capacity(inventory: InventoryRow) -> float:
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


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
    return {
        'a NUMA server': granular(),
        'two ports isolated': CandidateRequest((node, *two_ports), isolate=True),
        'missing trait': CandidateRequest(
            (node, no_such_port), same_subtree=(frozenset(['_N', '_P']),)
        ),
    }


def cases(sizes: Sequence[int] = SIZES, tree_sizes: Sequence[int] = TREE_SIZES) -> Iterator[Case]:
    """Every cloud with every request."""
    kinds: dict[str, Callable[[int], Iterator[ProviderRow]]] = {
        'alike': flat_rows, 'all different': unlike_rows,
        'all different, full': lambda count: nearly_full(unlike_rows(count)),
    }  # fmt: skip
    for size in sizes:
        for kind, rows in kinds.items():
            snapshot = Snapshot.of(rows(size))
            for name, request in flat_requests().items():
                yield Case(f'{size} hosts, {kind}', snapshot, name, request)
    trees: dict[str, Callable[[int], Iterator[ProviderRow]]] = {
        'alike': nested_rows, 'all different': unlike_trees,
        'all different, full': lambda count: nearly_full(unlike_trees(count)),
    }  # fmt: skip
    for size in tree_sizes:
        for kind, rows in trees.items():
            snapshot = Snapshot.of(rows(size))
            for name, request in tree_requests().items():
                yield Case(f'{size} trees of 7, {kind}', snapshot, name, request)


def measure_insight(
    chosen: Iterable[Case], say: Callable[[str], None], repetitions: int = REPETITIONS
) -> Iterator[InsightResult]:
    """The cost of both questions for each case."""
    for case in chosen:
        say(f'{case.cloud}: {case.request}')
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
