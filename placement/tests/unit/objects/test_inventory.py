# SPDX-License-Identifier: Apache-2.0
"""Inventories of a provider (specification: inventories)."""

import logging
from collections.abc import Callable

import pytest

from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.tests.unit.objects.cloud import Cloud, uuid_of

HOST = uuid_of('host')


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
