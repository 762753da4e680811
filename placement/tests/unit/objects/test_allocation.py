# SPDX-License-Identifier: Apache-2.0
"""Claims (specification: allocations)."""

import logging
from typing import Any

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import tables
from placement.db.statements.allocations import MAX_OPTIMISTIC_AMOUNTS
from placement.db.statements.consumers import MAX_JOINED
from placement.feed.change_feed import ChangeFeed
from placement.objects import allocation
from placement.objects.claim import transaction
from placement.objects.claim.claim import Claim
from placement.objects.consumer import Consumer
from placement.objects.resource_class import ResourceClass
from placement.schemas.not_sent import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of

HOST, OTHER = uuid_of('host'), uuid_of('other')


@pytest.fixture
def hosts(cloud: Cloud) -> Cloud:
    """Two hosts with eight VCPU each, and a disk in one of them."""
    cloud.add('host', VCPU=8, DISK_GB=100)
    cloud.add('other', VCPU=8)
    return cloud


def consumer(cloud: Cloud, name: str) -> Consumer:
    """A consumer that exists."""
    _rows, found = allocation.list_by_consumer(cloud.context, uuid_of(name))
    assert found is not None
    return found


def refusal(cloud: Cloud, *claims: Claim) -> str:
    """Why claims are refused; nothing of them is left behind."""
    before = cloud.everything()
    with pytest.raises(errors.PlacementError) as raised:
        cloud.write(*claims)
    assert cloud.everything() == before
    return str(raised.value)


def exceeds(provider: str, resource_class: str = 'VCPU') -> str:
    return (
        f"Unable to allocate inventory: Unable to create allocation for '{resource_class}' on "
        f"resource provider '{uuid_of(provider)}'. "
        'The requested amount would exceed the capacity.'
    )


def violates(provider: str, resource_class: str = 'VCPU') -> str:
    return (
        f"Unable to allocate inventory: Unable to create allocation for '{resource_class}' on "
        f"resource provider '{uuid_of(provider)}'. "
        'The requested amount would violate inventory constraints.'
    )


def lacks(provider: str, classes: str) -> str:
    return (
        f"Unable to allocate inventory: Inventory for '{classes}' on resource provider "
        f"'{uuid_of(provider)}' invalid."
    )


# What a claim leaves


def test_a_consumer_has_what_was_claimed(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 2, 'DISK_GB': 5}, 'other': {'VCPU': 1}})

    assert hosts.has('server') == {HOST: {'VCPU': 2, 'DISK_GB': 5}, OTHER: {'VCPU': 1}}


def test_a_claim_replaces_everything_that_a_consumer_has(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 2, 'DISK_GB': 5}})

    hosts.take('server', {'other': {'VCPU': 3}})

    assert hosts.has('server') == {OTHER: {'VCPU': 3}}


def test_a_provider_shows_who_has_what(hosts: Cloud) -> None:
    hosts.take('one', {'host': {'VCPU': 2}})
    hosts.take('two', {'host': {'VCPU': 3, 'DISK_GB': 5}, 'other': {'VCPU': 1}})

    rows = allocation.list_by_provider(hosts.context, hosts.provider('host'))

    assert {(row.consumer_uuid, row.resource_class, row.used) for row in rows} == {
        (uuid_of('one'), 'VCPU', 2),
        (uuid_of('two'), 'VCPU', 3),
        (uuid_of('two'), 'DISK_GB', 5),
    }
    assert {row.consumer_generation for row in rows} == {1}


def test_a_consumer_without_allocations_is_not_found(hosts: Cloud) -> None:
    assert allocation.list_by_consumer(hosts.context, uuid_of('server')) == ([], None)


def test_a_consumer_is_shown_with_its_owner_and_type(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}}, project='p', user='u', consumer_type='INSTANCE')

    found = consumer(hosts, 'server')

    assert (found.project_id, found.user_id, found.consumer_type) == ('p', 'u', 'INSTANCE')
    assert found.generation == 1


def test_a_written_claim_can_be_written_again(hosts: Cloud) -> None:
    for generation in (None, 1, 2):
        hosts.take('server', {'host': {'VCPU': 8}}, generation=generation)

    assert hosts.has('server') == {HOST: {'VCPU': 8}}


# Owners and types


def test_a_write_moves_a_consumer_to_another_owner(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}}, project='p', user='u')

    hosts.take('server', {'host': {'VCPU': 1}}, project='q', user='v')

    found = consumer(hosts, 'server')
    assert (found.project_id, found.user_id) == ('q', 'v')


def test_a_write_without_a_type_keeps_the_type(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}}, consumer_type='INSTANCE')

    hosts.take('server', {'host': {'VCPU': 2}})

    assert consumer(hosts, 'server').consumer_type == 'INSTANCE'


def test_a_new_consumer_without_a_type_has_none(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}})

    assert consumer(hosts, 'server').consumer_type is None


def test_a_write_changes_the_type(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}}, consumer_type='INSTANCE')

    hosts.take('server', {'host': {'VCPU': 1}}, consumer_type='MIGRATION')

    assert consumer(hosts, 'server').consumer_type == 'MIGRATION'


def test_consumers_of_one_write_keep_their_own_owners_and_types(hosts: Cloud) -> None:
    hosts.take('old', {'host': {'VCPU': 1}}, project='p', consumer_type='INSTANCE')
    hosts.take('plain', {'host': {'VCPU': 1}}, project='p')

    hosts.write(
        hosts.claim('old', {'host': {'VCPU': 1}}, project='p'),
        hosts.claim('plain', {'host': {'VCPU': 1}}, project='q', user='v'),
        hosts.claim('new', {'host': {'VCPU': 1}}, project='q', consumer_type='MIGRATION'),
    )

    owners = {
        name: (found.project_id, found.user_id, found.consumer_type, found.generation)
        for name in ('old', 'plain', 'new')
        if (found := consumer(hosts, name))
    }
    assert owners == {
        'old': ('p', 'user', 'INSTANCE', 2),
        'plain': ('q', 'v', None, 2),
        'new': ('q', 'user', 'MIGRATION', 1),
    }


def test_owners_and_types_are_stored_once(hosts: Cloud) -> None:
    for name in ('one', 'two'):
        hosts.take(name, {'host': {'VCPU': 1}}, consumer_type='INSTANCE')

    for column, expected in (
        (tables.projects.c.external_id, 'project'),
        (tables.users.c.external_id, 'user'),
        (tables.consumer_types.c.name, 'INSTANCE'),
    ):
        assert hosts.rows(column) == [(expected,)]


# Bodies


def body(**members: Any) -> dict[str, Any]:
    """A body in its newest shape, as an old client's becomes."""
    return {
        'allocations': {HOST: {'resources': {'VCPU': 1}}},
        'project_id': NOT_SENT,
        'user_id': NOT_SENT,
        'consumer_generation': NOT_SENT,
        'consumer_type': NOT_SENT,
    } | members


def test_a_body_without_owner_gets_the_incomplete_owner() -> None:
    claim = Claim.from_body(uuid_of('server'), body(), 'no project', 'no user')

    assert (claim.project_id, claim.user_id) == ('no project', 'no user')
    assert claim.resources == {HOST: {'VCPU': 1}}


def test_a_generation_beside_the_resources_is_ignored() -> None:
    allocations = {HOST: {'generation': 99, 'resources': {'VCPU': 1}}}

    claim = Claim.from_body(uuid_of('server'), body(allocations=allocations), 'p', 'u')

    assert claim.resources == {HOST: {'VCPU': 1}}


def test_a_null_generation_is_compared(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}})
    claim = Claim.from_body(uuid_of('server'), body(consumer_generation=None), 'p', 'u')

    assert refusal(hosts, claim) == ('consumer generation conflict - expected 1 but got None')


# Generations (specification: allocations, "Worked scenario of generations")


def test_generations_follow_the_example_of_the_specification(cloud: Cloud) -> None:
    cloud.add('host', VCPU=8)

    def state() -> tuple[int, int | None]:
        return cloud.generation('host'), cloud.consumer_generation('server')

    def claim(amount: int, generation: Any) -> Claim:
        wanted = {'host': {'VCPU': amount}} if amount else {}
        return cloud.claim('server', wanted, generation)

    assert refusal(cloud, claim(2, 5)) == (
        'consumer generation conflict - expected null but got 5'
    )
    assert state() == (1, None)
    assert refusal(cloud, claim(9999, None)) == exceeds('host')
    assert state() == (1, None)
    cloud.write(claim(2, None))
    assert state() == (2, 1)
    assert refusal(cloud, claim(2, None)) == (
        'consumer generation conflict - expected 1 but got None'
    )
    assert state() == (2, 1)
    cloud.write(claim(3, 1))
    assert state() == (3, 2)
    cloud.write(claim(3, NOT_SENT))
    assert state() == (4, 3)
    cloud.write(claim(0, 3))
    assert state() == (5, None)
    cloud.write(claim(1, None))
    assert state() == (6, 1)
    transaction.release(cloud.context, uuid_of('server'))
    assert state() == (6, None)


def test_a_stale_consumer_is_a_concurrent_update(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.ConsumerGenerationConflict) as raised:
        hosts.take('server', {'host': {'VCPU': 1}}, generation=2)

    assert raised.value.code == 'placement.concurrent_update'


def test_the_first_stale_consumer_of_several_is_named_and_nothing_is_written(
    hosts: Cloud,
) -> None:
    hosts.take('old', {'host': {'VCPU': 1}})

    told = refusal(
        hosts,
        hosts.claim('new', {'host': {'VCPU': 1}}, None),
        hosts.claim('old', {'host': {'VCPU': 1}}, 7),
        hosts.claim('newer', {'host': {'VCPU': 1}}, 3),
    )

    assert told == 'consumer generation conflict - expected 1 but got 7'


# Nothing


def test_a_consumer_without_allocations_is_deleted(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}, 'other': {'VCPU': 1}})
    before = hosts.generation('host'), hosts.generation('other')

    hosts.take('server', {}, generation=1)

    assert hosts.has('server') == {}
    assert hosts.consumer_generation('server') is None
    after = hosts.generation('host'), hosts.generation('other')
    assert after == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize('generation', [None, NOT_SENT])
def test_a_claim_of_nothing_for_an_unknown_consumer_changes_nothing(
    hosts: Cloud, generation: Any
) -> None:
    before = hosts.everything()

    hosts.take('server', {}, generation=generation)

    assert hosts.everything() == before


def test_allocations_can_be_deleted_with_their_consumer(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}})
    hosts.take('neighbour', {'host': {'VCPU': 1}})

    transaction.release(hosts.context, uuid_of('server'))

    assert hosts.has('server') == {}
    assert hosts.consumer_generation('server') is None
    assert hosts.has('neighbour') == {HOST: {'VCPU': 1}}


@pytest.mark.parametrize('name', ['nobody', 'server'])
def test_release_of_an_unknown_consumer_raises_not_found(hosts: Cloud, name: str) -> None:
    hosts.take('server', {'host': {'VCPU': 1}})
    hosts.take('server', {})

    with pytest.raises(errors.AllocationsNotFound) as raised:
        transaction.release(hosts.context, uuid_of(name))

    assert str(raised.value) == f"No allocations for consumer '{uuid_of(name)}'"


# Capacity


@pytest.mark.parametrize(
    ('inventory', 'fits', 'too_much'),
    [
        ({'total': 8}, 8, 9),
        ({'total': 8, 'reserved': 2}, 6, 7),
        ({'total': 8, 'allocation_ratio': 2.0}, 16, 17),
        ({'total': 8, 'reserved': 2, 'allocation_ratio': 1.5}, 9, 10),
        # 7 * 1.5 is 10.5: the product is not truncated, but amounts are whole.
        ({'total': 7, 'allocation_ratio': 1.5}, 10, 11),
    ],
)
def test_a_provider_is_filled_to_its_capacity_and_no_further(
    cloud: Cloud, inventory: dict[str, Any], fits: int, too_much: int
) -> None:
    cloud.add('host', VCPU=inventory)

    assert refusal(cloud, cloud.claim('server', {'host': {'VCPU': too_much}})) == exceeds('host')
    cloud.take('server', {'host': {'VCPU': fits}})
    assert refusal(cloud, cloud.claim('late', {'host': {'VCPU': 1}})) == exceeds('host')


def test_a_fully_reserved_inventory_holds_nothing(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 8, 'reserved': 8})

    assert refusal(cloud, cloud.claim('server', {'host': {'VCPU': 1}})) == exceeds('host')


@pytest.mark.parametrize(
    ('inventory', 'amount'),
    [
        ({'total': 8, 'min_unit': 2}, 1),
        ({'total': 8, 'max_unit': 4}, 5),
        ({'total': 8, 'step_size': 2}, 3),
    ],
)
def test_an_amount_must_meet_min_unit_max_unit_and_step_size(
    cloud: Cloud, inventory: dict[str, Any], amount: int
) -> None:
    cloud.add('host', VCPU=inventory)

    assert refusal(cloud, cloud.claim('server', {'host': {'VCPU': amount}})) == violates('host')


def test_a_violation_of_units_is_reported_before_exceeded_capacity(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 8, 'max_unit': 8})

    assert refusal(cloud, cloud.claim('server', {'host': {'VCPU': 9}})) == violates('host')


def test_units_count_for_each_consumer_and_not_for_their_sum(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 8, 'max_unit': 4, 'step_size': 2})

    cloud.write(*(cloud.claim(name, {'host': {'VCPU': 4}}) for name in ('one', 'two')))

    assert cloud.has('two') == {HOST: {'VCPU': 4}}


def test_an_amount_beyond_what_a_column_holds_is_refused_as_too_much(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 2**31 - 1, 'allocation_ratio': 1e30})

    assert refusal(cloud, cloud.claim('server', {'host': {'VCPU': 2**70}})) == violates('host')


def test_a_consumer_can_grow_into_what_it_releases(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 8}})

    hosts.take('server', {'host': {'VCPU': 7}})

    assert hosts.has('server') == {HOST: {'VCPU': 7}}
    assert refusal(hosts, hosts.claim('server', {'host': {'VCPU': 9}})) == exceeds('host')


def test_consumers_of_one_write_are_judged_by_their_sum(hosts: Cloud) -> None:
    claims = [hosts.claim(name, {'host': {'VCPU': 3}}) for name in ('one', 'two', 'three')]

    assert refusal(hosts, *claims) == exceeds('host')
    hosts.write(*claims[:2])


def test_one_consumer_can_release_what_another_claims(hosts: Cloud) -> None:
    hosts.take('migration', {'host': {'VCPU': 8}})

    hosts.write(
        hosts.claim('server', {'host': {'VCPU': 8}}, None),
        hosts.claim('migration', {}, 1),
    )

    assert hosts.has('server') == {HOST: {'VCPU': 8}}
    assert hosts.consumer_generation('migration') is None


def test_a_provider_generation_increments_once_for_several_consumers(hosts: Cloud) -> None:
    hosts.take('old', {'host': {'VCPU': 1}})
    before = hosts.generation('host')

    hosts.write(
        hosts.claim('old', {}),
        hosts.claim('one', {'host': {'VCPU': 1, 'DISK_GB': 1}}),
        hosts.claim('two', {'host': {'VCPU': 1}}),
    )

    assert hosts.generation('host') == before + 1


# A provider that is over its capacity


@pytest.fixture
def shrunk(cloud: Cloud) -> Cloud:
    """A host with four VCPU of which eight are taken: five by one, three by two."""
    cloud.add('host', VCPU=8)
    cloud.take('one', {'host': {'VCPU': 5}})
    cloud.take('two', {'host': {'VCPU': 3}})
    cloud.give('host', VCPU=4)
    return cloud


@pytest.mark.parametrize('amount', [5, 4, 1])
def test_an_overcommitted_provider_accepts_what_makes_it_no_worse(
    shrunk: Cloud, amount: int
) -> None:
    shrunk.take('one', {'host': {'VCPU': amount}})

    assert shrunk.has('one') == {HOST: {'VCPU': amount}}


def test_an_overcommitted_provider_refuses_what_makes_it_worse(shrunk: Cloud) -> None:
    assert refusal(shrunk, shrunk.claim('one', {'host': {'VCPU': 6}})) == exceeds('host')
    assert refusal(shrunk, shrunk.claim('new', {'host': {'VCPU': 1}})) == exceeds('host')


def test_consumers_that_swap_on_an_overcommitted_provider_are_judged_by_their_sum(
    shrunk: Cloud,
) -> None:
    def swap(one: int, two: int) -> tuple[Claim, Claim]:
        return (
            shrunk.claim('one', {'host': {'VCPU': one}}),
            shrunk.claim('two', {'host': {'VCPU': two}}),
        )

    assert refusal(shrunk, *swap(4, 5)) == exceeds('host')
    shrunk.write(*swap(3, 5))
    assert shrunk.has('two') == {HOST: {'VCPU': 5}}


def test_units_are_checked_on_an_overcommitted_provider(shrunk: Cloud) -> None:
    shrunk.give('host', VCPU={'total': 4, 'max_unit': 4})

    assert refusal(shrunk, shrunk.claim('one', {'host': {'VCPU': 5}})) == violates('host')
    shrunk.take('one', {'host': {'VCPU': 4}})


def test_a_provider_that_stays_over_capacity_is_logged(
    shrunk: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        shrunk.take('one', {'host': {'VCPU': 4}})

    assert any(HOST in record.getMessage() for record in caplog.records)


def test_another_class_of_an_overcommitted_provider_is_judged_by_itself(shrunk: Cloud) -> None:
    shrunk.give('host', VCPU=4, DISK_GB=10)

    shrunk.take('new', {'host': {'DISK_GB': 10}})
    assert refusal(shrunk, shrunk.claim('newer', {'host': {'DISK_GB': 1}})) == exceeds(
        'host', 'DISK_GB'
    )


# What is told first


def test_a_stale_consumer_is_reported_before_an_unknown_provider(hosts: Cloud) -> None:
    claim = hosts.claim('server', {'nobody': {'CUSTOM_NOBODY': 99}}, 7)

    assert refusal(hosts, claim) == 'consumer generation conflict - expected null but got 7'


def test_an_unknown_provider_is_reported_before_an_unknown_class(hosts: Cloud) -> None:
    claims = [
        hosts.claim('server', {'host': {'CUSTOM_NOBODY': 99}}),
        hosts.claim('other', {'nobody': {'VCPU': 1}}),
    ]

    assert refusal(hosts, *claims) == (
        f"Allocation for resource provider '{uuid_of('nobody')}' that does not exist."
    )


def test_an_unknown_class_is_reported_before_exceeded_capacity(hosts: Cloud) -> None:
    claim = hosts.claim('server', {'host': {'VCPU': 99, 'CUSTOM_NOBODY': 1}})

    assert refusal(hosts, claim) == 'No such resource class CUSTOM_NOBODY.'


def test_a_provider_without_any_wanted_class_is_reported_before_exceeded_capacity(
    hosts: Cloud,
) -> None:
    hosts.add('bare', MEMORY_MB=1)
    claim = hosts.claim('server', {'host': {'VCPU': 99}, 'bare': {'DISK_GB': 1}})

    told = refusal(hosts, claim)

    assert told == lacks('bare', 'VCPU, DISK_GB')


def test_missing_inventory_is_reported_with_its_class(hosts: Cloud) -> None:
    claim = hosts.claim('server', {'host': {'VCPU': 1}, 'other': {'DISK_GB': 1}})

    assert refusal(hosts, claim) == lacks('other', 'DISK_GB')


def test_exceeded_capacity_has_no_error_code_of_its_own(hosts: Cloud) -> None:
    for wanted in ({'host': {'VCPU': 99}}, {'other': {'DISK_GB': 1}}):
        with pytest.raises(errors.UnableToAllocate) as raised:
            hosts.take('server', wanted)
        assert raised.value.code == 'placement.undefined_code'
        assert raised.value.status == 409


# One transaction


@pytest.mark.parametrize(
    'wanted',
    [
        {'host': {'VCPU': 99}},
        {'host': {'VCPU': 1}, 'other': {'VCPU': 9}},
        {'nobody': {'VCPU': 1}},
        {'host': {'CUSTOM_NOBODY': 1}},
        {'host': {'PGPU': 1}},
    ],
)
def test_a_refused_claim_leaves_no_project_user_type_or_consumer(
    hosts: Cloud, wanted: dict[str, dict[str, int]]
) -> None:
    refusal(
        hosts,
        hosts.claim('good', {'host': {'VCPU': 1}}, project='p', user='u', consumer_type='T'),
        hosts.claim('bad', wanted, project='q', user='v', consumer_type='U'),
    )

    for table in (tables.projects, tables.users, tables.consumer_types, tables.consumers):
        assert hosts.rows(table.c.id) == []


def test_a_refused_claim_leaves_the_owner_and_type_of_a_consumer(hosts: Cloud) -> None:
    hosts.take('server', {'host': {'VCPU': 1}}, project='p', user='u', consumer_type='T')

    refusal(
        hosts,
        hosts.claim('server', {'host': {'VCPU': 99}}, project='q', user='v', consumer_type='U'),
    )

    found = consumer(hosts, 'server')
    assert (found.project_id, found.user_id, found.consumer_type) == ('p', 'u', 'T')


def test_a_failure_in_the_last_statement_leaves_nothing(
    hosts: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong, and wherever: everything is one transaction."""
    before = hosts.everything()

    def fail(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError('the power is off')

    with monkeypatch.context() as patches:
        patches.setattr(ChangeFeed, 'record', fail)
        with pytest.raises(RuntimeError, match='the power is off'):
            hosts.take('server', {'host': {'VCPU': 1}})

    assert hosts.everything() == before
    hosts.take('server', {'host': {'VCPU': 1}})


# What a claim costs


def cost(cloud: Cloud, *claims: Claim) -> int:
    """The number of statements of a write."""
    with cloud.statements() as statements:
        cloud.write(*claims)
    return len(statements)


def kind(statement: str) -> str:
    """What a statement does, and the table that it does it to."""
    verb, *rest = statement.split()
    before = {'INSERT': 'INTO', 'DELETE': 'FROM', 'SELECT': 'FROM', 'UPDATE': 'UPDATE'}[verb]
    # The last of them, for columns may be sums over other tables.
    place = max(place for place, word in enumerate([verb, *rest]) if word == before)
    return f'{verb} {[verb, *rest][place + 1]}'


CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'PCPU', 'VGPU', 'FPGA')


@pytest.fixture
def many(cloud: Cloud) -> Cloud:
    """Twelve hosts with six classes each; those who own consumers are known already."""
    for number in range(12):
        cloud.add(f'host{number}')
        cloud.give(f'host{number}', **dict.fromkeys(CLASSES, 1000))
    cloud.take('known', {'host0': {'VCPU': 1}}, consumer_type='INSTANCE')
    return cloud


def amounts(hosts: int, classes: int) -> dict[str, dict[str, int]]:
    """One of each of some classes from each of some hosts."""
    return {f'host{number}': dict.fromkeys(CLASSES[:classes], 1) for number in range(hosts)}


def test_a_claim_costs_the_same_for_many_providers_and_classes(many: Cloud) -> None:
    few, lots = (
        (
            cost(many, many.claim(name, amounts(*size), None, consumer_type='INSTANCE')),
            cost(many, many.claim(name, amounts(*size), 1, consumer_type='INSTANCE')),
            cost(many, many.claim(name, {}, 2, consumer_type='INSTANCE')),
        )
        for name, size in (('few', (2, 1)), ('lots', (2, 6)))
    )

    assert few == lots


def test_a_claim_of_very_many_amounts_costs_one_statement_more(many: Cloud) -> None:
    assert MAX_OPTIMISTIC_AMOUNTS == 12
    at_once, beyond, far_beyond = (
        cost(many, many.claim(str(size), amounts(*size), None, consumer_type='INSTANCE'))
        for size in ((2, 6), (7, 2), (12, 6))
    )

    assert beyond == far_beyond == at_once + 1


def test_a_new_consumer_costs_four_statements_and_its_release_three(
    many: Cloud,
) -> None:
    for name in ('first', 'second'):
        many.take(name, amounts(1, 2), generation=None, consumer_type='INSTANCE')

    with many.statements(by_a_new_process=False) as statements:
        many.take('server', amounts(1, 2), generation=None, consumer_type='INSTANCE')
    assert list(map(kind, statements)) == [
        'INSERT consumers',
        'UPDATE resource_providers',
        'INSERT allocations',
        'INSERT placement_provider_changes',
    ]
    with many.statements(by_a_new_process=False) as statements:
        transaction.release(many.context, uuid_of('server'))
    assert list(map(kind, statements)) == [
        'DELETE consumers',
        'DELETE allocations',
        'INSERT placement_provider_changes',
    ]


def test_release_without_delete_returning_reads_the_providers_first(
    many: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such is MySQL, unlike MariaDB."""
    many.take('server', amounts(3, 2))
    monkeypatch.setattr(many.database.engine.dialect, 'delete_returning', False)

    with many.statements(by_a_new_process=False) as statements:
        transaction.release(many.context, uuid_of('server'))
    assert list(map(kind, statements)) == [
        'DELETE consumers',
        'SELECT allocations',
        'DELETE allocations',
        'INSERT placement_provider_changes',
    ]
    assert many.has('server') == {}
    with pytest.raises(errors.AllocationsNotFound):
        transaction.release(many.context, uuid_of('server'))


def test_a_claim_of_the_last_unit_is_checked_against_inventories_and_fits(hosts: Cloud) -> None:
    """Databases differ in the last digits of floats, and do not decide where these matter."""
    hosts.give('host', VCPU={'total': 4, 'allocation_ratio': 2.0})
    hosts.take('known', {'host': {'VCPU': 1}})
    with hosts.statements(by_a_new_process=False) as statements:
        hosts.take('server', {'host': {'VCPU': 7}}, generation=None)

    assert 'SELECT inventories' in map(kind, statements)
    assert hosts.has('server') == {HOST: {'VCPU': 7}}
    assert refusal(hosts, hosts.claim('late', {'host': {'VCPU': 1}})) == exceeds('host')


def test_a_claim_of_a_whole_host_is_inserted_optimistically(hosts: Cloud) -> None:
    """Without overcommitment, as for bare metal, no product of floats is needed."""
    hosts.take('known', {'host': {'VCPU': 1}})
    with hosts.statements(by_a_new_process=False) as statements:
        hosts.take('server', {'host': {'VCPU': 7, 'DISK_GB': 100}}, generation=None)

    assert 'SELECT inventories' not in map(kind, statements)
    assert refusal(hosts, hosts.claim('late', {'host': {'VCPU': 1}})) == exceeds('host')


def test_a_claim_with_one_class_that_does_not_fit_writes_none(hosts: Cloud) -> None:
    wanted = {'host': {'VCPU': 1, 'DISK_GB': 101}}
    assert refusal(hosts, hosts.claim('server', wanted, None)) == exceeds('host', 'DISK_GB')
    hosts.take('server', {'host': {'VCPU': 1, 'DISK_GB': 100}}, generation=None)
    assert hosts.has('server') == {HOST: {'VCPU': 1, 'DISK_GB': 100}}


def test_a_write_costs_the_same_for_many_consumers(many: Cloud) -> None:
    def costs(count: int, generation: int | None) -> int:
        names = [f'{count}-{number}' for number in range(count)]
        wanted = amounts(2, 2)
        claims = [many.claim(name, wanted, generation, consumer_type='INSTANCE') for name in names]
        return cost(many, *claims)

    for generation in (None, 1):
        assert costs(2, generation) == costs(MAX_JOINED, generation)
        assert costs(MAX_JOINED + 1, generation) == costs(3 * MAX_JOINED, generation)


def test_new_owners_cost_the_same_however_many_there_are(many: Cloud) -> None:
    def costs(count: int) -> int:
        return cost(
            many,
            *(
                many.claim(
                    f'{count}-{number}',
                    amounts(1, 1),
                    project=f'project {count}-{number}',
                    user=f'user {count}-{number}',
                    consumer_type=f'TYPE_{count}_{number}',
                )
                for number in range(count)
            ),
        )

    assert costs(2) == costs(20)


def test_custom_classes_cost_the_same_however_many_there_are(cloud: Cloud) -> None:
    names = [f'CUSTOM_{number}' for number in range(8)]
    for name in names:
        ResourceClass.create(cloud.context, name)
    cloud.add('host')
    cloud.give('host', **dict.fromkeys(names, 100))

    def costs(consumer: str, count: int) -> int:
        return cost(cloud, cloud.claim(consumer, {'host': dict.fromkeys(names[:count], 1)}))

    cloud.take('known', {'host': {'CUSTOM_0': 1}})
    assert costs('few', 1) == costs('lots', 8)


# Very old data


def test_an_allocation_of_an_unknown_consumer_counts_and_is_not_shown(hosts: Cloud) -> None:
    hosts.take('ghost', {'host': {'VCPU': 5}})
    with hosts.database.writer() as connection:
        connection.execute(sa.delete(tables.consumers))

    host = hosts.provider('host')
    assert hosts.has('ghost') == {}
    assert allocation.list_by_provider(hosts.context, host) == []
    assert refusal(hosts, hosts.claim('server', {'host': {'VCPU': 4}})) == exceeds('host')
