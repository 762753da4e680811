# SPDX-License-Identifier: Apache-2.0
"""Inventories of a provider (specification: inventories)."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from placement import errors
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.tests.unit.objects.cloud import Cloud, uuid_of

HOST = uuid_of('host')


@pytest.mark.parametrize(
    ('body', 'may_be_empty', 'complaint'),
    [
        ({'total': 10, 'reserved': 11}, False, 'greater than or equal to total.'),
        ({'total': 10, 'allocation_ratio': -1}, True, 'greater than total.'),
        # Truncated towards zero, 0.4 and -0.4 are both nothing.
        ({'total': 1, 'allocation_ratio': 0.4}, False, 'greater than or equal to total.'),
        ({'total': 1, 'allocation_ratio': 0.4}, True, None),
        ({'total': 1, 'reserved': 2, 'allocation_ratio': 0.4}, True, None),
        ({'total': 3, 'allocation_ratio': 0.4}, False, None),
    ],
)
def test_the_capacity_must_not_be_negative_and_without_the_rule_not_zero(
    cloud: Cloud, body: Mapping[str, Any], may_be_empty: bool, complaint: str | None
) -> None:
    checked = InventoryList.from_bodies(cloud.context, {'VCPU': body})

    if complaint is None:
        checked.check_capacities(HOST, may_be_empty)
        return
    with pytest.raises(errors.InvalidInventoryCapacity) as raised:
        checked.check_capacities(HOST, may_be_empty)
    assert str(raised.value) == (
        f"Invalid inventory for 'VCPU' on resource provider '{HOST}'. "
        f'The reserved value is {complaint}'
    )


def test_the_largest_ratio_is_kept(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 2147483647, 'allocation_ratio': 3.40282e38})

    (row,) = InventoryList.list_by_provider(cloud.context, cloud.provider('host'))
    assert row.allocation_ratio == pytest.approx(3.40282e38)
    cloud.take('server', {'host': {'VCPU': 2147483647}})


def test_a_class_that_is_used_elsewhere_can_be_removed(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.add('other', VCPU=4)
    cloud.take('server', {'other': {'VCPU': 1}})

    cloud.give('host')

    assert not InventoryList.list_by_provider(cloud.context, cloud.provider('host')).objects


@pytest.mark.parametrize(
    'shrink',
    [
        lambda cloud, host: cloud.inventories(VCPU=2, DISK_GB=1).replace(host, host.generation),
        lambda cloud, host: cloud.inventories(VCPU=2).update_one(host, host.generation),
    ],
)
def test_inventory_that_shrinks_below_its_use_is_logged(
    cloud: Cloud,
    caplog: pytest.LogCaptureFixture,
    shrink: Callable[[Cloud, ResourceProvider], None],
) -> None:
    cloud.add('host', VCPU=4, DISK_GB=1)
    cloud.take('server', {'host': {'VCPU': 3}})

    with caplog.at_level(logging.WARNING):
        cloud.give('host', VCPU=3, DISK_GB=1)
        assert caplog.records == []
        shrink(cloud, cloud.provider('host'))

    (record,) = [r for r in caplog.records if 'over-capacity for VCPU' in r.getMessage()]
    assert (record.levelname, HOST in record.getMessage()) == ('WARNING', True)


def test_writes_cost_as_many_statements_for_many_classes_as_for_two(cloud: Cloud) -> None:
    def cost(*classes: str) -> int:
        cloud.give('host', **dict.fromkeys(classes[1:], 4))
        with cloud.statements() as statements:
            cloud.give('host', **dict.fromkeys(classes[:-1], 8))
        return len(statements)

    cloud.add('host')

    assert cost('VCPU', 'DISK_GB', 'PCPU') == cost(
        'MEMORY_MB', 'VGPU', 'FPGA', 'PGPU', 'NUMA_CORE', 'NUMA_SOCKET', 'PCI_DEVICE'
    )
