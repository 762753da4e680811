# SPDX-License-Identifier: Apache-2.0
"""The clouds of the benchmarks as data: the same providers and consumers for both services.

The clouds of this module are named for their structure. `full` has partly used clouds, `hard` the
clouds of hard searches, and `rows` makes rows for a search without a database.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from placement.tests.large_clouds import (
    HOST_TRAITS,
    Cloud,
    Consumer,
    Provider,
    inventory,
    trees,
    uuid_of,
)

HOSTS_PER_AGGREGATE = 50
# Number of different sets of traits in a cloud whose hosts have many.
TRAIT_SETS = 10
SHARES = ('MISC_SHARES_VIA_AGGREGATE',)
MILLION = 1_000_000


class Plan(NamedTuple):
    """A cloud that is not generated yet, since a large one takes time and memory."""

    make: Callable[[int], Cloud]
    size: int


def host(number: int) -> str:
    """The uuid of a host of a flat cloud."""
    return uuid_of(f'host {number}')


def aggregate(number: int) -> str:
    """The uuid of the aggregate that a host of a flat cloud is in."""
    return uuid_of(f'aggregate {number // HOSTS_PER_AGGREGATE}')


def zone(number: int) -> str:
    """The uuid of the aggregate with this number, of a few that hosts are in, in turn."""
    return uuid_of(f'zone {number}')


def flat(count: int, zones: int = 0) -> Cloud:
    """Hosts without children, with a consumer each, in a number of zones or in aggregates."""
    hosts = tuple(
        Provider(
            host(number),
            f'host-{number}',
            {
                'VCPU': inventory(64, 16.0),
                'MEMORY_MB': inventory(262144, 1.5, reserved=512),
                'DISK_GB': inventory(2000),
            },
            HOST_TRAITS,
            (zone(number % zones) if zones else aggregate(number),),
        )
        for number in range(count)
    )
    return Cloud(f'{count} hosts', hosts, tuple(map(_tenant, range(count), hosts)))


def _tenant(number: int, provider: Provider) -> Consumer:
    size = number % 7 + 1
    used = {'VCPU': 4 * size, 'MEMORY_MB': 8192 * size, 'DISK_GB': 40 * size}
    held = {name: used[name] for name in provider.inventories}
    return Consumer(uuid_of(f'tenant {number}'), {provider.uuid: held})


def _altered(name: str, cloud: Cloud, alter: Callable[[int, Provider], Provider]) -> Cloud:
    """A cloud by another name, whose providers are altered by their numbers."""
    return cloud._replace(
        name=name, providers=tuple(alter(*numbered) for numbered in enumerate(cloud.providers))
    )


def different(count: int, zones: int = 0) -> Cloud:
    """Hosts of which each has an inventory that no other has."""

    def alter(number: int, one: Provider) -> Provider:
        memory = inventory(262144 + number, 1.5, reserved=512)
        return one._replace(inventories={**one.inventories, 'MEMORY_MB': memory})

    return _altered(f'{count} different hosts', flat(count, zones), alter)


def with_traits(count: int, traits: int) -> Cloud:
    """Hosts with a number of traits each; neighbours differ in some of them."""
    added = traits - len(HOST_TRAITS)
    sets = [
        (*HOST_TRAITS, *(f'CUSTOM_TRAIT_{first + number:03}' for number in range(added)))
        for first in range(TRAIT_SETS)
    ]
    return _altered(
        f'{count} hosts of {traits} traits',
        flat(count),
        lambda number, one: one._replace(traits=sets[number % TRAIT_SETS]),
    )


def with_own_traits(cloud: Cloud) -> Cloud:
    """The cloud with a trait of its own for each root."""

    def alter(number: int, one: Provider) -> Provider:
        return one if one.parent else one._replace(traits=(*one.traits, f'CUSTOM_HOST_{number}'))

    return _altered(f'{cloud.name} of own traits', cloud, alter)


def of_eight_cores(count: int, zones: int = 3, full_zones: int = 0) -> Cloud:
    """Different hosts of eight cores; one core is used, or all of them in the full zones."""
    cloud, cores = different(count, zones), inventory(8)
    hosts = [one._replace(inventories={**one.inventories, 'VCPU': cores})
             for one in cloud.providers]  # fmt: skip
    consumers = []
    for number, consumer in enumerate(cloud.consumers):
        ((uuid, held),) = consumer.allocations.items()
        used = 8 if number % zones < full_zones else 1
        consumers.append(consumer._replace(allocations={uuid: {**held, 'VCPU': used}}))
    return Cloud(f'{count} hosts of eight cores', tuple(hosts), tuple(consumers))


def of_one_core(free: int, full: int) -> Cloud:
    """Hosts of one core: `free` free ones, and `full` percent with a consumer."""
    count = free * 100 // (100 - full)
    names = [f'single-{number}' for number in range(count)]
    providers = [Provider(uuid_of(name), name, {'VCPU': inventory(1)}) for name in names]
    consumers = [
        Consumer(uuid_of(f'server of {host.name}'), {host.uuid: {'VCPU': 1}})
        for host in random.Random(1).sample(providers, count - free)
    ]
    return Cloud(f'{count} hosts of one core', tuple(providers), tuple(consumers))


def filled(cloud: Cloud, part: float) -> Cloud:
    """The cloud with a part of each inventory in use, and no other usage."""
    consumers = [
        Consumer(
            uuid_of(f'all of {one.name}'),
            {
                one.uuid: {
                    name: int((of['total'] - of['reserved']) * of['allocation_ratio'] * part)
                    for name, of in one.inventories.items()
                }
            },
        )
        for one in cloud.providers
    ]
    return Cloud(f'{cloud.name}, {part:.0%} full', cloud.providers, tuple(consumers))


def pools(count: int) -> Cloud:
    """Pools of storage that all share in one aggregate."""
    names = [f'pool {number}' for number in range(count)]
    disk = {'DISK_GB': inventory(1000)}
    return Cloud(
        f'{count} pools',
        tuple(Provider(uuid_of(name), name, disk, SHARES, (zone(0),)) for name in names),
    )


def with_pools(count: int, zones: int = 3) -> Cloud:
    """Hosts without disks, and a pool of storage in each zone."""
    disk = {'DISK_GB': inventory(MILLION)}
    shared = tuple(
        Provider(uuid_of(f'pool {number}'), f'pool {number}', disk, SHARES, (zone(number),))
        for number in range(zones)
    )
    cloud = _without_disks(flat(count, zones))
    return cloud._replace(providers=(*cloud.providers, *shared))


def with_full_child_pools(count: int, zones: int) -> Cloud:
    """Different hosts without disks, and a storage cluster in each zone, whose only child is a
    sharing provider without free disk."""
    cloud, disk = _without_disks(different(count, zones)), {'DISK_GB': inventory(MILLION)}
    shared, full = list[Provider](), list[Consumer]()
    for number in range(zones):
        root = Provider(uuid_of(f'cluster {number}'), f'cluster {number}', {})
        name = f'pool {number}'
        pool = Provider(uuid_of(name), name, disk, SHARES, (zone(number),), root.uuid)
        shared += [root, pool]
        full.append(Consumer(uuid_of(f'all of {name}'), {pool.uuid: {'DISK_GB': MILLION}}))
    return Cloud(cloud.name, (*cloud.providers, *shared), (*cloud.consumers, *full))


def _without_disks(cloud: Cloud) -> Cloud:
    hosts = tuple(
        one._replace(inventories={name: one.inventories[name] for name in ('VCPU', 'MEMORY_MB')})
        for one in cloud.providers
    )
    return Cloud(
        f'{cloud.name} without disks', hosts, tuple(map(_tenant, range(len(hosts)), hosts))
    )


def trees_of_eight(count: int) -> Cloud:
    """Trees of seven with an accelerator in each."""
    graphics, providers = {'VGPU': inventory(8)}, list[Provider]()
    seven = trees(count).providers
    for first in range(0, len(seven), 7):
        root = seven[first]
        name = f'{root.name}-accelerator'
        providers += seven[first : first + 7]
        providers.append(Provider(uuid_of(name), name, graphics, parent=root.uuid))
    return Cloud(f'{count} trees of eight', tuple(providers))


def used_trees(count: int, are_different: bool = False) -> Cloud:
    """Trees of seven in three zones, some of what each has in use; their disks may differ."""
    consumers = []

    def alter(number: int, one: Provider) -> Provider:
        tree = number // 7
        used = {
            'VCPU': tree % 6, 'MEMORY_MB': tree % 6 * 1024, 'SRIOV_NET_VF': tree % 3,
            'DISK_GB': tree % 5 * 100,
        }  # fmt: skip
        held = {one.uuid: {name: used[name] for name in one.inventories}}
        consumers.append(Consumer(uuid_of(f'tenant {number}'), held))
        if one.parent:
            return one
        disk = inventory(2000 + tree * are_different)
        return one._replace(inventories={'DISK_GB': disk}, aggregates=(zone(tree % 3),))

    cloud = _altered(f'{count} used trees of seven', trees(count), alter)
    return cloud._replace(consumers=tuple(consumers))


def wide(children: int, units: int = 1) -> Cloud:
    """One host with a number of children, each with a number of graphics units."""
    return with_devices(1, children, {'VGPU': units})


def roomy(children: int) -> Cloud:
    """One host with that many children, each with eight graphics units."""
    return wide(children, 8)


def with_devices(
    count: int,
    devices: int,
    device: Mapping[str, int],
    root: Mapping[str, int] | None = None,
    nodes: int = 0,
    used: Callable[[int, int], int] | None = None,
    name: str = 'host',
) -> Cloud:
    """Hosts with a number of devices each, beneath the root or beneath NUMA nodes.

    `device` and `root` are totals; `used` returns the usage of each class of a device, by the
    numbers of host and device.
    """
    providers, consumers = list[Provider](), list[Consumer]()

    def add(name: str, totals: Mapping[str, int], parent: str | None = None) -> str:
        uuid = uuid_of(name)
        inventories = {of: inventory(total) for of, total in totals.items()}
        providers.append(Provider(uuid, name, inventories, parent=parent))
        return uuid

    for number in range(count):
        title = f'{name} {number}'
        above = [add(title, root or {})]
        if nodes:
            above = [add(f'{title} node {node}', {'VCPU': 64}, above[0]) for node in range(nodes)]
        for one in range(devices):
            uuid = add(f'{title} device {one}', device, above[one * len(above) // devices])
            if used and (amount := used(number, one)):
                held = {uuid: dict.fromkeys(device, amount)}
                consumers.append(Consumer(uuid_of(f'server on {title} device {one}'), held))
    return Cloud(f'{count} hosts of {devices} devices', tuple(providers), tuple(consumers))


def with_functions(count: int, functions: int, size: int, name: str = 'host') -> Cloud:
    """Hosts with a number of network functions of this size, and nothing else."""
    return with_devices(count, functions, {'SRIOV_NET_VF': size}, name=name)


def large_trees(count: int) -> Cloud:
    """Hosts of fifty: the root and network functions, some of them used."""
    return with_devices(
        count, 49, {'SRIOV_NET_VF': 8}, {'VCPU': 64}, used=lambda host, one: (host + one) % 4
    )


def cannot_then_can(functions: int) -> Cloud:
    """A host with a number of functions of 10 units, then 50 hosts with as many of 30 units."""
    first, roomy = with_functions(1, functions, 10, 'first'), with_functions(50, functions, 30)
    return Cloud('an unlike host first', (*first.providers, *roomy.providers))
