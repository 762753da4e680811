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
from placement.objects.resource_provider import ResourceProvider
from placement.objects.trait import TraitList
from placement.schemas.common import NOT_SENT, NotSent
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


def recorded(cloud: Cloud, act: Act, *kinds: sa.ColumnElement[bool]) -> list[set[str]]:
    """The names of the providers that are recorded by an act, by the kind of change."""
    ids = {cloud.provider(name).id: name for name in ('root', 'child', 'leaf', 'other')}
    ((before,),) = cloud.rows(sa.func.max(change_feed.c.id))
    act(cloud)
    return [
        {
            ids.get(provider_id, 'new')
            for (provider_id,) in cloud.rows(
                change_feed.c.provider_id, change_feed.c.id > before, kind
            )
        }
        for kind in kinds
    ]


def noted(cloud: Cloud, act: Act) -> set[str]:
    """The names of the providers that are recorded as changed by an act."""
    (names,) = recorded(cloud, act, sa.true())
    return names


def host(cloud: Cloud) -> ResourceProvider:
    return cloud.provider('other')


def update(name: str, parent: str | NotSent | None = NOT_SENT, called: str = '') -> Act:
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


CLAIMED: set[str] = set()


@pytest.mark.parametrize(
    ('act', 'changed', 'in_any_way'),
    [
        (lambda cloud: cloud.add('fifth'), {'new'}, None),
        (lambda cloud: cloud.add('fifth', parent='leaf'), {'new'}, None),
        (lambda cloud: cloud.add('fifth').destroy(), {'new'}, None),
        (update('other', called='another'), {'other'}, None),
        # The trees that it leaves and joins have changed, too.
        (update('child', 'other'), {'child', 'leaf', 'root', 'other'}, None),
        (update('child', None), {'child', 'leaf', 'root'}, None),
        (update('leaf', 'root'), {'leaf', 'root'}, None),
        (lambda cloud: cloud.add('fifth', parent='leaf').destroy(), {'new', 'root'}, None),
        (lambda cloud: cloud.give('other', VCPU=9), {'other'}, None),
        (lambda cloud: cloud.inventories(PCPU=9).add(host(cloud)), {'other'}, None),
        (lambda cloud: cloud.inventories(VCPU=9).update_one(host(cloud), 1), {'other'}, None),
        (lambda cloud: InventoryList.remove(cloud.context, host(cloud), 'VCPU'), {'other'}, None),
        (lambda cloud: InventoryList.remove(cloud.context, host(cloud)), {'other'}, None),
        (set_traits('HW_CPU_X86_AVX'), {'other'}, None),
        (set_aggregates('rack'), {'other'}, None),
        (lambda cloud: host(cloud).destroy(), {'other'}, None),
        # Claims change allocations only, also of those that only lose some.
        (lambda cloud: cloud.take('new', {'other': {'VCPU': 1}}), {'other'}, CLAIMED),
        (
            lambda cloud: cloud.take('server', {'other': {'VCPU': 1}}),
            {'root', 'child', 'other'},
            CLAIMED,
        ),
        (lambda cloud: cloud.take('server', {'root': {'VCPU': 2}}), {'root', 'child'}, CLAIMED),
        (lambda cloud: cloud.take('server', {}), {'root', 'child'}, CLAIMED),
        (
            lambda cloud: AllocationList.release(cloud.context, uuid_of('server')),
            {'root', 'child'},
            CLAIMED,
        ),
        # What is claimed of others at the same time is no more than that.
        (reshape_root, {'root', 'child', 'other'}, {'root'}),
    ],
)
def test_writes_that_a_search_can_see_are_recorded(
    cloud: Cloud, act: Act, changed: set[str], in_any_way: set[str] | None
) -> None:
    """`in_any_way` are those of which more than allocations changed, None for all of them."""
    is_any = sa.not_(change_feed.c.allocations_only)
    by_kind = recorded(cloud, act, sa.true(), is_any)

    assert by_kind == [changed, changed if in_any_way is None else in_any_way]


@pytest.mark.parametrize(
    ('prepare', 'act'),
    [
        (
            set_traits('HW_CPU_X86_AVX'),
            lambda cloud: TraitList.clear(cloud.context, host(cloud)),
        ),
        (set_aggregates('rack'), set_aggregates()),
    ],
)
def test_what_a_provider_loses_is_recorded(cloud: Cloud, prepare: Act, act: Act) -> None:
    prepare(cloud)

    assert noted(cloud, act) == {'other'}


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
