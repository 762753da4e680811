# SPDX-License-Identifier: Apache-2.0
"""The time of the candidate search alone, without database and HTTP: medians in milliseconds.

    python -m benchmarks.search_core [repetitions [word...]]

Words choose the searches that have one of them in their name. Processor time, so that a busy
machine matters less.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from benchmarks import clouds
from benchmarks.clouds import Plan
from benchmarks.clouds.rows import rows_of, snapshot_of
from placement.search.candidates import find_candidates
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot

BUDGET = 1_500_000
SERVER = RequestGroup(resources={'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 10})


class Case(NamedTuple):
    """A search of a cloud that is not made yet."""

    name: str
    plan: Plan
    request: CandidateRequest


def flat(**settings: Any) -> CandidateRequest:
    """A server."""
    return CandidateRequest((SERVER,), budget=BUDGET, **settings)


def cores(amount: int, **conditions: Any) -> CandidateRequest:
    """A request for a number of cores, limited to ten candidates."""
    group = RequestGroup(resources={'VCPU': amount}, **conditions)
    return CandidateRequest((group,), limit=10, budget=BUDGET)


def disks(count: int) -> CandidateRequest:
    """A request for a number of isolated disks, without limit."""
    groups = tuple(RequestGroup(f'_{number}', {'DISK_GB': 10}) for number in range(count))
    return CandidateRequest(groups, isolate=True, budget=BUDGET)


def wide(groups: int, **settings: Any) -> CandidateRequest:
    """That many equal groups."""
    equal = tuple(RequestGroup(f'_{number}', {'VGPU': 1}) for number in range(groups))
    return CandidateRequest(equal, budget=BUDGET, **settings)


def packed(amounts: Iterable[int], **settings: Any) -> CandidateRequest:
    """A group for each of these amounts."""
    groups = tuple(
        RequestGroup(f'_{number}', {'SRIOV_NET_VF': amount})
        for number, amount in enumerate(amounts)
    )
    return CandidateRequest(groups, budget=BUDGET, **settings)


def cases() -> Iterator[Case]:
    """Every search, grouped by cloud."""
    yield from _cases_of_hosts()
    yield from _cases_of_pools()
    yield from _cases_of_trees()


def _cases_of_hosts() -> Iterator[Case]:
    hosts = Plan(functools.partial(clouds.different, zones=3), 10_000)
    yield Case('different, limit=10', hosts, flat(limit=10))
    yield Case('different, limit=1000', hosts, flat(limit=1_000))
    yield Case('different, random', hosts, flat(limit=10, randomize=True))
    in_zone = (frozenset([clouds.zone(0)]),)
    for zones in (1, 10):
        hosts = Plan(functools.partial(clouds.of_eight_cores, zones=zones), 10_000)
        yield Case(f'different, {zones} zones, nothing free', hosts, cores(8))
        yield Case(f'different, {zones} zones, never fits', hosts, cores(9))
        yield Case(f'different, {zones} zones, one wanted', hosts, cores(8, member_of=in_zone))
    off = frozenset(['CUSTOM_OFF'])
    for count in (10_000, 100_000):
        hosts = Plan(_of_own_traits, count)
        yield Case(f'{count:,} of own traits, nothing free', hosts, cores(8, forbidden=off))
        if count == 10_000:
            some = dataclasses.replace(cores(2, forbidden=off), limit=1_000)
            yield Case('own traits, limit=1000', hosts, some)
    hosts = Plan(functools.partial(clouds.of_eight_cores, full_zones=1), 10_000)
    wanted = cores(2, forbidden=off, member_of=in_zone)
    yield Case('one of 3 zones full', hosts, wanted)


def _of_own_traits(count: int) -> clouds.Cloud:
    return clouds.with_own_traits(clouds.of_eight_cores(count))


def _cases_of_pools() -> Iterator[Case]:
    disk = CandidateRequest((RequestGroup(resources={'DISK_GB': 10}),), budget=BUDGET)
    yield Case('3 pools, disk only', Plan(clouds.with_pools, 10_000), disk)
    yield Case('100 pools, two isolated', Plan(clouds.pools, 100), disks(2))
    yield Case('1,000 pools', Plan(clouds.pools, 1_000), disk)
    for zones in (1, 10):
        hosts = Plan(functools.partial(clouds.with_full_child_pools, zones=zones), 10_000)
        yield Case(f'{zones} full pools of clusters', hosts, flat(limit=10))


def _cases_of_trees() -> Iterator[Case]:
    yield Case('8 on 8 roomy children', Plan(clouds.roomy, 8), wide(8, limit=1_000))
    yield Case('64 on 64 children', Plan(clouds.wide, 64), wide(64, limit=1_000))
    yield Case('65 on 64 children', Plan(clouds.wide, 64), wide(65, limit=1_000))
    yield Case('64 isolated on 63', Plan(clouds.roomy, 63), wide(64, isolate=True, limit=10))
    pair = wide(2, isolate=True, limit=10, same_subtree=(frozenset(['_0', '_1']),))
    yield Case('a pair on 1,000 leaves', Plan(clouds.wide, 1_000), pair)
    trees = Plan(clouds.large_trees, 1_000)
    yield Case('trees of 50, one port', trees, packed([1], limit=1_000))
    yield Case('trees of 50, two ports', trees, packed([3, 3], limit=1_000))
    unlike = Plan(lambda count: clouds.with_own_traits(clouds.large_trees(count)), 1_000)
    yield Case('unlike trees of 50', unlike, packed([1], limit=1_000))
    yield Case('51 groups on 50 ports', _functions(50, 8), packed([5, 6] * 25 + [6], limit=10))
    generator = random.Random(29)
    amounts = [generator.randint(6, 16) for _ in range(29)]
    yield Case('29 groups on 10 ports of 32', _functions(10, 32), packed(amounts, limit=10))
    yield Case('262,144 candidates', _functions(8, 8), packed([1] * 6))
    # Functions of 10 have room for that, but whichever way they are filled one group is left.
    one_short = packed([4] * 8 + [3] * 9, limit=10)
    yield Case('100 hosts that cannot', _functions(6, 10, hosts=100), one_short)
    yield Case('one that cannot, then 50', Plan(clouds.cannot_then_can, 6), one_short)
    harder = packed([4] * 15 + [3] * 11, limit=10)
    yield Case('a harder one, then 50', Plan(clouds.cannot_then_can, 10), harder)


def _functions(functions: int, size: int, hosts: int = 1) -> Plan:
    make = functools.partial(clouds.with_functions, functions=functions, size=size)
    return Plan(make, hosts)


@functools.lru_cache(maxsize=1)
def snapshot(plan: Plan) -> Snapshot:
    """The snapshot of a cloud; the last one is cached."""
    return snapshot_of(plan.make(plan.size))


def median(work: Callable[[], object], repetitions: int) -> float:
    """The median processor time of the work, in milliseconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


def main() -> None:
    """Print a line for each search."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    words = sys.argv[2:]
    print(f'{"cloud and request":36}{"candidates":>12}{"ms":>12}')
    for name, plan, request in cases():
        if words and not any(word in name for word in words):
            continue
        search = functools.partial(find_candidates, snapshot(plan), request)
        gc.collect()
        gc.freeze()
        found = len(search().candidates)
        print(f'{name:36}{found:>12}{median(search, repetitions):>12.2f}', flush=True)
        gc.unfreeze()
    if not words or 'after' in words:
        _measure_changes()


def _measure_changes() -> None:
    """Print what a change of a large cloud costs, and a search after it."""
    rows = list(rows_of(clouds.different(100_000, zones=3)))
    snapshot = Snapshot.of(rows)
    find_candidates(snapshot, flat(limit=10))
    used = {1: {'VCPU': 3, 'MEMORY_MB': 512, 'DISK_GB': 10}}
    number = len(rows) + 1
    new = rows[0]._replace(id=number, uuid=clouds.host(number), root_id=number)
    gc.collect()
    gc.freeze()
    for name, changed in {
        'a claim': lambda: snapshot.with_used(used),
        'a new provider': lambda: snapshot.with_changes([new]),
    }.items():
        taken = median(lambda: find_candidates(changed(), flat(limit=10)), 50)  # noqa: B023
        print(f'{"100,000 different, after " + name:36}{10:>12}{taken:>12.2f}')


if __name__ == '__main__':
    main()
