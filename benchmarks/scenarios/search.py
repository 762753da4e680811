# SPDX-License-Identifier: Apache-2.0
"""GET /allocation_candidates: flat clouds, trees, and one host with many children."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from benchmarks import clouds
from benchmarks.clouds import Plan
from benchmarks.scenarios.base import Budget, Get, Scenario
from placement.tests.large_clouds import trees

SIZES = (100, 1_000, 10_000, 50_000, 130_000)
LIMITS = (10, 1_000, None)
SERVER = 'resources=VCPU:1,MEMORY_MB:512,DISK_GB:10'
# A server on one NUMA node with a port under it, and disk.
GRANULAR = (
    'resources=DISK_GB:10&resources_N=VCPU:2,MEMORY_MB:2048&resources_P=SRIOV_NET_VF:1'
    '&required_P=CUSTOM_PHYSNET_A&same_subtree=_N,_P&group_policy=none'
)
MAX_TREES = 1_000
TREES_OF_EIGHT = (1_000, 10_000, 125_000)
WIDTHS = (8, 16, 64)
QUICK_WIDTHS = (8, 64)

FLAT_BUDGETS = {
    (1_000, 10): 60, (1_000, 1_000): 25, (1_000, None): 25,
    (10_000, 10): 400, (10_000, 1_000): 150, (10_000, None): 15,
}  # fmt: skip
TREE_BUDGETS = {(1_000, 10): 100, (1_000, 1_000): 25}
WIDE_BUDGETS = {8: Budget(ratio=1000)}
SHORT = Budget(milliseconds=100)

# What an operator of upstream with such hosts would set.
BEST_OPTIONS = {
    'OS_WORKAROUNDS__OPTIMIZE_FOR_WIDE_PROVIDER_TREES': 'true',
    'OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES': '1000',
    'OS_PLACEMENT__ALLOCATION_CANDIDATES_GENERATION_STRATEGY': 'breadth-first',
}


def scenarios(sizes: Collection[int]) -> Iterator[Scenario]:
    """The searches for clouds of these sizes."""
    for size in filter(sizes.__contains__, SIZES):
        for limit in LIMITS:
            yield _flat(size, limit)
    for size in filter(sizes.__contains__, SIZES):
        if size <= MAX_TREES:
            yield from (_trees(size, limit) for limit in LIMITS if limit)
    for size in filter(sizes.__contains__, TREES_OF_EIGHT):
        name = f'search in trees of eight {_words(10)}'
        yield dataclasses.replace(
            _trees(size, 10), name=name, cloud=Plan(clouds.trees_of_eight, size), is_quick=False
        )
    for width in WIDTHS:
        name = f'search {width} children x {width} groups'
        for scenario in (
            _wide(name, width, width, WIDE_BUDGETS.get(width, SHORT)),
            _wide(f'{name}, one unit short', width, width + 1, SHORT),
            _wide(f'{name}, one child short', width, width + 1, SHORT, isolates=True),
        ):
            yield dataclasses.replace(scenario, is_quick=width in QUICK_WIDTHS)
    best = _wide('search 8 children x 8 groups, best options', 8, 8, Budget(ratio=50))
    yield dataclasses.replace(best, upstream_settings=BEST_OPTIONS)


def _flat(size: int, limit: int | None) -> Scenario:
    return Scenario(
        f'search flat {_words(limit)}',
        size,
        Plan(clouds.flat, size),
        lambda _number: Get(_path(SERVER, limit)),
        budget=Budget(FLAT_BUDGETS.get((size, limit))),
    )


def _trees(size: int, limit: int) -> Scenario:
    return Scenario(
        f'search trees {_words(limit)}',
        size,
        Plan(trees, size),
        lambda _number: Get(_path(GRANULAR, limit)),
        budget=Budget(TREE_BUDGETS.get((size, limit))),
    )


def _wide(
    name: str, children: int, groups: int, budget: Budget, isolates: bool = False
) -> Scenario:
    """Equal groups; a child can serve one of them, or several if `isolates` did not forbid it."""
    query = '&'.join(f'resources{number}=VGPU:1' for number in range(1, groups + 1))
    policy = 'isolate' if isolates else 'none'
    return Scenario(
        name,
        children,
        Plan(clouds.roomy if isolates else clouds.wide, children),
        lambda _number: Get(_path(f'{query}&group_policy={policy}', 1_000)),
        budget=budget,
    )


def _path(query: str, limit: int | None) -> str:
    suffix = '' if limit is None else f'&limit={limit}'
    return f'/allocation_candidates?{query}{suffix}'


def _words(limit: int | None) -> str:
    return 'unlimited' if limit is None else f'limit={limit}'
