# SPDX-License-Identifier: Apache-2.0
"""Clouds that are full to some part: the same consumers each time, with other inventories."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.clouds import SHARES, zone
from placement.tests.large_clouds import (
    HOST_TRAITS,
    Cloud,
    Consumer,
    Provider,
    inventory,
    uuid_of,
)

CONSUMERS = 10
#: VCPU of the ten flavors. Memory in MiB and disk in GB go with them, not quite in proportion.
VCPUS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
ZONES = 3
MAX_TREES_OF_POOL = 250

#: Size of the groups of hosts in which some have all free resources, by the percentage in use.
GROUP = 20
WITH_ROOM = {50: 20, 80: 20, 97: 2}
#: Fewer of trees, whose nodes are smaller. A card has always room for as much as is in use.
TREES_WITH_ROOM = {50: 20, 80: 4, 97: 1}
UNITS_OF_CARD = 8
#: Of unlike hosts: how many traits each has, and how many there are.
TRAITS, ALL_TRAITS = 30, 200

Resources = Mapping[str, int]


class Family(NamedTuple):
    """Clouds with the same providers and consumers, of several kinds by their inventories.

    `make` takes the number of a kind, and the percentage of the cloud that is in use.
    """

    kinds: tuple[str, ...]
    make: Callable[[int, int], Cloud]


def families(hosts: int, trees: int) -> Sequence[Family]:
    """Flat hosts, alike and all different, trees of nine with pools, hosts of many traits."""
    return [
        Family(
            (f'{hosts:,} hosts', f'{hosts:,} hosts, all different'),
            lambda kind, full: (different if kind else flat)(hosts, full),
        ),
        Family((f'{trees:,} trees with a pool',), lambda _, full: nested(trees, full)),
        Family(
            (f'{trees:,} hosts, {TRAITS} of {ALL_TRAITS} traits each',),
            lambda _, full: with_own_traits(trees, full),
        ),
    ]


def flavor(number: int) -> dict[str, int]:
    """The amounts of one of ten flavors."""
    vcpus = VCPUS[number]
    return {
        'VCPU': vcpus,
        'MEMORY_MB': 4096 * vcpus + 512 * number,
        'DISK_GB': 20 * vcpus + 10 * number,
    }


#: In use on each host, which has a consumer of each flavor.
USED = {name: sum(flavor(n)[name] for n in range(CONSUMERS)) for name in flavor(0)}


def flat(count: int, full: int) -> Cloud:
    """Hosts without children."""
    return _cloud(count, full, lambda _number: 0)


def different(count: int, full: int) -> Cloud:
    """The same hosts, of which each has an inventory that no other has."""
    return _cloud(count, full, lambda number: number)


def with_own_traits(count: int, full: int) -> Cloud:
    """The same hosts, each with some of many traits, which no other has."""
    cloud, chance = flat(count, full), random.Random(1)
    names = [f'CUSTOM_TRAIT_{number}' for number in range(ALL_TRAITS)]
    hosts = [
        host._replace(traits=tuple(sorted(chance.sample(names, TRAITS))))
        for host in cloud.providers
    ]
    return cloud._replace(providers=tuple(hosts))


def _cloud(count: int, full: int, added: Callable[[int], int]) -> Cloud:
    hosts = []
    for number in range(count):
        totals = {name: _total(used, number, full) for name, used in USED.items()}
        hosts.append(_host(number, {**totals, 'MEMORY_MB': totals['MEMORY_MB'] + added(number)}))
    consumers = [
        Consumer(uuid_of(f'server {n} of {host.name}'), {host.uuid: flavor(n)})
        for host in hosts
        for n in range(CONSUMERS)
    ]
    return Cloud(f'{count} hosts, {full} % full', tuple(hosts), tuple(consumers))


def _host(number: int, totals: Resources) -> Provider:
    inventories = {name: inventory(total) for name, total in totals.items()}
    name = f'host-{number}'
    return Provider(uuid_of(name), name, inventories, HOST_TRAITS, (zone(number % ZONES),))


def _total(used: int, number: int, full: int, with_room: Mapping[int, int] = WITH_ROOM) -> int:
    """The total of an inventory of the host with this number."""
    having = with_room[full]
    free = used * (100 / full - 1) * GROUP / having
    return used + (round(free) if number % GROUP < having else 0)


def crowded(count: int, consumers: int, full: int) -> Cloud:
    """Hosts without children, with a number of consumers of all flavors on each."""
    flavors = [flavor(number) for number in range(CONSUMERS)]
    each = consumers / count / CONSUMERS
    totals = {name: round(used * each * 100 / full) for name, used in USED.items()}
    hosts = tuple(_host(number, totals) for number in range(count))
    servers = [
        Consumer(
            uuid_of(f'server {number}'),
            {hosts[number % count].uuid: flavors[number // count % CONSUMERS]},
        )
        for number in range(consumers)
    ]
    return Cloud(f'{count} hosts, {consumers} consumers', hosts, tuple(servers))


def nested(count: int, full: int) -> Cloud:
    """Trees of nine: the root, two NUMA nodes, and three devices beneath each. Groups of trees
    share a pool of disks. Each tree has five consumers on each node."""
    providers, consumers, pooled = list[Provider](), list[Consumer](), dict[str, int]()
    for number in range(count):
        pool = f'pool {number // MAX_TREES_OF_POOL}'
        pooled[pool] = pooled.get(pool, 0) + USED['DISK_GB']
        root, *beneath = _tree(number, full, uuid_of(f'aggregate of {pool}'))
        providers += [root, *beneath]
        consumers += _consumers(root, beneath, uuid_of(pool))
    pools = [
        Provider(
            uuid_of(pool),
            pool,
            {'DISK_GB': inventory(round(used * 100 / full))},
            SHARES,
            (uuid_of(f'aggregate of {pool}'),),
        )
        for pool, used in pooled.items()
    ]
    return Cloud(f'{count} trees, {full} % full', (*providers, *pools), tuple(consumers))


def _tree(number: int, full: int, aggregate: str) -> Iterator[Provider]:
    name = f'tree-{number}'
    root = uuid_of(name)
    # As nova has it, a root without inventory: only its traits and aggregates count.
    yield Provider(root, name, {}, HOST_TRAITS, (zone(number % ZONES), aggregate))
    for side in range(2):
        used = _used_of_node(side)
        node = uuid_of(f'{name} node {side}')
        inventories = {
            resource_class: inventory(_total(used[resource_class], number, full, TREES_WITH_ROOM))
            for resource_class in ('VCPU', 'MEMORY_MB')
        }
        yield Provider(node, f'{name}-{side}', inventories, ('HW_NUMA_ROOT',), parent=root)
        devices = {'SRIOV_NET_VF': ('A', 'B'), 'VGPU': ('C',)}
        for resource_class, letters in devices.items():
            for letter in letters:
                card = f'{name}-{side}-{letter}'
                size = {resource_class: inventory(UNITS_OF_CARD)}
                yield Provider(uuid_of(card), card, size, parent=node)


def _used_of_node(side: int) -> Resources:
    flavors = [flavor(n) for n in range(side, CONSUMERS, 2)]
    return {name: sum(one[name] for one in flavors) for name in ('VCPU', 'MEMORY_MB')}


def _consumers(root: Provider, beneath: Sequence[Provider], pool: str) -> Iterator[Consumer]:
    """Consumers of the flavors, in turns on both nodes; all have virtual functions, one of each
    node a graphics unit."""
    by_name = {provider.name: provider.uuid for provider in beneath}
    for n in range(CONSUMERS):
        side, turn = n % 2, n // 2
        amounts = flavor(n)
        held: dict[str, Resources] = {
            by_name[f'{root.name}-{side}']: {c: amounts[c] for c in ('VCPU', 'MEMORY_MB')},
            pool: {'DISK_GB': amounts['DISK_GB']},
        }
        if turn < 4:
            held[by_name[f'{root.name}-{side}-{"AB"[turn % 2]}']] = {'SRIOV_NET_VF': 2}
        else:
            held[by_name[f'{root.name}-{side}-C']] = {'VGPU': 4}
        yield Consumer(uuid_of(f'server {n} of {root.name}'), held)
