# SPDX-License-Identifier: Apache-2.0
"""Sample clouds as data: the same providers and consumers for both services."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

PROJECT = '5a3c1c8e5ad14ba49f5d0cbd4b1f2f0e'
USER = '0c1f1bd8a1a94d6a8b0d2f0f4a9be3c1'
HOST_TRAITS = ('COMPUTE_NODE', 'COMPUTE_TRUSTED_CERTS', 'HW_CPU_X86_AVX', 'HW_CPU_X86_SSE42')
HOSTS_PER_AGGREGATE = 50
# So many sets of traits does a cloud have, where hosts have many.
TRAIT_SETS = 10

_NAMESPACE = uuid.UUID('6f0b3a94-5d0e-4b0e-9d55-6a3e7b8a1c11')


class Provider(NamedTuple):
    """A resource provider; its parent comes before it in a cloud."""

    uuid: str
    name: str
    inventories: Mapping[str, Mapping[str, Any]]
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    parent: str | None = None


class Consumer(NamedTuple):
    """A consumer with its allocations by provider and resource class."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]


class Cloud(NamedTuple):
    """The providers and consumers that are loaded before a measurement."""

    name: str
    providers: tuple[Provider, ...]
    consumers: tuple[Consumer, ...] = ()


class Plan(NamedTuple):
    """A cloud that is not generated yet, since a large one takes time and memory."""

    make: Callable[[int], Cloud]
    size: int


def uuid_of(name: str) -> str:
    """The same uuid for the same name, every time."""
    return str(uuid.uuid5(_NAMESPACE, name))


def inventory(total: int, ratio: float = 1.0, reserved: int = 0) -> dict[str, Any]:
    """An inventory with all its members, so that it equals the one read back."""
    return {
        'total': total, 'reserved': reserved, 'min_unit': 1, 'max_unit': total, 'step_size': 1,
        'allocation_ratio': ratio,
    }  # fmt: skip


def flat(count: int) -> Cloud:
    """Hosts without children, each with a consumer on it."""
    hosts = tuple(map(_host, range(count)))
    return Cloud(f'{count} hosts', hosts, tuple(map(_tenant, range(count), hosts)))


def different(count: int) -> Cloud:
    """The same hosts, of which each has an inventory that no other has."""
    cloud = flat(count)
    hosts = tuple(
        host._replace(
            inventories={
                **host.inventories,
                'MEMORY_MB': inventory(262144 + number, 1.5, reserved=512),
            }
        )
        for number, host in enumerate(cloud.providers)
    )
    return Cloud(f'{count} different hosts', hosts, cloud.consumers)


def with_traits(count: int, traits: int) -> Cloud:
    """The same hosts with so many traits each; neighbours differ in some of them."""
    added = traits - len(HOST_TRAITS)
    sets = [
        (*HOST_TRAITS, *(f'CUSTOM_TRAIT_{first + number:03}' for number in range(added)))
        for first in range(TRAIT_SETS)
    ]
    cloud = flat(count)
    hosts = tuple(
        host._replace(traits=sets[number % TRAIT_SETS])
        for number, host in enumerate(cloud.providers)
    )
    return Cloud(f'{count} hosts of {traits} traits', hosts, cloud.consumers)


def trees(count: int) -> Cloud:
    """Trees of seven providers: the host, its two NUMA nodes, two network cards under each."""
    providers = tuple(provider for number in range(count) for provider in _tree(number))
    return Cloud(f'{count} trees of seven', providers)


def trees_of_eight(count: int) -> Cloud:
    """The same trees with an accelerator in each."""
    graphics = {'VGPU': inventory(8)}
    providers = []
    for number in range(count):
        root, *beneath = _tree(number)
        name = f'{root.name}-accelerator'
        providers += [root, *beneath, Provider(uuid_of(name), name, graphics, parent=root.uuid)]
    return Cloud(f'{count} trees of eight', tuple(providers))


def wide(children: int) -> Cloud:
    """One host with that many children, each with one graphics unit."""
    return _wide(f'{children} children', children, units=1)


def roomy(children: int) -> Cloud:
    """One host with that many children, each with eight graphics units."""
    return _wide(f'{children} roomy children', children, units=8)


def host(number: int) -> str:
    """The uuid of a host of a flat cloud."""
    return uuid_of(f'host {number}')


def aggregate(number: int) -> str:
    """The uuid of the aggregate that a host of a flat cloud is in."""
    return uuid_of(f'aggregate {number // HOSTS_PER_AGGREGATE}')


def _host(number: int) -> Provider:
    return Provider(
        host(number),
        f'host-{number}',
        {
            'VCPU': inventory(64, 16.0),
            'MEMORY_MB': inventory(262144, 1.5, reserved=512),
            'DISK_GB': inventory(2000),
        },
        HOST_TRAITS,
        (aggregate(number),),
    )


def _tenant(number: int, provider: Provider) -> Consumer:
    size = number % 7 + 1
    used = {'VCPU': 4 * size, 'MEMORY_MB': 8192 * size, 'DISK_GB': 40 * size}
    return Consumer(uuid_of(f'tenant {number}'), {provider.uuid: used})


def _wide(name: str, children: int, units: int) -> Cloud:
    root = Provider(uuid_of(name), 'wide', {})
    graphics = {'VGPU': inventory(units)}
    beneath = tuple(
        Provider(uuid_of(f'{name} {n}'), f'unit-{n}', graphics, parent=root.uuid)
        for n in range(children)
    )
    return Cloud(name, (root, *beneath))


def _tree(number: int) -> Iterator[Provider]:
    root = uuid_of(f'tree {number}')
    yield Provider(root, f'tree-{number}', {'DISK_GB': inventory(2000)}, HOST_TRAITS)
    for side in range(2):
        node = uuid_of(f'tree {number} node {side}')
        cores = {'VCPU': inventory(32, 4.0), 'MEMORY_MB': inventory(131072)}
        yield Provider(node, f'tree-{number}-{side}', cores, ('HW_NUMA_ROOT',), parent=root)
        for network in 'AB':
            card = f'tree-{number}-{side}-{network}'
            ports = {'SRIOV_NET_VF': inventory(8)}
            yield Provider(uuid_of(card), card, ports, (f'CUSTOM_PHYSNET_{network}',), parent=node)
