# SPDX-License-Identifier: Apache-2.0
"""Providers and their trees (specification: resource_providers)."""

import pytest

from placement import errors
from placement.db.schema import tables
from placement.db.statements.provider_filters import ProviderFilters
from placement.objects import aggregate, resource_provider
from placement.objects.trait import TraitList
from placement.schemas.common import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of


def test_a_new_root_was_updated_and_a_new_child_was_not(cloud: Cloud) -> None:
    root, child = cloud.add('root'), cloud.add('child', parent='root')

    assert root.updated_at is not None
    assert child.updated_at is None
    assert child.created_at is not None


def test_update_of_a_deleted_provider_raises_not_found(cloud: Cloud) -> None:
    host = cloud.add('host')
    cloud.provider('host').destroy()

    with pytest.raises(errors.ResourceProviderNotFound):
        host.update('host', NOT_SENT, may_reparent=True)


def test_destroy_deletes_inventories_aggregates_and_traits(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)
    aggregate.replace(cloud.context, host, [uuid_of('rack')], None)
    TraitList.replace(cloud.context, host, ['HW_CPU_X86_AVX'], cloud.generation('host'))

    cloud.provider('host').destroy()

    for table in (
        tables.resource_providers,
        tables.inventories,
        tables.resource_provider_aggregates,
        tables.resource_provider_traits,
    ):
        assert cloud.rows(*table.primary_key.columns[:1]) == []
    assert cloud.rows(tables.placement_aggregates.c.uuid) == [(uuid_of('rack'),)]


def test_children_are_reported_before_allocations(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.add('child', parent='host')
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.ResourceProviderHasChildren):
        cloud.provider('host').destroy()


def test_a_list_takes_one_statement_however_long_it_is(cloud: Cloud) -> None:
    for name in ('one', 'two', 'three'):
        cloud.add(name)

    with cloud.statements() as statements:
        resource_provider.list_by_filters(cloud.context, ProviderFilters())

    assert len(statements) == 1


def test_nobody_has_room_for_an_amount_beyond_what_a_column_holds(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 4, 'allocation_ratio': 1e30})

    filters = ProviderFilters(resources={'VCPU': 2**63})
    assert resource_provider.list_by_filters(cloud.context, filters) == []
