# SPDX-License-Identifier: Apache-2.0
"""Lists of resource providers, and the reads that an idle agent repeats about its provider."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from benchmarks import clouds
from benchmarks.clouds import Plan
from benchmarks.scenarios.base import Budget, Get, Scenario

SIZES = (100, 1_000, 10_000)
PARTS = ('inventories', 'traits', 'aggregates', 'allocations', 'usages')
LIST = '/resource_providers'


def scenarios(sizes: Collection[int]) -> Iterator[Scenario]:
    """The reads in clouds of these sizes."""
    for size in filter(sizes.__contains__, SIZES):
        for name, path in _lists(size).items():
            ratio = 5 if size == 10_000 and path == LIST else None
            yield _read(name, path, size, Budget(ratio=ratio))
        provider = f'{LIST}/{clouds.host(size // 2)}'
        yield _read('read provider', provider, size, Budget(ratio=3))
        for part in PARTS:
            yield _read(f'read {part}', f'{provider}/{part}', size, Budget(ratio=3))


def _lists(size: int) -> dict[str, str]:
    host = size // 2
    return {
        'list all': LIST,
        'list in_tree': f'{LIST}?in_tree={clouds.host(host)}',
        'list by name': f'{LIST}?name=host-{host}',
        'list with resources': f'{LIST}?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10',
        'list member_of': f'{LIST}?member_of={clouds.aggregate(host)}',
    }


def _read(name: str, path: str, size: int, budget: Budget) -> Scenario:
    return Scenario(name, size, Plan(clouds.flat, size), lambda _number: Get(path), budget=budget)
