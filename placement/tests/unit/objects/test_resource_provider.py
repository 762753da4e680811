# SPDX-License-Identifier: Apache-2.0
"""Providers and their trees (specification: resource_providers)."""

from typing import Any

import pytest

from placement import errors
from placement.db.schema import tables
from placement.objects import aggregate, inventory, resource_provider, trait
from placement.objects.claim import transaction
from placement.objects.inventory import clear as clear_inventories
from placement.objects.resource_provider import (
    Parent,
    ProviderFilters,
    ResourceProvider,
)
from placement.tests.unit.objects.cloud import Cloud, uuid_of


@pytest.fixture
def tree(cloud: Cloud) -> Cloud:
    """Two trees: root over left and right, left over leaf and leaf over tip; and other."""
    cloud.add('root')
    cloud.add('left', parent='root')
    cloud.add('right', parent='root')
    cloud.add('leaf', parent='left')
    cloud.add('tip', parent='leaf')
    cloud.add('other')
    return cloud


def move(
    cloud: Cloud, name: str, parent: str | Parent | None, may_reparent: bool = True
) -> ResourceProvider:
    """The provider after its parent was changed; its name stays."""
    if isinstance(parent, str):
        parent = uuid_of(parent)
    return cloud.provider(name).update(name, parent, may_reparent)


def roots(cloud: Cloud) -> dict[str, str]:
    """The name of the root of every provider, by its name."""
    names = {uuid_of(name): name for name in ('root', 'left', 'right', 'leaf', 'tip', 'other')}
    listed = resource_provider.list_by_filters(cloud.context, ProviderFilters())
    return {row.name: names[row.root_provider_uuid] for row in listed}


def listed(cloud: Cloud, **filters: Any) -> set[str]:
    """The names of the providers that meet every filter."""
    found = resource_provider.list_by_filters(cloud.context, ProviderFilters(**filters))
    return {row.name for row in found}


# Making


def test_a_new_provider_is_its_own_root(cloud: Cloud) -> None:
    provider = cloud.add('host')

    assert provider.root_provider_uuid == provider.uuid == uuid_of('host')
    assert provider.parent_provider_uuid is None
    assert provider.generation == 0


def test_a_new_root_was_updated_and_a_new_child_was_not(tree: Cloud) -> None:
    assert tree.provider('root').updated_at is not None
    assert tree.provider('leaf').updated_at is None
    assert tree.provider('leaf').created_at is not None


def test_a_child_has_the_root_of_its_parent(tree: Cloud) -> None:
    tip = tree.provider('tip')

    assert tip.parent_provider_uuid == uuid_of('leaf')
    assert tip.root_provider_uuid == uuid_of('root')


def test_create_refuses_an_empty_name(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        ResourceProvider.create(cloud.context, uuid_of('host'), '')

    assert str(raised.value) == 'Object action create failed because: name is required'


def test_a_provider_cannot_be_made_its_own_parent(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        ResourceProvider.create(cloud.context, uuid_of('host'), 'host', uuid_of('host'))

    assert 'parent provider UUID cannot be same as UUID.' in str(raised.value)


def test_a_parent_must_exist(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        cloud.add('child', parent='nobody')

    assert str(raised.value) == (
        'Object action create failed because: parent provider UUID does not exist.'
    )
    assert cloud.rows(tables.resource_providers.c.id) == []


@pytest.mark.parametrize(
    ('uuid', 'name', 'words'),
    [
        ('new', 'host', 'Conflicting resource provider name: host already exists.'),
        ('host', 'new', f'Conflicting resource provider uuid: {uuid_of("host")} already exists.'),
    ],
)
def test_names_and_uuids_are_unique(cloud: Cloud, uuid: str, name: str, words: str) -> None:
    cloud.add('host')

    with pytest.raises(errors.DuplicateResourceProvider) as raised:
        ResourceProvider.create(cloud.context, uuid_of(uuid), name)

    assert str(raised.value) == words
    assert raised.value.code == 'placement.duplicate_name'


def test_an_unknown_uuid_is_not_found(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderNotFound) as raised:
        cloud.provider('nobody')

    assert str(raised.value) == f'No resource provider with uuid {uuid_of("nobody")} found'


def test_a_uuid_is_found_only_as_it_is_spelled(cloud: Cloud) -> None:
    cloud.add('host')

    for spelling in (uuid_of('host').upper(), uuid_of('host').replace('-', '')):
        with pytest.raises(errors.ResourceProviderNotFound):
            ResourceProvider.get_by_uuid(cloud.context, spelling)


# Names


def test_a_rename_keeps_everything_else(tree: Cloud) -> None:
    renamed = tree.provider('leaf').update('bud', Parent.KEPT, may_reparent=True)

    assert (renamed.name, renamed.generation) == ('bud', 0)
    assert renamed.parent_provider_uuid == uuid_of('left')
    assert renamed.root_provider_uuid == uuid_of('root')


def test_update_accepts_an_empty_name(tree: Cloud) -> None:
    assert tree.provider('leaf').update('', Parent.KEPT, may_reparent=True).name == ''


def test_the_name_of_another_provider_is_refused(tree: Cloud) -> None:
    with pytest.raises(errors.DuplicateResourceProvider) as raised:
        tree.provider('leaf').update('root', Parent.KEPT, may_reparent=True)

    assert str(raised.value) == 'Conflicting resource provider root already exists.'


def test_a_provider_may_keep_its_name(tree: Cloud) -> None:
    assert tree.provider('leaf').update('leaf', Parent.KEPT, may_reparent=True).name == 'leaf'


# Moving (specification: resource_providers, "Rules for the parent")


@pytest.mark.parametrize('may_reparent', [False, True])
def test_a_root_may_stay_a_root(tree: Cloud, may_reparent: bool) -> None:
    assert move(tree, 'root', None, may_reparent).parent_provider_uuid is None


@pytest.mark.parametrize('may_reparent', [False, True])
def test_a_root_that_gets_a_parent_moves_its_descendants(tree: Cloud, may_reparent: bool) -> None:
    moved = move(tree, 'root', 'other', may_reparent)

    assert moved.parent_provider_uuid == uuid_of('other')
    assert set(roots(tree).values()) == {'other'}


@pytest.mark.parametrize('may_reparent', [False, True])
def test_the_same_parent_may_be_sent_again(tree: Cloud, may_reparent: bool) -> None:
    assert move(tree, 'leaf', 'left', may_reparent).parent_provider_uuid == uuid_of('left')


def test_another_parent_is_refused_before_reparenting_is_allowed(tree: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        move(tree, 'leaf', 'right', may_reparent=False)

    assert str(raised.value) == (
        'Object action update failed because: re-parenting a provider is not currently allowed.'
    )
    assert tree.provider('leaf').parent_provider_uuid == uuid_of('left')


def test_removing_the_parent_is_refused_before_reparenting_is_allowed(tree: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        move(tree, 'leaf', None, may_reparent=False)

    assert str(raised.value) == (
        'Object action update failed because: un-parenting a provider is not currently allowed.'
    )


def test_moving_to_another_tree_moves_the_descendants(tree: Cloud) -> None:
    moved = move(tree, 'left', 'other')

    assert moved.root_provider_uuid == uuid_of('other')
    assert roots(tree) == {
        'root': 'root', 'right': 'root', 'other': 'other',
        'left': 'other', 'leaf': 'other', 'tip': 'other',
    }  # fmt: skip


def test_moving_within_a_tree_keeps_its_root(tree: Cloud) -> None:
    moved = move(tree, 'leaf', 'right')

    assert moved.parent_provider_uuid == uuid_of('right')
    assert {name: root for name, root in roots(tree).items() if name != 'other'} == dict.fromkeys(
        ['root', 'left', 'right', 'leaf', 'tip'], 'root'
    )


def test_a_child_that_loses_its_parent_is_the_root_of_its_descendants(tree: Cloud) -> None:
    moved = move(tree, 'left', None)

    assert moved.parent_provider_uuid is None
    assert roots(tree) == {
        'root': 'root', 'right': 'root', 'other': 'other',
        'left': 'left', 'leaf': 'left', 'tip': 'left',
    }  # fmt: skip


@pytest.mark.parametrize('may_reparent', [False, True])
@pytest.mark.parametrize('parent', ['root', 'left', 'tip'])
def test_a_root_cannot_move_below_itself(tree: Cloud, parent: str, may_reparent: bool) -> None:
    before = tree.everything()

    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        move(tree, 'root', parent, may_reparent)

    assert str(raised.value) == (
        'Object action update failed because: creating loop in the provider tree is not allowed.'
    )
    assert tree.everything() == before


@pytest.mark.parametrize('parent', ['left', 'leaf', 'tip'])
def test_a_child_cannot_move_below_itself(tree: Cloud, parent: str) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed, match='creating loop'):
        move(tree, 'left', parent)


def test_a_missing_parent_is_reported_before_reparenting_is_refused(tree: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed) as raised:
        move(tree, 'leaf', 'nobody', may_reparent=False)

    assert str(raised.value) == (
        'Object action create failed because: parent provider UUID does not exist.'
    )


def test_refused_reparenting_is_reported_before_a_loop(tree: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderActionFailed, match='re-parenting'):
        move(tree, 'left', 'tip', may_reparent=False)


def test_update_of_a_deleted_provider_raises_not_found(tree: Cloud) -> None:
    tip = tree.provider('tip')
    tree.provider('tip').destroy()

    with pytest.raises(errors.ResourceProviderNotFound):
        tip.update('tip', Parent.KEPT, may_reparent=True)


# Deleting


def test_destroy_deletes_inventories_aggregates_and_traits(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)
    aggregate.replace(cloud.context, host, [uuid_of('rack')], None)
    trait.replace(cloud.context, host, ['HW_CPU_X86_AVX'], cloud.generation('host'))

    cloud.provider('host').destroy()

    for table in (
        tables.resource_providers,
        tables.inventories,
        tables.resource_provider_aggregates,
        tables.resource_provider_traits,
    ):
        assert cloud.rows(*table.primary_key.columns[:1]) == []
    assert cloud.rows(tables.placement_aggregates.c.uuid) == [(uuid_of('rack'),)]


def test_a_parent_cannot_be_deleted(tree: Cloud) -> None:
    with pytest.raises(errors.ResourceProviderHasChildren) as raised:
        tree.provider('left').destroy()

    assert raised.value.code == 'placement.resource_provider.cannot_delete_parent'


def test_a_provider_in_use_cannot_be_deleted(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.ResourceProviderInUse) as raised:
        cloud.provider('host').destroy()

    assert raised.value.code == 'placement.resource_provider.inuse'


def test_children_are_reported_before_allocations(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.add('child', parent='host')
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.ResourceProviderHasChildren):
        cloud.provider('host').destroy()


def test_a_tree_can_be_deleted_from_the_leaves_up(tree: Cloud) -> None:
    for name in ('tip', 'leaf', 'left', 'right', 'root'):
        tree.provider(name).destroy()

    assert list(roots(tree)) == ['other']


# Generations (specification: resource_providers, "Generation")


def test_writes_increment_the_generation(cloud: Cloud) -> None:
    """Each step with what it adds to the generation."""
    host = cloud.add('host', VCPU=4)
    cloud.add('other', VCPU=4)
    context = cloud.context

    def set_traits(*names: str) -> None:
        trait.replace(context, host, names, cloud.generation('host'))

    def set_aggregates(generation: bool) -> None:
        at = cloud.generation('host') if generation else None
        aggregate.replace(context, host, [uuid_of('rack')], at)

    steps = [
        ('inventories set', lambda: cloud.give('host', VCPU=4), 1),
        ('inventories set to what they are', lambda: cloud.give('host', VCPU=4), 1),
        ('an inventory added', lambda: cloud.inventories(DISK_GB=9).add(host), 1),
        (
            'an inventory changed',
            lambda: cloud.inventories(DISK_GB=9).update_one(host, cloud.generation('host')),
            1,
        ),
        ('aggregates set with a generation', lambda: set_aggregates(True), 1),
        ('aggregates set to what they are', lambda: set_aggregates(True), 1),
        ('aggregates set without a generation', lambda: set_aggregates(False), 0),
        ('traits set', lambda: set_traits('HW_CPU_X86_AVX'), 1),
        ('traits set to what they are', lambda: set_traits('HW_CPU_X86_AVX'), 0),
        ('traits cleared', lambda: trait.clear(context, host), 1),
        ('traits cleared again', lambda: trait.clear(context, host), 0),
        (
            'two consumers take two classes',
            lambda: cloud.write(
                cloud.claim('one', {'host': {'VCPU': 1, 'DISK_GB': 1}}),
                cloud.claim('two', {'host': {'VCPU': 1, 'DISK_GB': 1}}),
            ),
            1,
        ),
        ('a consumer is cleared', lambda: cloud.take('two', {}), 1),
        ('a consumer without anything is cleared', lambda: cloud.take('two', {}), 0),
        (
            'a consumer moves away without naming it',
            lambda: cloud.take('one', {'other': {'VCPU': 1}}),
            0,
        ),
        ('a consumer comes back', lambda: cloud.take('one', {'host': {'VCPU': 1}}), 1),
        ('a rename', lambda: host.update('host', Parent.KEPT, may_reparent=True), 0),
        ('a parent', lambda: move(cloud, 'host', 'other'), 0),
        ('a child', lambda: cloud.add('child', parent='host'), 0),
        ('no parent', lambda: move(cloud, 'host', None), 0),
    ]
    for name, act, expected in steps:
        before = cloud.generation('host')
        act()
        assert (name, cloud.generation('host') - before) == (name, expected)


def test_deletions_increment_the_generation(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    clear_inventories(cloud.context, host)
    assert cloud.generation('host') == 2
    clear_inventories(cloud.context, host)
    assert cloud.generation('host') == 3


def test_released_allocations_do_not_increment_the_generation(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.take('server', {'host': {'VCPU': 1}})
    before = cloud.generation('host')

    transaction.release(cloud.context, uuid_of('server'))

    assert cloud.generation('host') == before


def test_a_failed_write_does_not_increment_the_generation(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)

    with pytest.raises(errors.CapacityExceeded):
        cloud.take('server', {'host': {'VCPU': 5}})
    with pytest.raises(errors.ResourceProviderGenerationConflict):
        cloud.inventories(VCPU=9).replace(host, host.generation + 1)

    assert cloud.generation('host') == host.generation
    inventories = inventory.list_by_provider(cloud.context, host)
    assert [row.total for row in inventories] == [4]


# Listing


def test_providers_are_listed_by_tree(tree: Cloud) -> None:
    assert listed(tree, in_tree=uuid_of('tip')) == {'root', 'left', 'right', 'leaf', 'tip'}
    assert listed(tree, in_tree=uuid_of('other')) == {'other'}
    assert listed(tree, in_tree=uuid_of('nobody')) == set()


def test_providers_are_listed_by_name_and_uuid(tree: Cloud) -> None:
    assert listed(tree, name='tip') == {'tip'}
    assert listed(tree, uuid=uuid_of('tip')) == {'tip'}
    assert listed(tree, name='tip', uuid=uuid_of('leaf')) == set()


def test_providers_are_listed_by_aggregate(tree: Cloud) -> None:
    for name, racks in (('root', 'ab'), ('left', 'a'), ('right', 'b')):
        uuids = [uuid_of(rack) for rack in racks]
        aggregate.replace(tree.context, tree.provider(name), uuids, None)
    a, b = {uuid_of('a')}, {uuid_of('b')}

    assert listed(tree, member_of=[a]) == {'root', 'left'}
    assert listed(tree, member_of=[a | b]) == {'root', 'left', 'right'}
    assert listed(tree, member_of=[a, b]) == {'root'}
    assert listed(tree, member_of=[a], forbidden_aggregates=b) == {'left'}
    assert listed(tree, member_of=[a], forbidden_aggregates=a) == set()
    assert listed(tree, forbidden_aggregates=a | b) == {'leaf', 'tip', 'other'}
    assert listed(tree, member_of=[{uuid_of('c')}]) == set()


def by_traits(
    cloud: Cloud, *required: set[str], forbidden: frozenset[str] = frozenset()
) -> set[str]:
    """The names of the providers that have one trait of each set, and none that is forbidden."""
    found = resource_provider.list_by_filters(
        cloud.context,
        ProviderFilters(
            required_traits=[frozenset(any_of) for any_of in required],
            forbidden_traits=forbidden,
        ),
    )
    return {row.name for row in found}


def test_providers_are_listed_by_trait(tree: Cloud) -> None:
    avx, sse, ssd = 'HW_CPU_X86_AVX', 'HW_CPU_X86_SSE', 'STORAGE_DISK_SSD'
    for name, traits in (('root', [avx, sse]), ('left', [avx]), ('right', [ssd])):
        trait.replace(tree.context, tree.provider(name), traits, 0)

    assert by_traits(tree, {avx}) == {'root', 'left'}
    assert by_traits(tree, {avx}, {sse}) == {'root'}
    assert by_traits(tree, {avx, ssd}) == {'root', 'left', 'right'}
    assert by_traits(tree, {avx}, forbidden=frozenset({sse})) == {'left'}
    assert by_traits(tree, {avx}, forbidden=frozenset({avx})) == set()


@pytest.mark.parametrize('kind', ['required_traits', 'forbidden_traits'])
def test_an_unknown_trait_is_reported_by_its_name(tree: Cloud, kind: str) -> None:
    traits = frozenset({'CUSTOM_NOBODY', 'HW_CPU_X86_AVX'})
    asked: dict[str, Any] = {kind: [traits] if kind == 'required_traits' else traits}

    with pytest.raises(errors.TraitNotFound) as raised:
        resource_provider.list_by_filters(tree.context, ProviderFilters(**asked))

    assert str(raised.value) == 'No such trait(s): CUSTOM_NOBODY.'


def by_resources(cloud: Cloud, **amounts: int) -> set[str]:
    """The names of the providers that by themselves can take every amount."""
    found = resource_provider.list_by_filters(cloud.context, ProviderFilters(resources=amounts))
    return {row.name for row in found}


def test_providers_are_listed_by_free_capacity(cloud: Cloud) -> None:
    cloud.add('small', VCPU=4)
    cloud.add('large', VCPU={'total': 4, 'allocation_ratio': 2.0}, DISK_GB=10)
    cloud.add('reserved', VCPU={'total': 8, 'reserved': 6})
    cloud.add('odd', VCPU={'total': 9, 'step_size': 3, 'min_unit': 3, 'max_unit': 6})

    assert by_resources(cloud, VCPU=2) == {'small', 'large', 'reserved'}
    assert by_resources(cloud, VCPU=3) == {'small', 'large', 'odd'}
    assert by_resources(cloud, VCPU=6) == {'large', 'odd'}
    assert by_resources(cloud, VCPU=8) == {'large'}
    assert by_resources(cloud, VCPU=9) == set()
    assert by_resources(cloud, VCPU=2, DISK_GB=10) == {'large'}


def test_used_capacity_is_not_free(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.take('one', {'host': {'VCPU': 2}})
    cloud.take('two', {'host': {'VCPU': 1}})

    assert by_resources(cloud, VCPU=1) == {'host'}
    assert by_resources(cloud, VCPU=2) == set()


def test_no_provider_fits_an_amount_beyond_the_column(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)

    assert by_resources(cloud, VCPU=2**63) == set()


def test_an_unknown_class_is_reported_by_its_name(cloud: Cloud) -> None:
    with pytest.raises(errors.ResourceClassNotFound) as raised:
        by_resources(cloud, CUSTOM_NOBODY=1)

    assert str(raised.value) == 'No such resource class CUSTOM_NOBODY.'


def test_a_list_takes_one_statement_however_long_it_is(tree: Cloud) -> None:
    with tree.statements() as statements:
        listed(tree)

    assert len(statements) == 1
