# SPDX-License-Identifier: Apache-2.0
"""Moving inventory that is in use (specification: reshaper)."""

from collections.abc import Mapping
from typing import Any

import pytest

from placement import errors
from placement.db.schema import tables
from placement.db.statements.consumers import MAX_JOINED
from placement.objects import inventory, reshaper, usage
from placement.objects.claim.claim import Claim
from placement.schemas.not_sent import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of

# By the name of the provider, the generation that the client read, and the inventories.
Inventories = Mapping[str, tuple[int, Mapping[str, Any]]]

MOVED: Inventories = {
    'p': (5, {'DISK_GB': 2000}),
    'q': (0, {'VCPU': {'total': 10, 'max_unit': 8}}),
}


def reshape(cloud: Cloud, inventories: Inventories, *claims: Claim) -> None:
    reshaper.reshape(
        cloud.context,
        {
            uuid_of(name): (generation, cloud.inventories(**wanted))
            for name, (generation, wanted) in inventories.items()
        },
        claims,
    )


def refusal(cloud: Cloud, inventories: Inventories, *claims: Claim) -> errors.PlacementError:
    """Why a reshape is refused; nothing of it is left behind."""
    before = cloud.everything()
    with pytest.raises(errors.PlacementError) as raised:
        reshape(cloud, inventories, *claims)
    assert cloud.everything() == before
    return raised.value


def usages(cloud: Cloud, name: str) -> dict[str, int]:
    rows = usage.list_by_provider(cloud.context, cloud.provider(name))
    return {row.resource_class: row.used for row in rows}


def classes(cloud: Cloud, name: str) -> set[str]:
    rows = inventory.list_by_provider(cloud.context, cloud.provider(name))
    return {row.resource_class for row in rows}


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """The example: p at 5 with three consumers, below it q at 0 with nothing.

    Specification: reshaper, "Example".
    """
    cloud.add('p', VCPU=10, DISK_GB=2000)
    cloud.add('q', parent='p')
    cloud.take('a', {'p': {'DISK_GB': 1000}})
    cloud.take('b', {'p': {'VCPU': 6}})
    cloud.take('c', {'p': {'VCPU': 1, 'DISK_GB': 20}})
    cloud.give('p', VCPU=10, DISK_GB=2000)
    assert (cloud.generation('p'), cloud.generation('q')) == (5, 0)
    return cloud


def moved(cloud: Cloud, **different: Claim) -> list[Claim]:
    """The claims of the example, some of them different."""
    claims = {
        'a': cloud.claim('a', {'p': {'DISK_GB': 1000}}, 1),
        'b': cloud.claim('b', {'q': {'VCPU': 8}}, 1),
        'c': cloud.claim('c', {'p': {'DISK_GB': 20}, 'q': {'VCPU': 1}}, 1),
    }
    return list((claims | different).values())


def test_a_reshape_follows_the_example_of_the_specification(cloud: Cloud) -> None:
    reshape(cloud, MOVED, *moved(cloud))

    assert usages(cloud, 'p') == {'DISK_GB': 1020}
    assert usages(cloud, 'q') == {'VCPU': 9}
    assert (cloud.generation('p'), cloud.generation('q')) == (8, 3)
    assert {cloud.consumer_generation(name) for name in 'abc'} == {2}
    assert cloud.has('c') == {uuid_of('p'): {'DISK_GB': 20}, uuid_of('q'): {'VCPU': 1}}


def test_a_consumer_left_out_keeps_its_inventory_in_use(cloud: Cloud) -> None:
    a, _b, c = moved(cloud)

    error = refusal(cloud, MOVED, a, c)

    assert str(error) == f"Inventory for 'VCPU' on resource provider '{uuid_of('p')}' in use."
    assert error.code == 'placement.inventory.inuse'


def test_the_units_of_the_new_inventory_count(cloud: Cloud) -> None:
    narrow = {**MOVED, 'p': (5, {'DISK_GB': {'total': 2000, 'max_unit': 600}})}

    error = refusal(cloud, narrow, *moved(cloud))

    assert str(error).startswith('Unable to allocate inventory: Unable to create allocation')
    assert 'would violate inventory constraints' in str(error)


def test_the_capacity_of_the_new_inventory_counts(cloud: Cloud) -> None:
    small = {**MOVED, 'q': (0, {'VCPU': 8})}

    assert 'exceed the capacity' in str(refusal(cloud, small, *moved(cloud)))


def test_inventory_in_use_cannot_be_removed_without_any_claims(cloud: Cloud) -> None:
    assert refusal(cloud, MOVED).code == 'placement.inventory.inuse'


def test_inventory_alone_can_be_reshaped(cloud: Cloud) -> None:
    reshape(cloud, {'q': (0, {'PCPU': 4})})

    assert classes(cloud, 'q') == {'PCPU'}
    assert cloud.generation('q') == 2


def test_more_may_be_reserved_than_there_is(cloud: Cloud) -> None:
    reshape(cloud, {'q': (0, {'PCPU': {'total': 4, 'reserved': 9}})})

    assert classes(cloud, 'q') == {'PCPU'}


# Generations


def test_an_emptied_provider_whose_consumers_move_increments_once(
    cloud: Cloud,
) -> None:
    reshape(
        cloud,
        {'p': (5, {}), 'q': (0, {'VCPU': 10, 'DISK_GB': 2000})},
        cloud.claim('a', {'q': {'DISK_GB': 1000}}, 1),
        cloud.claim('b', {'q': {'VCPU': 6}}, 1),
        cloud.claim('c', {'q': {'VCPU': 1}}, 1),
    )

    assert (cloud.generation('p'), cloud.generation('q')) == (6, 3)
    assert classes(cloud, 'p') == set()


def test_an_emptied_provider_whose_consumers_are_released_increments_twice(
    cloud: Cloud,
) -> None:
    reshape(cloud, {'p': (5, {})}, *(cloud.claim(name, {}, 1) for name in 'abc'))

    assert cloud.generation('p') == 7
    assert {cloud.consumer_generation(name) for name in 'abc'} == {None}


def test_a_provider_that_only_claims_name_increments_once(cloud: Cloud) -> None:
    reshape(
        cloud,
        {'q': (0, {'PCPU': 4})},
        cloud.claim('a', {'p': {'DISK_GB': 1}, 'q': {'PCPU': 1}}, 1),
    )

    assert (cloud.generation('p'), cloud.generation('q')) == (6, 3)


def test_providers_and_consumers_that_are_not_named_stay(cloud: Cloud) -> None:
    cloud.add('elsewhere', VCPU=1)
    cloud.take('stranger', {'elsewhere': {'VCPU': 1}})

    reshape(cloud, MOVED, *moved(cloud))

    assert cloud.generation('elsewhere') == 2
    assert cloud.consumer_generation('stranger') == 1


def test_a_claim_of_nothing_for_an_unknown_consumer_is_accepted(cloud: Cloud) -> None:
    reshape(cloud, {'q': (0, {'PCPU': 4})}, cloud.claim('nobody', {}, None))

    assert cloud.consumer_generation('nobody') is None


# What is told first


def test_an_unknown_provider_in_inventories_is_reported(cloud: Cloud) -> None:
    error = refusal(cloud, {'nobody': (0, {})})

    assert str(error).startswith(
        f'Resource provider {uuid_of("nobody")} in inventories not found: '
    )
    assert (error.status, error.code) == (400, 'placement.resource_provider.not_found')


def test_a_stale_provider_is_reported_with_both_generations(cloud: Cloud) -> None:
    error = refusal(cloud, {'p': (4, {})})

    assert str(error) == (
        f'resource provider generation conflict for provider {uuid_of("p")}: actual: 5, given: 4'
    )
    assert (error.status, error.code) == (409, 'placement.concurrent_update')


def test_providers_are_checked_in_the_order_of_the_body(cloud: Cloud) -> None:
    assert refusal(cloud, {'p': (4, {}), 'nobody': (0, {})}).status == 409
    assert refusal(cloud, {'nobody': (0, {}), 'p': (4, {})}).status == 400


def test_a_stale_provider_is_reported_before_a_stale_consumer(cloud: Cloud) -> None:
    error = refusal(cloud, {'p': (4, {})}, cloud.claim('a', {}, 7))

    assert 'for provider' in str(error)


def test_a_stale_consumer_is_reported_before_an_unknown_provider(cloud: Cloud) -> None:
    claim = cloud.claim('a', {'nobody': {'VCPU': 1}}, 7)

    assert str(refusal(cloud, MOVED, claim)) == (
        'consumer generation conflict - expected 1 but got 7'
    )


def test_an_unknown_provider_in_claims_is_reported(cloud: Cloud) -> None:
    claim = cloud.claim('a', {'nobody': {'VCPU': 1}}, 1)

    error = refusal(cloud, {'q': (0, {'CUSTOM_NOBODY': 1})}, claim)

    assert str(error) == (
        f"Allocation for resource provider '{uuid_of('nobody')}' that does not exist."
    )
    assert error.code == 'placement.undefined_code'


@pytest.mark.parametrize('where', ['inventories', 'claims'])
def test_an_unknown_class_is_reported(cloud: Cloud, where: str) -> None:
    resource_class = 'CUSTOM_NOBODY' if where == 'inventories' else 'VCPU'
    claimed = 'CUSTOM_NOBODY' if where == 'claims' else 'VCPU'
    claim = cloud.claim('b', {'q': {claimed: 1}}, 1)

    error = refusal(cloud, {'q': (0, {resource_class: 1})}, claim)

    assert str(error) == 'No such resource class CUSTOM_NOBODY.'


# One transaction


def test_a_refused_reshape_leaves_no_project_user_type_or_consumer(cloud: Cloud) -> None:
    new = cloud.claim(
        'new', {'q': {'VCPU': 99}}, None, project='r', user='w', consumer_type='INSTANCE'
    )

    refusal(cloud, MOVED, *moved(cloud), new)

    assert cloud.rows(tables.projects.c.external_id) == [('project',)]
    assert cloud.rows(tables.consumer_types.c.name) == []


def test_a_refused_reshape_succeeds_once_it_fits(cloud: Cloud) -> None:
    new = cloud.claim('new', {'q': {'VCPU': 2}}, None)
    refusal(cloud, MOVED, *moved(cloud), new)

    reshape(cloud, {**MOVED, 'q': (0, {'VCPU': 11})}, *moved(cloud), new)

    assert usages(cloud, 'q') == {'VCPU': 11}


def test_a_reshape_costs_the_same_for_many_consumers(cloud: Cloud) -> None:
    cloud.add('r', VCPU=1000)

    def cost(count: int) -> int:
        claims = [
            cloud.claim(f'{count}-{number}', {'r': {'VCPU': 1}}, NOT_SENT)
            for number in range(count)
        ]
        with cloud.statements() as statements:
            reshape(cloud, {'r': (cloud.generation('r'), {'VCPU': 1000})}, *claims)
        return len(statements)

    assert cost(2) == cost(MAX_JOINED)
    assert cost(MAX_JOINED + 1) == cost(3 * MAX_JOINED)
