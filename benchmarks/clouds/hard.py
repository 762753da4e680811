# SPDX-License-Identifier: Apache-2.0
"""Searches that are hard, and their clouds: unlike hosts, packing, NUMA affinity, near misses.

All hosts are in one cloud, generated from a seed. `in_tree` confines each query to one host, so
that it is as hard as that host, except for the queries for unlike hosts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.clouds import with_functions
from placement.tests.large_clouds import Cloud, Provider, inventory, uuid_of

SEED = 20
QUERIES = 75
LIMIT = 10
UNLIKE_HOSTS = 2_000
UNLIKE = 'CUSTOM_UNLIKE'


class Query(NamedTuple):
    """One search, and the hosts that it is about."""

    family: str
    path: str
    providers: tuple[Provider, ...] = ()


def queries(seed: int = SEED, count: int = QUERIES) -> list[Query]:
    """A number of queries of each family, determined by the seed."""
    generator = random.Random(seed)
    return [
        family(generator, f'{family.__name__} {number}')
        for family in (unlike, packing, affinity, near_miss)
        for number in range(count)
    ]


def cloud(chosen: Sequence[Query]) -> Cloud:
    """The hosts of these queries and of all unlike ones."""
    hosts = tuple(provider for query in chosen for provider in query.providers)
    return Cloud('hard searches', (*_unlike_hosts(), *hosts))


def _unlike_hosts() -> Iterator[Provider]:
    for number in range(UNLIKE_HOSTS):
        inventories = {
            'VCPU': inventory(32 + number % 37, reserved=number % 13),
            'MEMORY_MB': inventory(131_072 + number, reserved=512 + number % 101),
        }
        name = f'unlike-{number}'
        yield Provider(uuid_of(name), name, inventories, (UNLIKE,))


def unlike(generator: random.Random, name: str) -> Query:
    """An amount that some, few or none of the unlike hosts have room for."""
    cores, memory = generator.randint(1, 75), generator.randint(1, 133_500)
    resources = f'VCPU:{cores},MEMORY_MB:{memory}'
    return Query('unlike hosts', _path([f'resources={resources}&required={UNLIKE}']))


def packing(generator: random.Random, name: str) -> Query:
    """Groups that fill four fifths or more of network functions."""
    functions, size = generator.randint(4, 12), generator.choice([8, 16, 32])
    room = int(functions * size * generator.choice([0.8, 0.9, 0.95, 1.0]))
    amounts: list[int] = []
    while sum(amounts) + size // 5 < room:
        amounts.append(generator.randint(max(1, size // 5), size // 2))
    return _packed('packing', name, functions, size, amounts)


def near_miss(generator: random.Random, name: str) -> Query:
    """Groups that fit in sum, and leave one over however they are packed.

    A function of 10 holds 4 + 3 + 3, 4 + 4 or 3 + 3 + 3. Where `pairs` functions hold two fours
    and the others 4 + 3 + 3, no other packing holds as many fours and one three more.
    """
    functions = generator.randint(4, 10)
    pairs = generator.randint(2, functions // 2)
    fours, threes = functions + pairs, 2 * (functions - pairs) + 1
    return _packed('near misses', name, functions, 10, [4] * fours + [3] * threes)


def _packed(family: str, name: str, functions: int, size: int, amounts: Sequence[int]) -> Query:
    providers = with_functions(1, functions, size, name).providers
    groups = [
        f'resources_{number}=SRIOV_NET_VF:{amount}&in_tree_{number}={providers[0].uuid}'
        for number, amount in enumerate(amounts)
    ]
    return Query(family, _path(groups), providers)


def affinity(generator: random.Random, name: str) -> Query:
    """Sets of cores, a GPU and network functions, each set on one NUMA node."""
    root, nodes = uuid_of(name), generator.choice([2, 4, 8])
    providers = [Provider(root, name, {})]
    for node in range(nodes):
        providers.extend(_numa_node(generator, f'{name} node {node}', root))
    groups = []
    for number in range(generator.randint(2, nodes + 1)):
        groups += [
            f'resources_N{number}=VCPU:{generator.randint(2, 10)}&in_tree_N{number}={root}',
            f'resources_G{number}=PGPU:1&in_tree_G{number}={root}',
            f'resources_P{number}=SRIOV_NET_VF:{generator.randint(1, 4)}&in_tree_P{number}={root}',
            f'same_subtree=_N{number},_G{number},_P{number}',
        ]
    return Query('NUMA affinity', _path(groups), tuple(providers))


def _numa_node(generator: random.Random, name: str, root: str) -> Iterator[Provider]:
    node = uuid_of(name)
    cores = inventory(16, reserved=generator.randint(0, 6))
    yield Provider(node, name, {'VCPU': cores}, parent=root)
    for kind, count, units in (
        ('PGPU', generator.randint(0, 3), 1),
        ('SRIOV_NET_VF', generator.randint(0, 2), 8),
    ):
        for number in range(count):
            device = f'{name} {kind} {number}'
            yield Provider(uuid_of(device), device, {kind: inventory(units)}, parent=node)


def _path(groups: Sequence[str]) -> str:
    policy = '&group_policy=none' if len(groups) > 1 else ''
    return f'/allocation_candidates?{"&".join(groups)}{policy}&limit={LIMIT}'
