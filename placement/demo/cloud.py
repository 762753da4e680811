# SPDX-License-Identifier: Apache-2.0
"""The whole cloud of the demonstration, its problems included."""

from __future__ import annotations

import dataclasses

from placement.demo.hosts import GIB, STORAGE, list_hosts
from placement.demo.model import Cloud, Consumer, Inventory
from placement.demo.servers import list_servers

SEED = 17

#: NUMA nodes that lost half of their memory while servers were using it.
SHRUNK = {
    name: {
        'PCPU': Inventory(total=32, reserved=2),
        'MEMORY_MB': Inventory(total=128 * GIB, reserved=8 * GIB),
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
            Consumer(
                name=f'{name} migration',
                project='project-web',
                user='user-of-project-web',
                type='MIGRATION',
                allocations={roots[name].uuid: resources},
            )
        )
    providers = [STORAGE, *(one for host in hosts for one in host.providers)]
    return Cloud(providers, consumers, SHRUNK)


def _with_faults(server: Consumer, index: int) -> Consumer:
    if server.name.partition(' ')[0] in HOSTS_OF_DELETED_PROJECT:
        server = dataclasses.replace(server, project=DELETED_PROJECT)
    if index % WITHOUT_TYPE_EVERY == 7:
        server = dataclasses.replace(server, type=None)
    return server
