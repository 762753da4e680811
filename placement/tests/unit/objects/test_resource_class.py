# SPDX-License-Identifier: Apache-2.0
"""Resource classes and their ids (specification: resource_classes; data_model)."""

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import tables
from placement.objects.resource_class import ResourceClass
from placement.tests.unit.objects.cloud import Cloud


def make(cloud: Cloud, name: str) -> int:
    """The id of a new class."""
    ResourceClass.create(cloud.context, name)
    return ResourceClass.get_by_name(cloud.context, name).id


def test_a_custom_class_gets_one_above_the_highest_and_fills_no_gap(cloud: Cloud) -> None:
    make(cloud, 'CUSTOM_A')
    make(cloud, 'CUSTOM_B')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    assert make(cloud, 'CUSTOM_C') == 10002

    with cloud.database.writer() as connection:
        connection.execute(sa.insert(tables.resource_classes).values(id=20000, name='CUSTOM_X'))
    assert make(cloud, 'CUSTOM_D') == 20001


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
