# SPDX-License-Identifier: Apache-2.0
"""Resource classes and their ids (specification: resource_classes; data_model)."""

import os_resource_classes
import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import tables
from placement.objects import resource_class
from placement.objects.resource_class import ResourceClass
from placement.tests.unit.objects.cloud import Cloud, uuid_of


def make(cloud: Cloud, name: str) -> int:
    """The id of a new class."""
    ResourceClass.create(cloud.context, name)
    return ResourceClass.get_by_name(cloud.context, name).id


def test_standard_classes_have_their_position_as_id(cloud: Cloud) -> None:
    rows = resource_class.list_all(cloud.context)

    assert [row.name for row in rows] == list(os_resource_classes.STANDARDS)
    assert [row.id for row in rows] == list(range(len(rows)))
    assert ResourceClass.get_by_name(cloud.context, 'VCPU').id == 0


def test_custom_classes_count_from_ten_thousand(cloud: Cloud) -> None:
    assert make(cloud, 'CUSTOM_A') == 10000
    assert make(cloud, 'CUSTOM_B') == 10001


def test_a_custom_class_gets_one_above_the_highest(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')
    make(cloud, 'CUSTOM_B')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()

    assert make(cloud, 'CUSTOM_C') == 10002


def test_a_new_class_does_not_fill_a_gap_in_the_ids(cloud: Cloud) -> None:
    with cloud.database.writer() as connection:
        connection.execute(sa.insert(tables.resource_classes).values(id=20000, name='CUSTOM_X'))

    assert make(cloud, 'CUSTOM_A') == 20001


def test_a_class_is_made_once(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')

    with pytest.raises(errors.ResourceClassExists) as raised:
        make(cloud, 'CUSTOM_A')

    assert str(raised.value) == 'Conflicting resource class already exists: CUSTOM_A'
    assert raised.value.code == 'placement.undefined_code'


def test_ensure_returns_whether_it_created_the_class(cloud: Cloud) -> None:
    assert ResourceClass.ensure(cloud.context, 'CUSTOM_A') is True
    assert ResourceClass.ensure(cloud.context, 'CUSTOM_A') is False


def test_an_unknown_class_is_not_found(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceClassNotFound) as raised:
        ResourceClass.get_by_name(cloud.context, 'CUSTOM_A')

    assert str(raised.value) == 'No such resource class CUSTOM_A.'


def test_inventories_and_allocations_follow_a_renamed_class(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')
    cloud.add('host', CUSTOM_A=4)
    cloud.take('server', {'host': {'CUSTOM_A': 1}})

    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').rename('CUSTOM_B')

    assert cloud.has('server') == {uuid_of('host'): {'CUSTOM_B': 1}}
    with pytest.raises(errors.ResourceClassNotFound):
        cloud.take('server', {'host': {'CUSTOM_A': 1}})


def test_a_class_may_be_renamed_to_its_own_name(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')

    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').rename('CUSTOM_A')

    assert ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').id == 10000


def test_a_class_cannot_take_the_name_of_another(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')
    make(cloud, 'CUSTOM_B')

    with pytest.raises(errors.ResourceClassExists) as raised:
        ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').rename('CUSTOM_B')

    assert str(raised.value) == 'Resource class already exists: CUSTOM_B'


@pytest.mark.parametrize('name', ['VCPU', 'FPGA'])
def test_a_standard_class_cannot_be_renamed_or_deleted(cloud: Cloud, name: str) -> None:
    standard = ResourceClass.get_by_name(cloud.context, name)

    with pytest.raises(errors.StandardResourceClass) as raised:
        standard.rename('CUSTOM_A')
    assert str(raised.value) == f'Cannot update standard resource class {name}'

    with pytest.raises(errors.StandardResourceClass) as raised:
        standard.destroy()
    assert str(raised.value) == f'Cannot delete standard resource class {name}.'


def test_a_class_with_inventory_cannot_be_deleted(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')
    cloud.add('host', CUSTOM_A=4)

    with pytest.raises(errors.ResourceClassInUse) as raised:
        ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    assert str(raised.value) == (
        'Cannot delete resource class CUSTOM_A. Class is in use in inventory.'
    )

    cloud.give('host')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    assert len(resource_class.list_all(cloud.context)) == len(os_resource_classes.STANDARDS)


def test_a_write_through_a_class_that_was_recreated_raises_not_found(
    cloud: Cloud,
) -> None:
    make(cloud, 'CUSTOM_A')
    make(cloud, 'CUSTOM_B')
    cloud.add('host', CUSTOM_A=4)
    cloud.give('host')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    assert make(cloud, 'CUSTOM_A') == 10002

    cloud.give('host', CUSTOM_A=4)

    assert cloud.rows(tables.inventories.c.resource_class_id) == [(10002,)]


def test_a_write_through_a_deleted_class_does_not_reach_the_one_with_its_id(
    cloud: Cloud,
) -> None:
    ResourceClass.create(cloud.context, 'CUSTOM_A')
    late = ResourceClass.get_by_name(cloud.context, 'CUSTOM_A')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    for name in (None, 'CUSTOM_B'):
        if name is not None:
            ResourceClass.create(cloud.context, name)
            assert ResourceClass.get_by_name(cloud.context, name).id == late.id
        before = cloud.everything()

        with pytest.raises(errors.ResourceClassNotFound):
            late.destroy()
        with pytest.raises(errors.ResourceClassNotFound):
            late.rename('CUSTOM_C')

        assert cloud.everything() == before
