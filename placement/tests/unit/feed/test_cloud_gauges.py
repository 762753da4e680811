# SPDX-License-Identifier: Apache-2.0
"""The sums of a cloud."""

import math

from placement.feed import cloud_gauges
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search import cloud as clouds
from placement.tests.unit.search.cloud import provider


def gauges(snapshot: Snapshot) -> dict[str, float]:
    """The values by name, or by name and resource class."""
    return {
        sample.name + ''.join(f' {value}' for value in sample.labels.values()): sample.value
        for metric in cloud_gauges.read(snapshot)
        for sample in metric.samples
    }


def test_inventories_are_added_up_by_class() -> None:
    found = gauges(
        clouds.cloud(
            provider('a', VCPU={'total': 8, 'reserved': 2, 'allocation_ratio': 4.0, 'used': 3}),
            provider('b', VCPU={'total': 4, 'used': 5}, DISK_GB=100),
            provider('c', parent='a', VCPU={'total': 2, 'used': 3, 'allocation_ratio': 1.5}),
            provider('d', VGPU={'total': 8, 'allocation_ratio': math.inf}),
        )
    )
    # A ratio without bound makes a number.
    assert math.isfinite(found.pop('placement_resource_capacity VGPU'))
    found = {name: value for name, value in found.items() if not name.endswith('VGPU')}

    assert found == {
        'placement_resource_providers': 4,
        'placement_provider_trees': 3,
        'placement_disabled_hosts': 0,
        'placement_resource_inventory VCPU': 14,
        'placement_resource_inventory DISK_GB': 100,
        'placement_resource_reserved VCPU': 2,
        'placement_resource_reserved DISK_GB': 0,
        'placement_resource_capacity VCPU': 24 + 4 + 3,
        'placement_resource_capacity DISK_GB': 100,
        'placement_resource_used VCPU': 11,
        'placement_resource_used DISK_GB': 0,
        'placement_inventories_over_capacity VCPU': 1,
        'placement_inventories_over_capacity DISK_GB': 0,
    }


def test_hosts_count_as_disabled_by_the_trait_of_their_roots() -> None:
    found = gauges(
        clouds.cloud(
            provider('a', traits='COMPUTE_STATUS_DISABLED'),
            provider('b'),
            provider('c', parent='b', traits='COMPUTE_STATUS_DISABLED'),
        )
    )

    assert found['placement_disabled_hosts'] == 1
    # Without inventories there are no classes.
    assert not any('resource_inventory' in name for name in found)


def test_aggregates_with_a_name_have_what_is_in_trees_of_their_members() -> None:
    snapshot = clouds.cloud(
        provider('host1', aggregates='a', VCPU={'total': 8, 'used': 2}),
        provider('gpu1', parent='host1', VGPU=4),
        provider('host2', aggregates='a b', VCPU=16),
        provider('host3', aggregates='c', VCPU=32),
    )
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in cloud_gauges.read_aggregates(
            snapshot, {'a': 'zone1', 'b': 'zone1', 'x': 'empty'}
        )
        for sample in metric.samples
    }

    assert found == {
        ('placement_aggregate_inventory', 'zone1', 'VCPU'): 24,
        ('placement_aggregate_inventory', 'zone1', 'VGPU'): 4,
        ('placement_aggregate_reserved', 'zone1', 'VCPU'): 0,
        ('placement_aggregate_reserved', 'zone1', 'VGPU'): 0,
        ('placement_aggregate_capacity', 'zone1', 'VCPU'): 24,
        ('placement_aggregate_capacity', 'zone1', 'VGPU'): 4,
        ('placement_aggregate_used', 'zone1', 'VCPU'): 2,
        ('placement_aggregate_used', 'zone1', 'VGPU'): 0,
    }


def test_providers_have_the_names_and_labels_of_openstack_exporter() -> None:
    snapshot = clouds.cloud(
        provider('a', VCPU={'total': 8, 'reserved': 1, 'allocation_ratio': 1.5, 'used': 3}),
        provider('new', VCPU=1),
    )
    found = [
        (sample.name.removeprefix('openstack_placement_resource_'), sample.labels, sample.value)
        for metric in cloud_gauges.read_providers(snapshot, {1: 'cmp-1.example'})
        for sample in metric.samples
    ]

    labels = {'hostname': 'cmp-1.example', 'resourcetype': 'VCPU'}
    assert found == [
        ('total', labels, 8.0),
        ('reserved', labels, 1.0),
        ('allocation_ratio', labels, 1.5),
        ('usage', labels, 3.0),
    ]
