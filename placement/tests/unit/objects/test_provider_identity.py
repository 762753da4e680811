# SPDX-License-Identifier: Apache-2.0
"""A provider, and all that belongs to it, after its uuid is changed."""

import pytest

from placement import errors
from placement.db.schema import own_tables, tables
from placement.db.statements import providers as statements
from placement.objects import aggregate, provider_identity
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.objects.trait import TraitList
from placement.tests.unit.objects.cloud import Cloud, uuid_of

OLD, NEW = uuid_of('host'), uuid_of('new')


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """A host with a child, a grandchild and a consumer, and another host."""
    cloud.add('host', VCPU=8)
    cloud.add('child', parent='host', VCPU=8)
    cloud.add('grandchild', parent='child', VCPU=8)
    cloud.add('other', VCPU=8)
    host = cloud.provider('host')
    TraitList.replace(cloud.context, host, ['HW_CPU_X86_AVX'], host.generation)
    aggregate.replace(cloud.context, host, [uuid_of('rack')], None)
    cloud.take('server', {'host': {'VCPU': 3}, 'other': {'VCPU': 1}})
    return cloud


def set_uuid(cloud: Cloud, old: str = OLD, new: str = NEW) -> ResourceProvider:
    return provider_identity.set_uuid(cloud.context, old, new)


def provider_with(cloud: Cloud, uuid: str) -> ResourceProvider:
    return ResourceProvider.get_by_uuid(cloud.context, uuid)


def test_provider_has_the_new_uuid_and_the_next_generation_and_all_else_stays(
    cloud: Cloud,
) -> None:
    host, before = cloud.provider('host'), cloud.everything()

    provider = set_uuid(cloud)

    assert (provider.id, provider.uuid, provider.name) == (host.id, NEW, 'host')
    assert provider.generation == host.generation + 1
    assert (provider.root_provider_uuid, provider.parent_provider_uuid) == (NEW, None)
    with pytest.raises(errors.ResourceProviderNotFound):
        cloud.provider('host')
    after, table = cloud.everything(), tables.resource_providers.name
    changed = {name for name, rows in after.items() if rows != before[name]}
    assert changed == {own_tables.change_feed.name, table}
    assert [row for row in after[table] if row[2] != host.id] == [
        row for row in before[table] if row[2] != host.id
    ]
    assert cloud.has('server') == {NEW: {'VCPU': 3}, uuid_of('other'): {'VCPU': 1}}
    child, grandchild = cloud.provider('child'), cloud.provider('grandchild')
    assert (child.parent_provider_uuid, child.root_provider_uuid) == (NEW, NEW)
    assert (grandchild.parent_provider_uuid, grandchild.root_provider_uuid) == (child.uuid, NEW)


def test_uuid_in_another_spelling_can_be_made_canonical(cloud: Cloud) -> None:
    loud = uuid_of('loud').upper()
    ResourceProvider.create(cloud.context, loud, 'loud')
    assert set_uuid(cloud, loud, loud.lower()).uuid == loud.lower()


def test_claim_for_the_former_uuid_is_refused(cloud: Cloud) -> None:
    generation = set_uuid(Cloud(cloud.database)).generation
    with pytest.raises(errors.UnknownAllocationProvider, match=OLD):
        cloud.take('late', {'host': {'VCPU': 1}})
    with pytest.raises(errors.UnknownAllocationProvider, match=OLD):
        cloud.take('late', {'host': {'VCPU': 1}, 'other': {'VCPU': 1}})
    assert provider_with(cloud, NEW).generation == generation
    assert not cloud.has('late')


def test_write_that_has_read_the_former_uuid_is_refused(cloud: Cloud) -> None:
    provider = cloud.provider('host')
    set_uuid(cloud)
    with pytest.raises(errors.ResourceProviderNotFound):
        InventoryList.remove(cloud.context, provider)
    with pytest.raises(errors.ResourceProviderNotFound):
        provider.destroy()


def test_parent_that_is_given_another_uuid_before_it_is_locked_is_unknown(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {OLD: cloud.provider('host').id}
    set_uuid(cloud)
    # As another transaction sees it that looked the parent up before.
    monkeypatch.setattr(statements, 'list_ids', lambda _connection, _uuids: ids)
    with pytest.raises(errors.ResourceProviderActionFailed, match='does not exist'):
        ResourceProvider.create(cloud.context, uuid_of('late'), 'late', OLD)
    with pytest.raises(errors.ResourceProviderActionFailed, match='does not exist'):
        cloud.provider('other').update('other', OLD, may_reparent=True)
