# SPDX-License-Identifier: Apache-2.0
"""Inventories of a provider (specification: inventories)."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from placement import errors
from placement.objects import inventory
from placement.objects.inventory import Inventory
from placement.objects.resource_provider import ResourceProvider
from placement.tests.unit.objects.cloud import Cloud, uuid_of

HOST = uuid_of('host')


def shown(cloud: Cloud, name: str = 'host') -> dict[str, dict[str, Any]]:
    """The inventories of a provider, their members by class."""
    rows = inventory.list_by_provider(cloud.context, cloud.provider(name))
    return {
        row.resource_class: {member: getattr(row, member) for member in inventory.MEMBERS}
        for row in rows
    }


def totals(cloud: Cloud) -> dict[str, int]:
    """The totals of the host, by class."""
    return {name: members['total'] for name, members in shown(cloud).items()}


# Bodies


def test_an_omitted_member_has_its_default(cloud: Cloud) -> None:
    cloud.add('host', VCPU=10)

    assert shown(cloud) == {
        'VCPU': {
            'total': 10,
            'reserved': 0,
            'min_unit': 1,
            'max_unit': 2147483647,
            'step_size': 1,
            'allocation_ratio': 1.0,
        }
    }


def test_an_omitted_member_does_not_keep_its_value(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 10, 'reserved': 2, 'allocation_ratio': 16.0})

    cloud.give('host', VCPU=11)

    assert shown(cloud)['VCPU']['reserved'] == 0
    assert shown(cloud)['VCPU']['allocation_ratio'] == 1.0


def test_a_generation_beside_the_members_is_no_member(cloud: Cloud) -> None:
    body = {'total': 10, 'resource_provider_generation': 99}

    assert Inventory.from_body(cloud.context, 'VCPU', body).total == 10


@pytest.mark.parametrize(
    ('body', 'may_be_empty', 'complaint'),
    [
        ({'total': 10}, False, None),
        ({'total': 10, 'reserved': 9}, False, None),
        ({'total': 10, 'reserved': 10}, False, 'greater than or equal to total.'),
        ({'total': 10, 'reserved': 10}, True, None),
        ({'total': 10, 'reserved': 11}, False, 'greater than or equal to total.'),
        ({'total': 10, 'reserved': 11}, True, 'greater than total.'),
        ({'total': 10, 'allocation_ratio': 0}, False, 'greater than or equal to total.'),
        ({'total': 10, 'allocation_ratio': 0}, True, None),
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
    checked = Inventory.from_body(cloud.context, 'VCPU', body)

    if complaint is None:
        checked.check_capacity(HOST, may_be_empty)
        return
    with pytest.raises(errors.InvalidInventoryCapacity) as raised:
        checked.check_capacity(HOST, may_be_empty)
    assert str(raised.value) == (
        f"Invalid inventory for 'VCPU' on resource provider '{HOST}'. "
        f'The reserved value is {complaint}'
    )


def test_the_largest_ratio_is_kept(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 2147483647, 'allocation_ratio': 3.40282e38})

    assert shown(cloud)['VCPU']['allocation_ratio'] == pytest.approx(3.40282e38)
    cloud.take('server', {'host': {'VCPU': 2147483647}})


# Replacing


def test_a_replacement_adds_changes_and_removes(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4, DISK_GB=100)

    cloud.give('host', VCPU=8, MEMORY_MB=2048)

    assert totals(cloud) == {'VCPU': 8, 'MEMORY_MB': 2048}


def test_a_replacement_can_be_empty(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)

    cloud.give('host')

    assert totals(cloud) == {}


@pytest.mark.parametrize('generation', [0, 2, -1])
def test_a_stale_generation_is_refused(cloud: Cloud, generation: int) -> None:
    host = cloud.add('host', VCPU=4)
    before = cloud.everything()

    for write in (cloud.inventories(VCPU=8).replace, cloud.inventories(VCPU=8).update_one):
        with pytest.raises(errors.ResourceProviderGenerationConflict) as raised:
            write(host, generation)
        assert str(raised.value) == 'resource provider generation conflict'
        assert raised.value.code == 'placement.concurrent_update'
    assert cloud.everything() == before


def test_a_replacement_updates_the_generation_of_the_object(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    cloud.inventories(VCPU=8).replace(host, 1)

    assert host.generation == 2 == cloud.generation('host')


def test_a_class_in_use_cannot_be_removed(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4, DISK_GB=10, MEMORY_MB=10)
    cloud.take('server', {'host': {'DISK_GB': 1, 'VCPU': 1}})
    before = cloud.everything()

    with pytest.raises(errors.InventoryInUse) as raised:
        cloud.give('host', PCPU=1)

    assert str(raised.value) == (
        f"Inventory for 'VCPU, DISK_GB' on resource provider '{HOST}' in use."
    )
    assert raised.value.code == 'placement.inventory.inuse'
    assert cloud.everything() == before


def test_a_class_in_use_can_be_changed(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4, DISK_GB=10)
    cloud.take('server', {'host': {'VCPU': 1}})

    cloud.give('host', VCPU=8)

    assert totals(cloud) == {'VCPU': 8}


def test_a_class_that_is_used_elsewhere_can_be_removed(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.add('other', VCPU=4)
    cloud.take('server', {'other': {'VCPU': 1}})

    cloud.give('host')

    assert totals(cloud) == {}


def test_an_unknown_class_is_refused(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)
    unknown = cloud.inventories(VCPU=1, CUSTOM_NOBODY=1)

    for write in (lambda: unknown.replace(host, 1), lambda: unknown.add(host)):
        with pytest.raises(errors.ResourceClassNotFound, match='No such resource class CUSTOM_'):
            write()
    assert totals(cloud) == {'VCPU': 4}


# Shrinking


def is_over_capacity(message: str) -> bool:
    return 'is now over-capacity for VCPU' in message


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
        shrink(cloud, cloud.provider('host'))

    assert totals(cloud)['VCPU'] == 2
    (record,) = [r for r in caplog.records if is_over_capacity(r.getMessage())]
    assert (record.levelname, HOST in record.getMessage()) == ('WARNING', True)


def test_inventory_that_shrinks_to_its_use_is_not_logged(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.add('host', VCPU=4)
    cloud.take('server', {'host': {'VCPU': 3}})

    with caplog.at_level(logging.WARNING):
        cloud.give('host', VCPU=3)

    assert caplog.records == []


# One class


def test_a_class_is_added_besides_the_others(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    cloud.inventories(DISK_GB=10).add(host)

    assert totals(cloud) == {'VCPU': 4, 'DISK_GB': 10}
    assert host.generation == 2


def test_a_class_that_exists_cannot_be_added(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    with pytest.raises(errors.InventoryExists) as raised:
        cloud.inventories(VCPU=8).add(host)

    assert raised.value.code == 'placement.concurrent_update'
    assert totals(cloud) == {'VCPU': 4}


def test_a_class_without_inventory_cannot_be_changed(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    with pytest.raises(errors.InventoryNotFound) as raised:
        cloud.inventories(DISK_GB=10).update_one(host, host.generation)

    assert str(raised.value) == 'No inventory of class DISK_GB found.'
    assert totals(cloud) == {'VCPU': 4}


def test_a_change_of_one_class_leaves_the_others(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4, DISK_GB=10)

    cloud.inventories(DISK_GB=20).update_one(host, host.generation)

    assert totals(cloud) == {'VCPU': 4, 'DISK_GB': 20}


def test_one_class_can_be_found(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    found = Inventory.find(cloud.context, host, 'VCPU')

    assert found is not None
    assert (found.total, found.resource_class) == (4, 'VCPU')
    assert Inventory.find(cloud.context, host, 'DISK_GB') is None
    assert Inventory.find(cloud.context, host, 'no class') is None


def test_one_class_can_be_removed(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4, DISK_GB=10)

    inventory.remove_one(cloud.context, host, 'VCPU')

    assert totals(cloud) == {'DISK_GB': 10}
    assert cloud.generation('host') == 2


@pytest.mark.parametrize(
    ('resource_class', 'refusal'),
    [
        ('CUSTOM_NOBODY', errors.ResourceClassNotFound),
        ('DISK_GB', errors.InventoryNotFound),
        ('VCPU', errors.InventoryInUse),
    ],
)
def test_missing_inventory_and_inventory_in_use_cannot_be_removed(
    cloud: Cloud, resource_class: str, refusal: type[errors.PlacementError]
) -> None:
    host = cloud.add('host', VCPU=4)
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(refusal):
        inventory.remove_one(cloud.context, host, resource_class)

    assert totals(cloud) == {'VCPU': 4}
    assert cloud.generation('host') == 2


def test_everything_can_be_removed(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4, DISK_GB=10)

    inventory.clear(cloud.context, host)

    assert totals(cloud) == {}


def test_everything_cannot_be_removed_while_some_of_it_is_in_use(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4, DISK_GB=10)
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.InventoryInUse):
        inventory.clear(cloud.context, host)

    assert totals(cloud) == {'VCPU': 4, 'DISK_GB': 10}


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
