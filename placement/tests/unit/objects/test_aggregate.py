# SPDX-License-Identifier: Apache-2.0
"""Membership in aggregates (specification: aggregates)."""

import pytest

from placement import errors
from placement.db.schema import tables
from placement.objects import aggregate
from placement.tests.unit.objects.cloud import Cloud, uuid_of

RACK, ROW = uuid_of('rack'), uuid_of('row')


def members(cloud: Cloud, name: str = 'host') -> set[str]:
    return set(aggregate.list_by_provider(cloud.context, cloud.provider(name)))


def test_aggregates_are_replaced(cloud: Cloud) -> None:
    host = cloud.add('host')

    aggregate.replace(cloud.context, host, [RACK], 0)
    aggregate.replace(cloud.context, host, [ROW], 1)

    assert members(cloud) == {ROW}
    assert host.generation == 2 == cloud.generation('host')


def test_aggregates_stay_when_nobody_is_a_member(cloud: Cloud) -> None:
    host = cloud.add('host')
    aggregate.replace(cloud.context, host, [RACK, ROW], 0)

    aggregate.replace(cloud.context, host, [], 1)

    assert members(cloud) == set()
    assert set(cloud.rows(tables.placement_aggregates.c.uuid)) == {(RACK,), (ROW,)}


def test_an_aggregate_is_stored_once(cloud: Cloud) -> None:
    for name in ('host', 'other'):
        aggregate.replace(cloud.context, cloud.add(name), [RACK], 0)

    assert members(cloud) == members(cloud, 'other') == {RACK}
    assert cloud.rows(tables.placement_aggregates.c.uuid) == [(RACK,)]


def test_uuids_in_another_spelling_are_another_aggregate(cloud: Cloud) -> None:
    spellings = [RACK, RACK.upper(), RACK.replace('-', '')]

    aggregate.replace(cloud.context, cloud.add('host'), spellings, 0)

    assert members(cloud) == set(spellings)


def test_a_stale_generation_is_refused(cloud: Cloud) -> None:
    host = cloud.add('host')
    before = cloud.everything()

    with pytest.raises(errors.ResourceProviderChanged) as raised:
        aggregate.replace(cloud.context, host, [RACK], 1)

    assert str(raised.value) == (
        "Resource provider's generation already changed. "
        'Please update the generation and try again.'
    )
    assert cloud.everything() == before


def test_replace_without_a_generation_neither_compares_nor_increments_it(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=1)

    aggregate.replace(cloud.context, host, [RACK], None)

    assert members(cloud) == {RACK}
    assert cloud.generation('host') == 1


def test_replace_of_a_deleted_provider_raises_not_found(cloud: Cloud) -> None:
    host = cloud.add('host')
    cloud.provider('host').destroy()

    for generation in (None, 0):
        with pytest.raises(errors.ResourceProviderNotFound):
            aggregate.replace(cloud.context, host, [RACK], generation)
    assert cloud.rows(tables.placement_aggregates.c.uuid) == []
