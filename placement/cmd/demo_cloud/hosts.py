# SPDX-License-Identifier: Apache-2.0
"""The hosts of the demonstration, and the plain values that its cloud consists of."""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Iterator, Mapping, Sequence

from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT, SHARING_TRAIT

_NAMESPACE = uuid.UUID('6f0b6a2e-3d0f-5b52-9a35-5c1c9b1f4d17')

#: Amounts of resource classes by the uuid of the provider that they are taken from.
Allocations = Mapping[str, Mapping[str, int]]


@functools.cache
def uuid_of(name: str) -> str:
    """The uuid of whatever has this name, the same each time."""
    return str(uuid.uuid5(_NAMESPACE, name))


@dataclasses.dataclass(frozen=True, slots=True)
class DemoInventory:
    """The inventory of one resource class, as the API names its members."""

    total: int
    reserved: int = 0
    allocation_ratio: float = 1.0
    max_unit: int | None = None

    @property
    def capacity(self) -> int:
        """The capacity of the inventory."""
        rule = Capacity(self.total, self.reserved, allocation_ratio=self.allocation_ratio)
        return rule.ceiling

    def body(self) -> dict[str, float]:
        """The members as a request has them."""
        return {
            'total': self.total,
            'reserved': self.reserved,
            'max_unit': self.total if self.max_unit is None else self.max_unit,
            'allocation_ratio': self.allocation_ratio,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class DemoProvider:
    """A resource provider; `aggregates` are names, of which `uuid_of` makes the uuids."""

    name: str
    inventories: Mapping[str, DemoInventory]
    traits: frozenset[str] = frozenset()
    aggregates: tuple[str, ...] = ()
    parent: DemoProvider | None = None

    @property
    def uuid(self) -> str:
        """The uuid of the provider, the same each time."""
        return uuid_of(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A tree of providers; `nodes`, `nics` and `gpus` are those below its root.

    `disk` is the provider that has the disks of its servers: its root, or one that shares.
    """

    root: DemoProvider
    disk: DemoProvider
    nodes: tuple[DemoProvider, ...] = ()
    nics: tuple[DemoProvider, ...] = ()
    gpus: tuple[DemoProvider, ...] = ()

    @property
    def providers(self) -> Sequence[DemoProvider]:
        """All providers of the tree, parents before children."""
        return (self.root, *self.nodes, *self.nics, *self.gpus)


@dataclasses.dataclass(frozen=True, slots=True)
class DemoConsumer:
    """A server, or a migration of one, with what it holds; `type` is None where it has none."""

    name: str
    project: str
    user: str
    type: str | None
    allocations: Allocations

    @property
    def uuid(self) -> str:
        """The uuid of the consumer, the same each time."""
        return uuid_of(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Cloud:
    """Everything that is to be written.

    `shrunk` are the inventories that providers have in the end, after the consumers came, where
    those differ from the first ones: by the name of the provider.
    """

    providers: Sequence[DemoProvider]
    consumers: Sequence[DemoConsumer]
    shrunk: Mapping[str, Mapping[str, DemoInventory]]


#: In MiB, as amounts of MEMORY_MB are.
GIB = 1024

COMPUTE = frozenset(
    {
        'COMPUTE_NODE',
        'COMPUTE_NET_ATTACH_INTERFACE',
        'COMPUTE_NET_VIF_MODEL_VIRTIO',
        'COMPUTE_STORAGE_BUS_VIRTIO',
        'COMPUTE_VOLUME_ATTACH_WITH_TAG',
        'HW_CPU_HYPERTHREADING',
        'HW_CPU_X86_AVX2',
        'HW_CPU_X86_SSE42',
        'HW_CPU_X86_VMX',
    }
)
AVX512 = frozenset({'HW_CPU_X86_AVX512F', 'HW_CPU_X86_AVX512VNNI'})
GPU_MODEL = 'CUSTOM_GPU_NVIDIA_A40'

#: Hosts whose operator has taken them out of service.
DISABLED_HOSTS = frozenset({'az1-cpu-077', 'az2-cpu-117', 'az4-cpu-012'})

STORAGE = DemoProvider(
    name='az2-ceph',
    inventories={'DISK_GB': DemoInventory(total=600_000, reserved=20_000, max_unit=8_000)},
    traits=frozenset({SHARING_TRAIT, 'STORAGE_DISK_SSD'}),
    aggregates=('az2',),
)


def list_hosts() -> list[Host]:
    """All hosts, in the order of their zones and names."""
    return [
        *(_cpu_host('az1', number) for number in range(1, 251)),
        *(_cpu_host('az2', number, STORAGE) for number in range(1, 251)),
        *(_cpu_host('az3', number) for number in range(1, 151)),
        *(_numa_host('az3', number) for number in range(1, 101)),
        *(_cpu_host('az4', number) for number in range(1, 191)),
        *(_gpu_host('az4', number) for number in range(1, 61)),
    ]


def _cpu_host(zone: str, number: int, storage: DemoProvider | None = None) -> Host:
    """A host without children; every third is of a newer kind."""
    is_newer = number % 3 == 0
    inventories = {
        'VCPU': DemoInventory(total=96 if is_newer else 64, allocation_ratio=2.0),
        'MEMORY_MB': DemoInventory(total=(768 if is_newer else 512) * GIB, reserved=16 * GIB),
    }
    if storage is None:
        inventories['DISK_GB'] = DemoInventory(total=7_000 if is_newer else 3_500, reserved=100)
    name = f'{zone}-cpu-{number:03}'
    traits = COMPUTE | AVX512 if is_newer else COMPUTE
    if name in DISABLED_HOSTS:
        traits |= {DISABLED_TRAIT}
    root = DemoProvider(name, inventories, traits, aggregates=(zone,))
    return Host(root, disk=storage or root)


def _numa_host(zone: str, number: int) -> Host:
    """A host for pinned servers: two NUMA nodes, each with a card that has virtual functions."""
    root = DemoProvider(
        f'{zone}-numa-{number:03}',
        {'DISK_GB': DemoInventory(total=3_500, reserved=100)},
        COMPUTE | AVX512,
        aggregates=(zone, 'pinned'),
    )
    nodes = tuple(_numa_nodes(root))
    nics = tuple(
        DemoProvider(
            f'{root.name}-node{index}-nic',
            {'SRIOV_NET_VF': DemoInventory(total=16)},
            frozenset({f'CUSTOM_PHYSNET_{"PUBLIC" if index == 0 else "STORAGE"}'}),
            parent=node,
        )
        for index, node in enumerate(nodes)
    )
    return Host(root, disk=root, nodes=nodes, nics=nics)


def _numa_nodes(root: DemoProvider) -> Iterator[DemoProvider]:
    for index in range(2):
        yield DemoProvider(
            f'{root.name}-node{index}',
            {
                'PCPU': DemoInventory(total=32, reserved=2),
                'MEMORY_MB': DemoInventory(total=256 * GIB, reserved=8 * GIB),
            },
            frozenset({'HW_NUMA_ROOT'}),
            parent=root,
        )


def _gpu_host(zone: str, number: int) -> Host:
    """A host with four GPUs, each of which can be divided into eight."""
    root = DemoProvider(
        f'{zone}-gpu-{number:03}',
        {
            'VCPU': DemoInventory(total=128),
            'MEMORY_MB': DemoInventory(total=1024 * GIB, reserved=32 * GIB),
            'DISK_GB': DemoInventory(total=14_000, reserved=100),
        },
        # No AVX-512: one of the problems to find.
        COMPUTE,
        aggregates=(zone, 'gpu'),
    )
    gpus = tuple(
        DemoProvider(
            f'{root.name}-gpu{index}',
            {'VGPU': DemoInventory(total=8, max_unit=1)},
            frozenset({GPU_MODEL, 'HW_GPU_API_VULKAN'}),
            parent=root,
        )
        for index in range(4)
    )
    return Host(root, disk=root, gpus=gpus)
