# SPDX-License-Identifier: Apache-2.0
"""The servers of the demonstration: how full each host is, and who has them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from placement.demo.hosts import DISABLED_HOSTS, GIB
from placement.demo.model import Allocations, Consumer, Host, Provider


class Size(NamedTuple):
    """What a server of one flavor takes; `memory` in MiB, `disk` in GB."""

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


class Stock:
    """What is left of each inventory while servers are placed."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self._free = {
            (one.uuid, name): inventory.capacity
            for one in providers
            for name, inventory in one.inventories.items()
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
        capacity = sum(one.inventories['MEMORY_MB'].capacity for one in having)
        return 1 - sum(self._free[one.uuid, 'MEMORY_MB'] for one in having) / capacity


def list_servers(hosts: Sequence[Host], storage: Provider, seed: int) -> list[Consumer]:
    """The servers of all hosts; the same for the same hosts and seed."""
    stock = Stock([storage, *(one for host in hosts for one in host.providers)])
    return [server for host in hosts for server in _fill(host, stock, seed)]


def _fill(host: Host, stock: Stock, seed: int) -> Iterator[Consumer]:
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
        yield Consumer(
            name=f'{host.root.name} server {number}',
            project=project,
            user=f'user-of-{project}',
            type='INSTANCE',
            allocations=allocations,
        )


def _allocations(host: Host, size: Size, chance: random.Random) -> Allocations:
    """What a server of this size would take on a host, whether or not there is room."""
    if host.nodes:
        index = chance.randrange(len(host.nodes))
        found = {host.nodes[index].uuid: {'PCPU': size.cpus, 'MEMORY_MB': size.memory}}
        if size.vfs:
            found[host.nics[index].uuid] = {'SRIOV_NET_VF': size.vfs}
    else:
        found = {host.root.uuid: {'VCPU': size.cpus, 'MEMORY_MB': size.memory}}
    if size.gpus:
        found[chance.choice(host.gpus).uuid] = {'VGPU': size.gpus}
    found.setdefault(host.disk.uuid, {})['DISK_GB'] = size.disk
    return found
