# SPDX-License-Identifier: Apache-2.0
"""A provider, and all that belongs to it, after its uuid is changed."""

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import own_tables, tables
from placement.db.statements import providers as statements
from placement.feed.keeper import SnapshotKeeper
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


def test_search_finds_it_by_the_new_uuid_and_not_by_the_old_one(cloud: Cloud) -> None:
    keeper = SnapshotKeeper(cloud.database)
    keeper.current()

    set_uuid(cloud)

    snapshot = keeper.current()
    found = snapshot.find_by_uuid(NEW)
    assert found is not None
    assert snapshot.find_by_uuid(OLD) is None
    tree = [(one.uuid, one.parent_uuid, one.root_uuid) for one in snapshot.tree(found.id).members]
    child = uuid_of('child')
    assert tree == [(NEW, None, NEW), (child, NEW, NEW), (uuid_of('grandchild'), child, NEW)]


@pytest.mark.parametrize(
    ('name', 'told'), [('host', {'child', 'grandchild'}), ('child', {'grandchild'}), ('other', {})]
)
def test_feed_tells_the_former_uuid_and_whoever_shows_it(
    cloud: Cloud, name: str, told: set[str]
) -> None:
    ids = {cloud.provider(one).id: one for one in ('host', 'child', 'grandchild', 'other')}
    feed = own_tables.change_feed.c
    ((before,),) = cloud.rows(sa.func.max(feed.id))

    set_uuid(cloud, uuid_of(name))

    entries = cloud.rows(feed.provider_id, feed.id > before)
    former = cloud.rows(feed.deleted_uuid, feed.id > before, feed.deleted_uuid.is_not(None))
    assert {ids[one] for (one,) in entries} == {name, *told}
    assert former == [(uuid_of(name),)]


@pytest.mark.parametrize(
    ('old', 'new', 'error', 'words'),
    [
        (NEW, uuid_of('newer'), errors.ResourceProviderNotFound, NEW),
        (OLD.upper(), NEW, errors.ResourceProviderNotFound, OLD.upper()),
        (OLD, OLD, errors.DuplicateResourceProvider, 'Resource provider host has'),
        (OLD, uuid_of('other'), errors.DuplicateResourceProvider, 'Resource provider other has'),
        (OLD, uuid_of('child'), errors.DuplicateResourceProvider, 'Resource provider child has'),
    ],
)
def test_refusal_changes_nothing(
    cloud: Cloud, old: str, new: str, error: type[Exception], words: str
) -> None:
    before = cloud.everything()
    with pytest.raises(error, match=words):
        provider_identity.check(cloud.context, old, new)
    with pytest.raises(error, match=words):
        set_uuid(cloud, old, new)
    assert cloud.everything() == before


def test_uuid_in_another_spelling_can_be_made_canonical(cloud: Cloud) -> None:
    loud = uuid_of('loud').upper()
    ResourceProvider.create(cloud.context, loud, 'loud')
    assert set_uuid(cloud, loud, loud.lower()).uuid == loud.lower()


def test_identity_can_be_given_back_and_to_another_provider(cloud: Cloud) -> None:
    set_uuid(cloud)
    set_uuid(cloud, uuid_of('other'), OLD)
    set_uuid(cloud, NEW, uuid_of('other'))
    assert {uuid: provider_with(cloud, uuid).name for uuid in (OLD, uuid_of('other'))} == {
        OLD: 'other',
        uuid_of('other'): 'host',
    }


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
