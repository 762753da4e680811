#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of the candidate search alone, without database and HTTP: medians in milliseconds.

    python benchmarks/search_core.py [repetitions [word...]]

The clouds and the requests are those of `cases` and `hard_cases`; words choose those that have one
of them in their name. Processor time, so that a busy machine matters less.
"""

import gc
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from placement.search.candidates import find_candidates
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot

TRAITS = ('HW_CPU_X86_AVX', 'HW_CPU_X86_SSE42', 'COMPUTE_NODE', 'COMPUTE_TRUSTED_CERTS')
SERVER = RequestGroup(resources={'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 10})


def uuid(number: int) -> str:
    """A uuid that is easy to read."""
    return f'{number:08x}-0000-4000-8000-000000000000'


def flat_rows(count: int, used: float = 0.3) -> Iterator[ProviderRow]:
    """Hosts without children, each of them using up to this part of what it has."""
    for number in range(1, count + 1):
        part = used * (number % 7 + 1) / 7
        yield ProviderRow(
            number,
            uuid(number),
            None,
            number,
            {
                'VCPU': InventoryRow(64, 0, 1, 64, 1, 16.0, int(part * 1024)),
                'MEMORY_MB': InventoryRow(262144, 512, 1, 262144, 1, 1.5, int(part * 392448)),
                'DISK_GB': InventoryRow(2000, 0, 1, 2000, 1, 1.0, int(part * 2000)),
            },
            TRAITS,
            (f'zone-{number % 3}',),
        )


def different_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts of which each has an inventory that no other has."""
    for row in flat_rows(count):
        memory = row.inventories['MEMORY_MB']._replace(total=262144 + row.id)
        yield row._replace(inventories={**row.inventories, 'MEMORY_MB': memory})


def nested_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts of seven: the root, two NUMA nodes, two network functions beneath each."""
    for number in range(count):
        root = 7 * number + 1
        disk = {'DISK_GB': InventoryRow(2000, 0, 1, 2000, 1, 1.0, number % 5 * 100)}
        yield ProviderRow(root, uuid(root), None, root, disk, TRAITS, (f'zone-{number % 3}',))
        for side in (1, 2):
            numa = root + 3 * side - 2
            cores = {
                'VCPU': InventoryRow(32, 0, 1, 32, 1, 4.0, number % 6),
                'MEMORY_MB': InventoryRow(131072, 0, 1, 131072, 1, 1.0, number % 6 * 1024),
            }
            yield ProviderRow(numa, uuid(numa), root, root, cores, ('HW_NUMA_ROOT',))
            for function in (numa + 1, numa + 2):
                traits = ('CUSTOM_PHYSNET_A',) if function % 2 else ('CUSTOM_PHYSNET_B',)
                ports = {'SRIOV_NET_VF': InventoryRow(8, 0, 1, 8, 1, 1.0, number % 3)}
                yield ProviderRow(function, uuid(function), numa, root, ports, traits)


def full_rows(count: int, aggregates: int = 3) -> Iterator[ProviderRow]:
    """Hosts that are all different, of 8 cores of which one is used, in so many aggregates in
    turn."""
    for row in different_rows(count):
        cores = InventoryRow(8, max_unit=8, used=1)
        zone = (f'zone-{row.id % aggregates}',)
        yield row._replace(inventories={**row.inventories, 'VCPU': cores}, aggregates=zone)


def large_tree_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts of fifty: the root and network functions, some of them used."""
    for number in range(count):
        root = 50 * number + 1
        cores = {'VCPU': InventoryRow(64, 0, 1, 64, 1, 16.0, number % 60)}
        yield ProviderRow(root, uuid(root), None, root, cores, TRAITS)
        for one in range(root + 1, root + 50):
            ports = {'SRIOV_NET_VF': InventoryRow(8, 0, 1, 8, 1, 1.0, (number + one) % 4)}
            yield ProviderRow(one, uuid(one), root, root, ports)


def function_rows(hosts: int, functions: int, size: int, first: int = 0) -> Iterator[ProviderRow]:
    """Hosts with so many network functions of this size; the first host has this number."""
    for host in range(first, first + hosts):
        root = 100 * host + 1
        yield ProviderRow(root, uuid(root), None, root)
        for one in range(root + 1, root + functions + 1):
            ports = {'SRIOV_NET_VF': InventoryRow(size, max_unit=size)}
            yield ProviderRow(one, uuid(one), root, root, ports)


def pool_rows(count: int) -> Iterator[ProviderRow]:
    """Pools of storage that all share in one aggregate."""
    for number in range(1, count + 1):
        disk = {'DISK_GB': InventoryRow(1000, max_unit=1000)}
        yield ProviderRow(
            number, uuid(number), None, number, disk, ('MISC_SHARES_VIA_AGGREGATE',), ('A',)
        )


def wide_rows(children: int, size: int = 1) -> Iterator[ProviderRow]:
    """One host with that many children, each of which can serve `size` groups."""
    yield ProviderRow(1, uuid(1), None, 1)
    for number in range(2, children + 2):
        yield ProviderRow(number, uuid(number), 1, 1, {'VGPU': InventoryRow(size, max_unit=size)})


def shared_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts without disks and the shared storage they use."""
    for row in flat_rows(count):
        inventories = {name: row.inventories[name] for name in ('VCPU', 'MEMORY_MB')}
        yield row._replace(inventories=inventories)
    for zone in range(3):
        number = count + zone + 1
        storage = {'DISK_GB': InventoryRow(10**6, max_unit=10**6)}
        sharing = ('MISC_SHARES_VIA_AGGREGATE',)
        yield ProviderRow(number, uuid(number), None, number, storage, sharing, (f'zone-{zone}',))


def child_pool_rows(count: int, pools: int, used: int) -> Iterator[ProviderRow]:
    """Hosts that are all different and have no disks, and clusters of storage whose only child
    shares what it has with one aggregate; hosts are in the aggregates in turn."""
    for row in different_rows(count):
        inventories = {name: row.inventories[name] for name in ('VCPU', 'MEMORY_MB')}
        zone = f'zone-{row.id % pools}'
        yield row._replace(inventories=inventories, aggregates=(zone,))
    for number in range(pools):
        root = count + 2 * number + 1
        storage = {'DISK_GB': InventoryRow(10**6, max_unit=10**6, used=used)}
        sharing = ('MISC_SHARES_VIA_AGGREGATE',)
        yield ProviderRow(root, uuid(root), None, root)
        yield ProviderRow(
            root + 1, uuid(root + 1), root, root, storage, sharing, (f'zone-{number}',)
        )


def own_trait_rows(count: int) -> Iterator[ProviderRow]:
    """Hosts as of `full_rows`, each with a trait that no other has."""
    for row in full_rows(count):
        yield row._replace(traits=(*row.traits, f'CUSTOM_HOST_{row.id}'))


def granular(**settings: Any) -> CandidateRequest:
    """A server on one NUMA node with a port beneath it, and disk."""
    groups = (
        RequestGroup(resources={'DISK_GB': 10}),
        RequestGroup('_N', {'VCPU': 2, 'MEMORY_MB': 2048}),
        RequestGroup('_P', {'SRIOV_NET_VF': 1}, required=(frozenset(['CUSTOM_PHYSNET_A']),)),
    )
    return CandidateRequest(groups, same_subtree=(frozenset(['_N', '_P']),), **settings)


def wide(groups: int, **settings: Any) -> CandidateRequest:
    """That many equal groups."""
    equal = tuple(RequestGroup(f'_{number}', {'VGPU': 1}) for number in range(groups))
    return CandidateRequest(equal, **settings)


def packed(amounts: Iterable[int], **settings: Any) -> CandidateRequest:
    """A group for each of these amounts."""
    groups = tuple(
        RequestGroup(f'_{number}', {'SRIOV_NET_VF': amount})
        for number, amount in enumerate(amounts)
    )
    return CandidateRequest(groups, **settings)


def flat(**settings: Any) -> CandidateRequest:
    """A server."""
    return CandidateRequest((SERVER,), **settings)


def cases() -> Iterator[tuple[str, Snapshot, CandidateRequest]]:
    """Cases to measure: a name, a cloud and a request."""
    for count in (1_000, 10_000, 50_000):
        snapshot = Snapshot.of(flat_rows(count))
        for limit in (10, 1_000, None):
            yield f'{count} flat, limit={limit}', snapshot, flat(limit=limit)
    snapshot = Snapshot.of(flat_rows(10_000))
    yield '10000 flat, limit=10, random', snapshot, flat(limit=10, randomize=True)
    too_much = RequestGroup(resources={'VCPU': 99_999})
    yield '10000 flat, never fits', snapshot, CandidateRequest((too_much,), limit=10)
    full = Snapshot.of(flat_rows(10_000, used=7))
    yield '10000 flat, full', full, flat(limit=10)
    snapshot = Snapshot.of(different_rows(10_000))
    for limit in (10, 1_000, None):
        yield f'10000 different, limit={limit}', snapshot, flat(limit=limit)
    snapshot = Snapshot.of(shared_rows(10_000))
    for limit in (10, 1_000, None):
        yield f'10000 with shared disk, limit={limit}', snapshot, flat(limit=limit)
    disk = CandidateRequest((RequestGroup(resources={'DISK_GB': 10}),))
    yield '10000 with shared disk, disk only', snapshot, disk
    snapshot = Snapshot.of(nested_rows(1_000))
    for limit in (10, 1_000, None):
        yield f'1000 trees of seven, limit={limit}', snapshot, granular(limit=limit)
    for size in (8, 16, 64):
        for isolate in (False, True):
            rule = 'isolate' if isolate else 'none'
            fitting = Snapshot.of(wide_rows(size))
            short = Snapshot.of(wide_rows(size - 1))
            request = wide(size, isolate=isolate, limit=1_000)
            yield f'wide {size}x{size} {rule}, limit=1000', fitting, request
            yield f'wide {size}x{size} {rule}, one short', short, request
    roomy = Snapshot.of(wide_rows(8, size=8))
    yield 'wide 8x8, room for 8 each, limit=1000', roomy, wide(8, limit=1_000)


def hard_cases() -> Iterator[tuple[str, Snapshot, CandidateRequest]]:
    """Cases among hosts that are all different, and of requests that are hard."""
    budget = 1_500_000
    for aggregates in (1, 10):
        snapshot = Snapshot.of(full_rows(10_000, aggregates))
        title = f'10000 different, {aggregates} aggregates'
        for amount, name in ((8, 'full'), (9, 'never fits')):
            cores = RequestGroup(resources={'VCPU': amount})
            request = CandidateRequest((cores,), limit=10, budget=budget)
            yield f'{title}, {name}', snapshot, request
            zone = RequestGroup(resources={'VCPU': amount}, member_of=(frozenset(['zone-0']),))
            request = CandidateRequest((zone,), limit=10, budget=budget)
            yield f'{title}, {name}, member_of', snapshot, request
    for count in (10_000, 100_000):
        snapshot = Snapshot.of(own_trait_rows(count))
        for amount, name in ((8, 'full'), (9, 'never fits')):
            cores = RequestGroup(resources={'VCPU': amount}, forbidden=frozenset(['CUSTOM_OFF']))
            request = CandidateRequest((cores,), limit=10, budget=budget)
            yield f'{count} different, own traits, {name}', snapshot, request
    for pools in (1, 10):
        snapshot = Snapshot.of(child_pool_rows(10_000, pools, 10**6))
        request = flat(limit=10, budget=budget)
        yield f'10000 different, {pools} pools that are children, full', snapshot, request
    snapshot = Snapshot.of(different_rows(10_000))
    yield '10000 different, limit=10, random', snapshot, flat(limit=10, randomize=True)
    snapshot = Snapshot.of(large_tree_rows(1_000))
    ports = packed([1], limit=1_000, budget=budget)
    yield '1000 trees of 50, limit=1000', snapshot, ports
    isolated = tuple(RequestGroup(f'_{number}', {'DISK_GB': 10}) for number in range(2))
    request = CandidateRequest(isolated, isolate=True, budget=budget)
    yield '100 pools, two isolated groups, no limit', Snapshot.of(pool_rows(100)), request
    # Six functions of 10 have room for 60, but whichever way they are filled one group is left.
    one_short = [4] * 8 + [3] * 9
    hosts = Snapshot.of(function_rows(100, 6, 10))
    yield '100 alike hosts that just cannot', hosts, packed(one_short, limit=10, budget=budget)
    rows = [*function_rows(1, 6, 10), *function_rows(50, 6, 30, first=1)]
    request = packed(one_short, limit=10, budget=budget)
    yield 'such a host first, 50 roomy ones, limit=10', Snapshot.of(rows), request
    generator = random.Random(29)
    amounts = [generator.randint(6, 16) for _ in range(29)]
    snapshot = Snapshot.of(function_rows(1, 10, 32))
    yield '29 groups on 10 functions of 32', snapshot, packed(amounts, limit=10, budget=budget)
    equal = packed([1] * 6, budget=budget)
    yield '6 groups on 8 functions, no limit', Snapshot.of(function_rows(1, 8, 8)), equal


def median(work: Callable[[], object], repetitions: int) -> float:
    """The median processor time of the work, in milliseconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


def main() -> None:
    """Print a line for each case."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    words = sys.argv[2:]
    for name, snapshot, request in itertools.chain(cases(), hard_cases()):
        if words and not any(word in name for word in words):
            continue
        gc.collect()
        gc.freeze()
        found = len(find_candidates(snapshot, request).candidates)
        taken = median(lambda: find_candidates(snapshot, request), repetitions)  # noqa: B023
        print(f'{name:45} {found:6} candidates {taken:9.3f} ms')
        gc.unfreeze()
    if not words or 'snapshot' in words:
        _measure_snapshots()


def _measure_snapshots() -> None:
    rows = list(different_rows(100_000))
    name = '100000 different'
    gc.disable()
    taken = median(lambda: Snapshot.of(rows), 3)
    gc.enable()
    print(f'{"snapshot of " + name:45} {taken:27.3f} ms')
    snapshot = Snapshot.of(rows)
    find_candidates(snapshot, flat(limit=10))
    new = rows[0]._replace(id=100_001, uuid=uuid(100_001), root_id=100_001)

    def after_claim() -> None:
        used = {'VCPU': 3, 'MEMORY_MB': 512, 'DISK_GB': 10}
        find_candidates(snapshot.with_used({1: used}), flat(limit=10))

    def after_new_provider() -> None:
        find_candidates(snapshot.with_changes([new]), flat(limit=10))

    gc.collect()
    gc.freeze()
    print(f'{"search after a claim, " + name:45} {median(after_claim, 50):27.3f} ms')
    print(f'{"search after a new provider, " + name:45} {median(after_new_provider, 50):27.3f} ms')


if __name__ == '__main__':
    main()
