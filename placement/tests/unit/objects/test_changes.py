# SPDX-License-Identifier: Apache-2.0
"""Whatever a search can see is written into the change feed when it changes.

A writer that forgets it would leave searches with a picture of the past.
"""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema.own_tables import change_feed
from placement.objects import aggregate
from placement.objects.allocation import AllocationList
from placement.objects.inventory import InventoryList
from placement.objects.resource_class import ResourceClass
from placement.objects.resource_provider import Parent, ResourceProvider
from placement.objects.trait import TraitList
from placement.tests.unit.objects.cloud import Cloud, uuid_of

Act = Callable[[Cloud], object]


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """A tree of three providers and one beside it; two consumers in the tree."""
    ResourceClass.create(cloud.context, 'CUSTOM_A')
    cloud.add('root', VCPU=8, CUSTOM_A=1)
    cloud.add('child', parent='root', VCPU=8)
    cloud.add('leaf', parent='child', VCPU=8)
    cloud.add('other', VCPU=8, DISK_GB=10)
    cloud.take('server', {'root': {'VCPU': 1}, 'child': {'VCPU': 1}})
    cloud.take('neighbour', {'leaf': {'VCPU': 1}})
    return cloud


def noted(cloud: Cloud, act: Act, *conditions: sa.ColumnElement[bool]) -> set[str]:
    """The names of the providers that are noted as changed while something is done."""
    ids = {name: cloud.provider(name).id for name in ('root', 'child', 'leaf', 'other')}
    ((before,),) = cloud.rows(sa.func.max(change_feed.c.id))
    act(cloud)
    entries = cloud.rows(change_feed.c.provider_id, change_feed.c.id > before, *conditions)
    names = {provider_id: name for name, provider_id in ids.items()}
    return {names.get(provider_id, 'new') for (provider_id,) in entries}


def host(cloud: Cloud) -> ResourceProvider:
    return cloud.provider('other')


def update(name: str, parent: str | Parent | None = Parent.KEPT, called: str = '') -> Act:
    def act(cloud: Cloud) -> object:
        parent_uuid = uuid_of(parent) if isinstance(parent, str) else parent
        return cloud.provider(name).update(called or name, parent_uuid, may_reparent=True)

    return act


def set_traits(*names: str) -> Act:
    return lambda cloud: TraitList.replace(
        cloud.context, host(cloud), names, host(cloud).generation
    )


def set_aggregates(*names: str) -> Act:
    uuids = [uuid_of(name) for name in names]
    return lambda cloud: aggregate.replace(cloud.context, host(cloud), uuids, None)


def reshape_root(cloud: Cloud) -> None:
    """Move everything from the root to the provider beside it."""
    AllocationList.reshape(
        cloud.context,
        {uuid_of('root'): (cloud.generation('root'), cloud.inventories(CUSTOM_A=1))},
        [cloud.claim('server', {'other': {'VCPU': 1}})],
    )


@pytest.mark.parametrize(
    ('act', 'changed'),
    [
        (lambda cloud: cloud.add('fifth'), {'new'}),
        (lambda cloud: cloud.add('fifth', parent='leaf'), {'new'}),
        (lambda cloud: cloud.add('fifth').destroy(), {'new'}),
        (update('other', called='another'), {'other'}),
        (update('child', 'other'), {'child', 'leaf'}),
        (update('child', None), {'child', 'leaf'}),
        (update('leaf', 'root'), {'leaf'}),
        (lambda cloud: cloud.give('other', VCPU=9), {'other'}),
        (lambda cloud: cloud.inventories(PCPU=9).add(host(cloud)), {'other'}),
        (lambda cloud: cloud.inventories(VCPU=9).update_one(host(cloud), 1), {'other'}),
        (lambda cloud: InventoryList.remove(cloud.context, host(cloud), 'VCPU'), {'other'}),
        (lambda cloud: InventoryList.remove(cloud.context, host(cloud)), {'other'}),
        (set_traits('HW_CPU_X86_AVX'), {'other'}),
        (set_aggregates('rack'), {'other'}),
        (lambda cloud: cloud.take('new', {'other': {'VCPU': 1}}), {'other'}),
        # Those that only lose allocations have changed as well.
        (lambda cloud: cloud.take('server', {'other': {'VCPU': 1}}), {'root', 'child', 'other'}),
        (lambda cloud: cloud.take('server', {'root': {'VCPU': 2}}), {'root', 'child'}),
        (lambda cloud: cloud.take('server', {}), {'root', 'child'}),
        (
            lambda cloud: AllocationList.release(cloud.context, uuid_of('server')),
            {'root', 'child'},
        ),
        (reshape_root, {'root', 'child', 'other'}),
    ],
)
def test_writes_that_a_search_can_see_are_recorded(
    cloud: Cloud, act: Act, changed: set[str]
) -> None:
    assert noted(cloud, act) == changed


IN_ANY_WAY = sa.not_(change_feed.c.allocations_only)


@pytest.mark.parametrize(
    'act',
    [
        lambda cloud: cloud.take('new', {'other': {'VCPU': 1}}),
        lambda cloud: cloud.take('server', {'other': {'VCPU': 1}}),
        lambda cloud: cloud.take('server', {}),
        lambda cloud: AllocationList.release(cloud.context, uuid_of('server')),
    ],
)
def test_claims_are_recorded_as_changes_of_allocations_only(cloud: Cloud, act: Act) -> None:
    assert noted(cloud, act, IN_ANY_WAY) == set()


@pytest.mark.parametrize(
    ('act', 'changed'),
    [
        (lambda cloud: cloud.add('fifth'), {'new'}),
        (update('child', 'other'), {'child', 'leaf'}),
        (lambda cloud: cloud.give('other', VCPU=9), {'other'}),
        (lambda cloud: InventoryList.remove(cloud.context, host(cloud)), {'other'}),
        (set_traits('HW_CPU_X86_AVX'), {'other'}),
        (set_aggregates('rack'), {'other'}),
        (lambda cloud: host(cloud).destroy(), {'other'}),
        # What is claimed of others at the same time is no more than that.
        (reshape_root, {'root'}),
    ],
)
def test_other_writes_are_recorded_as_changes_of_any_kind(
    cloud: Cloud, act: Act, changed: set[str]
) -> None:
    assert noted(cloud, act, IN_ANY_WAY) == changed


def test_clearing_traits_is_recorded(cloud: Cloud) -> None:
    set_traits('HW_CPU_X86_AVX')(cloud)

    assert noted(cloud, lambda cloud: TraitList.clear(cloud.context, host(cloud))) == {'other'}


def test_leaving_an_aggregate_is_recorded(cloud: Cloud) -> None:
    set_aggregates('rack')(cloud)

    assert noted(cloud, set_aggregates()) == {'other'}


def test_deleting_a_provider_is_recorded(cloud: Cloud) -> None:
    assert noted(cloud, lambda cloud: host(cloud).destroy()) == {'other'}


def test_renaming_a_class_records_its_providers(cloud: Cloud) -> None:
    found = ResourceClass.get_by_name(cloud.context, 'CUSTOM_A')

    assert noted(cloud, lambda _cloud: found.rename('CUSTOM_B')) == {'root'}


def fail(cloud: Cloud, refusal: type[errors.PlacementError], act: Act) -> set[str]:
    """Return the providers noted by an act that is refused."""

    def refused(cloud: Cloud) -> None:
        with pytest.raises(refusal):
            act(cloud)

    return noted(cloud, refused)


def test_a_refused_write_records_nothing(cloud: Cloud) -> None:
    refusals: list[tuple[type[errors.PlacementError], Act]] = [
        (errors.CapacityExceeded, lambda c: c.take('server', {'other': {'VCPU': 99}})),
        (errors.InventoryInUse, lambda c: c.give('root')),
        (errors.ResourceProviderActionFailed, update('root', 'leaf')),
        (errors.TraitNotFound, set_traits('CUSTOM_NOBODY')),
        (errors.ResourceProviderHasChildren, lambda c: c.provider('root').destroy()),
    ]
    for refusal, act in refusals:
        assert fail(cloud, refusal, act) == set()
