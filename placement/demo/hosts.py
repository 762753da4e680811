# SPDX-License-Identifier: Apache-2.0
"""The 1,000 hosts of the demonstration, in four zones, and the storage that one zone shares."""

from __future__ import annotations

from collections.abc import Iterator

from placement.demo.model import Host, Inventory, Provider
from placement.search.model.kind import DISABLED_TRAIT, SHARING_TRAIT

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

STORAGE = Provider(
    name='az2-ceph',
    inventories={'DISK_GB': Inventory(total=600_000, reserved=20_000, max_unit=8_000)},
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


def _cpu_host(zone: str, number: int, storage: Provider | None = None) -> Host:
    """A host without children; every third is of a newer kind."""
    is_newer = number % 3 == 0
    inventories = {
        'VCPU': Inventory(total=96 if is_newer else 64, allocation_ratio=2.0),
        'MEMORY_MB': Inventory(total=(768 if is_newer else 512) * GIB, reserved=16 * GIB),
    }
    if storage is None:
        inventories['DISK_GB'] = Inventory(total=7_000 if is_newer else 3_500, reserved=100)
    name = f'{zone}-cpu-{number:03}'
    traits = COMPUTE | AVX512 if is_newer else COMPUTE
    if name in DISABLED_HOSTS:
        traits |= {DISABLED_TRAIT}
    root = Provider(name, inventories, traits, aggregates=(zone,))
    return Host(root, disk=storage or root)


def _numa_host(zone: str, number: int) -> Host:
    """A host for pinned servers: two NUMA nodes, each with a card that has virtual functions."""
    root = Provider(
        f'{zone}-numa-{number:03}',
        {'DISK_GB': Inventory(total=3_500, reserved=100)},
        COMPUTE | AVX512,
        aggregates=(zone, 'pinned'),
    )
    nodes = tuple(_numa_nodes(root))
    nics = tuple(
        Provider(
            f'{root.name}-node{index}-nic',
            {'SRIOV_NET_VF': Inventory(total=16)},
            frozenset({f'CUSTOM_PHYSNET_{"PUBLIC" if index == 0 else "STORAGE"}'}),
            parent=node,
        )
        for index, node in enumerate(nodes)
    )
    return Host(root, disk=root, nodes=nodes, nics=nics)


def _numa_nodes(root: Provider) -> Iterator[Provider]:
    for index in range(2):
        yield Provider(
            f'{root.name}-node{index}',
            {
                'PCPU': Inventory(total=32, reserved=2),
                'MEMORY_MB': Inventory(total=256 * GIB, reserved=8 * GIB),
            },
            frozenset({'HW_NUMA_ROOT'}),
            parent=root,
        )


def _gpu_host(zone: str, number: int) -> Host:
    """A host with four GPUs, each of which can be divided into eight."""
    root = Provider(
        f'{zone}-gpu-{number:03}',
        {
            'VCPU': Inventory(total=128),
            'MEMORY_MB': Inventory(total=1024 * GIB, reserved=32 * GIB),
            'DISK_GB': Inventory(total=14_000, reserved=100),
        },
        # No AVX-512: one of the problems to find.
        COMPUTE,
        aggregates=(zone, 'gpu'),
    )
    gpus = tuple(
        Provider(
            f'{root.name}-gpu{index}',
            {'VGPU': Inventory(total=8, max_unit=1)},
            frozenset({GPU_MODEL, 'HW_GPU_API_VULKAN'}),
            parent=root,
        )
        for index in range(4)
    )
    return Host(root, disk=root, gpus=gpus)
