# SPDX-License-Identifier: Apache-2.0
"""The whole cloud of the demonstration: servers on its hosts, and problems."""

import dataclasses
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from placement.cmd.demo_cloud.hosts import (
    DISABLED_HOSTS,
    GIB,
    STORAGE,
    Allocations,
    Cloud,
    DemoConsumer,
    DemoInventory,
    DemoProvider,
    Host,
    list_hosts,
)


class Size(NamedTuple):
    """The amounts that a server of one flavor takes; `memory` in MiB, `disk` in GB."""

    cpus: int
    memory: int
    disk: int
    gpus: int = 0
    vfs: int = 0


FLAT = (
    Size(32, 128 * GIB, 320),
    Size(16, 64 * GIB, 160),
    Size(8, 48 * GIB, 80),
    Size(8, 32 * GIB, 80),
    Size(4, 16 * GIB, 40),
)
PINNED = (Size(12, 96 * GIB, 120, vfs=2), Size(8, 64 * GIB, 80, vfs=1), Size(4, 24 * GIB, 40))
WITH_GPU = (Size(16, 128 * GIB, 400, gpus=1), Size(8, 64 * GIB, 200, gpus=1))

PROJECTS = tuple(
    f'project-{name}'
    for name in ['web', 'shop', 'search', 'mail', 'maps', 'build', 'batch', 'lab']
)

#: The part of a host that is in use, from and to, by the beginning of its name.
FULLNESS = {
    'az1-cpu': (1.0, 1.0),
    'az2-cpu': (0.45, 0.9),
    'az3-cpu': (0.3, 0.95),
    'az3-numa': (0.2, 1.0),
    'az4-cpu': (0.0, 0.4),
    'az4-gpu': (0.1, 0.9),
}


class FreeAmounts:
    """The amounts of each inventory that are free while servers are placed."""

    def __init__(self, providers: Iterable[DemoProvider]) -> None:
        self._free = {
            (provider.uuid, name): inventory.capacity
            for provider in providers
            for name, inventory in provider.inventories.items()
        }

    def take(self, allocations: Allocations) -> bool:
        """Take all of it, if there is room for all of it; whether there was."""
        wanted = [
            ((uuid, name), amount)
            for uuid, resources in allocations.items()
            for name, amount in resources.items()
        ]
        if any(self._free[key] < amount for key, amount in wanted):
            return False
        for key, amount in wanted:
            self._free[key] -= amount
        return True

    def used_part(self, host: Host) -> float:
        """How full the memory of a host is, from 0 to 1."""
        having = host.nodes or (host.root,)
        capacity = sum(provider.inventories['MEMORY_MB'].capacity for provider in having)
        return 1 - sum(self._free[provider.uuid, 'MEMORY_MB'] for provider in having) / capacity


def list_servers(hosts: Sequence[Host], storage: DemoProvider, seed: int) -> list[DemoConsumer]:
    """The servers of all hosts; the same for the same hosts and seed."""
    stock = FreeAmounts([storage, *(provider for host in hosts for provider in host.providers)])
    return [server for host in hosts for server in _fill(host, stock, seed)]


def _fill(host: Host, stock: FreeAmounts, seed: int) -> Iterator[DemoConsumer]:
    """Servers until the host is as full as it should be, or nothing fits any more."""
    if host.root.name in DISABLED_HOSTS:
        return
    chance = random.Random(f'{seed} {host.root.name}')
    low, high = FULLNESS[host.root.name.rpartition('-')[0]]
    wanted = chance.uniform(low, high)
    sizes = list(WITH_GPU if host.gpus else PINNED if host.nodes else FLAT)
    number = 0
    while sizes and stock.used_part(host) < wanted:
        size = chance.choice(sizes)
        allocations = _allocations(host, size, chance)
        if not stock.take(allocations):
            sizes.remove(size)
            continue
        number += 1
        project = chance.choice(PROJECTS)
        yield DemoConsumer(
            name=f'{host.root.name} server {number}',
            project=project,
            user=f'user-of-{project}',
            type='INSTANCE',
            allocations=allocations,
        )


def _allocations(host: Host, size: Size, chance: random.Random) -> Allocations:
    """The allocations of a server of this size on a host, whether or not there is room."""
    if host.nodes:
        index = chance.randrange(len(host.nodes))
        taken = {host.nodes[index].uuid: {'PCPU': size.cpus, 'MEMORY_MB': size.memory}}
        if size.vfs:
            taken[host.nics[index].uuid] = {'SRIOV_NET_VF': size.vfs}
    else:
        taken = {host.root.uuid: {'VCPU': size.cpus, 'MEMORY_MB': size.memory}}
    if size.gpus:
        taken[chance.choice(host.gpus).uuid] = {'VGPU': size.gpus}
    taken.setdefault(host.disk.uuid, {})['DISK_GB'] = size.disk
    return taken


SEED = 17

#: NUMA nodes that lost half of their memory while servers were using it.
SHRUNK = {
    name: {
        'PCPU': DemoInventory(total=32, reserved=2),
        'MEMORY_MB': DemoInventory(total=128 * GIB, reserved=8 * GIB),
    }
    for name in ('az3-numa-022-node1', 'az3-numa-061-node1')
}
#: Hosts on which a migration that ended long ago still holds what it had.
MIGRATIONS_LEFT = tuple(f'az4-cpu-{number:03}' for number in range(31, 43))
#: Every so many servers, one was written by a client from before there were consumer types.
WITHOUT_TYPE_EVERY = 400
#: Hosts all of whose servers belong to a project that has been deleted.
HOSTS_OF_DELETED_PROJECT = tuple(f'az2-cpu-{number:03}' for number in range(201, 207))
DELETED_PROJECT = 'project-deleted-in-march'


def make_cloud(seed: int = SEED) -> Cloud:
    """The cloud that belongs to a seed, the same each time."""
    hosts = list_hosts()
    servers = list_servers(hosts, STORAGE, seed)
    consumers = [_with_faults(server, index) for index, server in enumerate(servers)]
    roots = {host.root.name: host.root for host in hosts}
    for name in MIGRATIONS_LEFT:
        resources = {'VCPU': 8, 'MEMORY_MB': 32 * GIB, 'DISK_GB': 80}
        consumers.append(
            DemoConsumer(
                name=f'{name} migration',
                project='project-web',
                user='user-of-project-web',
                type='MIGRATION',
                allocations={roots[name].uuid: resources},
            )
        )
    providers = [STORAGE, *(provider for host in hosts for provider in host.providers)]
    return Cloud(providers, consumers, SHRUNK)


def _with_faults(server: DemoConsumer, index: int) -> DemoConsumer:
    if server.name.partition(' ')[0] in HOSTS_OF_DELETED_PROJECT:
        server = dataclasses.replace(server, project=DELETED_PROJECT)
    if index % WITHOUT_TYPE_EVERY == 7:
        server = dataclasses.replace(server, type=None)
    return server
