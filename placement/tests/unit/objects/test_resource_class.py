# SPDX-License-Identifier: Apache-2.0
"""Resource classes and their ids (specification: resource_classes; data_model)."""

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import tables
from placement.db.schema.own_tables import class_ids
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

    with cloud.database.engine.begin() as connection:
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


def test_no_id_is_given_to_a_second_class(cloud: Cloud) -> None:
    ids = []
    for name in ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_A'):
        ResourceClass.create(cloud.context, name)
        created = ResourceClass.get_by_name(cloud.context, name)
        created.destroy()
        ids.append(created.id)
    with cloud.database.engine.begin() as connection:
        row = {'id': 10_007, 'name': 'CUSTOM_UPSTREAM'}
        connection.execute(sa.insert(tables.resource_classes), row)
    ResourceClass.create(cloud.context, 'CUSTOM_A')
    # Upstream has given out an id that has no row of its own yet.
    cloud.add('host', CUSTOM_UPSTREAM=1, CUSTOM_A=1)
    cloud.give('host', VCPU=1)
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_UPSTREAM').destroy()
    ids.append(ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').id)

    assert ids == [10_000, 10_001, 10_002, 10_008]
    assert cloud.rows(class_ids.c.id) == [
        (one,) for one in (10_000, 10_001, 10_002, 10_007, 10_008)
    ]
    assert cloud.rows(class_ids.c.changes) == [(1,), (1,), (1,), (2,), (1,)]


def test_a_write_through_a_deleted_class_does_not_reach_the_one_with_its_id(
    cloud: Cloud,
) -> None:
    ResourceClass.create(cloud.context, 'CUSTOM_A')
    late = ResourceClass.get_by_name(cloud.context, 'CUSTOM_A')
    ResourceClass.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    for name in (None, 'CUSTOM_B'):
        if name is not None:
            # As upstream does beside this service.
            with cloud.database.engine.begin() as connection:
                row = {'id': late.id, 'name': name}
                connection.execute(sa.insert(tables.resource_classes), row)
        before = cloud.everything()

        with pytest.raises(errors.ResourceClassNotFound):
            late.destroy()
        with pytest.raises(errors.ResourceClassNotFound):
            late.rename('CUSTOM_C')

        assert cloud.everything() == before
