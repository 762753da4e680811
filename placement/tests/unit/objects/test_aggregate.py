# SPDX-License-Identifier: Apache-2.0
"""Membership in aggregates (specification: aggregates)."""

import pytest

from placement import errors
from placement.db.schema import tables
from placement.objects import aggregate
from placement.tests.unit.objects.cloud import Cloud, uuid_of

RACK, ROW = uuid_of('rack'), uuid_of('row')


def test_aggregates_stay_when_nobody_is_a_member(cloud: Cloud) -> None:
    host = cloud.add('host')
    aggregate.replace(cloud.context, host, [RACK, ROW], 0)

    aggregate.replace(cloud.context, host, [], 1)

    assert set(cloud.rows(tables.placement_aggregates.c.uuid)) == {(RACK,), (ROW,)}


def test_replace_of_a_deleted_provider_raises_not_found(cloud: Cloud) -> None:
    host = cloud.add('host')
    cloud.provider('host').destroy()

    for generation in (None, 0):
        with pytest.raises(errors.ResourceProviderNotFound):
            aggregate.replace(cloud.context, host, [RACK], generation)
    assert cloud.rows(tables.placement_aggregates.c.uuid) == []
