# SPDX-License-Identifier: Apache-2.0
"""Claims (specification: allocations)."""

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.schema import tables
from placement.objects.allocation import AllocationList
from placement.objects.claim import Claim
from placement.objects.resource_class import ResourceClass
from placement.tests.unit.objects.cloud import Cloud, uuid_of


@pytest.fixture
def hosts(cloud: Cloud) -> Cloud:
    """Two hosts with eight VCPU each, and a disk in one of them."""
    cloud.add('host', VCPU=8, DISK_GB=100)
    cloud.add('other', VCPU=8)
    return cloud


def assert_refused(cloud: Cloud, refusal: type[errors.PlacementError], *claims: Claim) -> None:
    """Check that claims are refused and that nothing of them is left behind."""
    before = cloud.everything()
    with pytest.raises(refusal):
        cloud.write(*claims)
    assert cloud.everything() == before


# Capacity


def test_an_amount_beyond_what_a_column_holds_is_refused_as_too_much(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 2**31 - 1, 'allocation_ratio': 1e30})

    claim = cloud.claim('server', {'host': {'VCPU': 2**70}})
    assert_refused(cloud, errors.InventoryConstraintsViolated, claim)


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
    assert_refused(
        hosts,
        errors.PlacementError,
        hosts.claim('good', {'host': {'VCPU': 1}}, project='p', user='u', consumer_type='T'),
        hosts.claim('bad', wanted, project='q', user='v', consumer_type='U'),
    )

    for table in (tables.projects, tables.users, tables.consumer_types, tables.consumers):
        assert hosts.rows(table.c.id) == []


# What a claim costs


def cost(cloud: Cloud, *claims: Claim) -> int:
    """The number of statements of a write."""
    with cloud.statements() as statements:
        cloud.write(*claims)
    return len(statements)


def kind(statement: str) -> str:
    """Return the verb of a statement and its table."""
    verb, *rest = statement.split()
    before = {'INSERT': 'INTO', 'DELETE': 'FROM', 'SELECT': 'FROM', 'UPDATE': 'UPDATE'}[verb]
    # The last of them, for columns may be sums over other tables.
    place = max(place for place, word in enumerate([verb, *rest]) if word == before)
    return f'{verb} {[verb, *rest][place + 1]}'


CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'PCPU', 'VGPU', 'FPGA')


@pytest.fixture
def many(cloud: Cloud) -> Cloud:
    """Twelve hosts with six classes each; the project, user and type of consumers exist."""
    for number in range(12):
        cloud.add(f'host{number}')
        cloud.give(f'host{number}', **dict.fromkeys(CLASSES, 1000))
    cloud.take('known', {'host0': {'VCPU': 1}}, consumer_type='INSTANCE')
    return cloud


def amounts(hosts: int, classes: int) -> dict[str, dict[str, int]]:
    """Amounts of 1 of the first classes on each of the first hosts."""
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


def test_a_new_consumer_costs_five_statements_and_its_release_three(many: Cloud) -> None:
    for name in ('first', 'second'):
        many.take(name, amounts(1, 2), generation=None, consumer_type='INSTANCE')

    with many.statements() as statements:
        many.take('server', amounts(1, 2), generation=None, consumer_type='INSTANCE')
    assert list(map(kind, statements)) == [
        'INSERT consumers',
        'UPDATE resource_providers',
        'SELECT inventories',
        'INSERT allocations',
        'INSERT placement_provider_changes',
    ]
    with many.statements() as statements:
        AllocationList.release(many.context, uuid_of('server'))
    assert list(map(kind, statements)) == [
        'DELETE consumers',
        'DELETE allocations',
        'INSERT placement_provider_changes',
    ]


def test_release_without_delete_returning_reads_the_providers_first(
    many: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Switch DELETE ... RETURNING off, which MySQL lacks, unlike MariaDB."""
    many.take('server', amounts(3, 2))
    monkeypatch.setattr(many.database.engine.dialect, 'delete_returning', False)

    with many.statements() as statements:
        AllocationList.release(many.context, uuid_of('server'))
    assert list(map(kind, statements)) == [
        'DELETE consumers',
        'SELECT allocations',
        'DELETE allocations',
        'INSERT placement_provider_changes',
    ]
    assert many.has('server') == {}
    with pytest.raises(errors.AllocationsNotFound):
        AllocationList.release(many.context, uuid_of('server'))


def test_a_write_costs_the_same_for_many_consumers_and_new_owners(many: Cloud) -> None:
    def costs(count: int, generation: int | None, owner: str) -> int:
        names = [f'{count}-{number}' for number in range(count)]
        return cost(
            many,
            *(
                many.claim(
                    name,
                    amounts(2, 2),
                    generation,
                    project=f'project{owner.format(name)}',
                    user=f'user{owner.format(name)}',
                    consumer_type=f'INSTANCE_{count}',
                )
                for name in names
            ),
        )

    for generation, owner in ((None, ' of {}'), (1, '')):
        assert costs(2, generation, owner) == costs(30, generation, owner)


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


def test_a_reshape_costs_the_same_for_many_consumers(cloud: Cloud) -> None:
    cloud.add('host', VCPU=1000)
    cloud.take('known', {'host': {'VCPU': 1}})

    def costs(count: int) -> int:
        names = [f'{count}-{number}' for number in range(count)]
        claims = [cloud.claim(name, {'host': {'VCPU': 1}}) for name in names]
        wanted = {uuid_of('host'): (cloud.generation('host'), cloud.inventories(VCPU=1000))}
        with cloud.statements() as statements:
            AllocationList.reshape(cloud.context, wanted, claims)
        return len(statements)

    assert costs(2) == costs(30)


# Very old data


def test_an_allocation_of_an_unknown_consumer_counts_and_is_not_shown(hosts: Cloud) -> None:
    hosts.take('ghost', {'host': {'VCPU': 5}})
    with hosts.database.engine.begin() as connection:
        connection.execute(sa.delete(tables.consumers))

    host = hosts.provider('host')
    assert hosts.has('ghost') == {}
    assert AllocationList.list_rows_by_provider(hosts.context, host) == []
    assert_refused(hosts, errors.CapacityExceeded, hosts.claim('server', {'host': {'VCPU': 4}}))
