# SPDX-License-Identifier: Apache-2.0
"""Sums of what is taken (specification: usages)."""

import pytest

from placement.objects import usage
from placement.objects.usage import UsageList
from placement.tests.unit.objects.cloud import Cloud

Sums = dict[str | None, dict[str, int]]


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """Two projects: one with two instances, a migration and a consumer without type."""
    cloud.add('host', VCPU=100, DISK_GB=1000, MEMORY_MB=1000)
    cloud.add('other', VCPU=100)
    cloud.take(
        'one', {'host': {'VCPU': 2, 'DISK_GB': 5}, 'other': {'VCPU': 1}}, consumer_type='INSTANCE'
    )
    cloud.take('two', {'host': {'VCPU': 4}}, user='v', consumer_type='INSTANCE')
    cloud.take('three', {'host': {'VCPU': 8}}, consumer_type='MIGRATION')
    cloud.take('four', {'host': {'VCPU': 16}})
    cloud.take('stranger', {'host': {'VCPU': 32}}, project='q', consumer_type='INSTANCE')
    return cloud


def sums(usages: UsageList) -> Sums:
    """What is used by type and class, and of how many consumers, as `count`."""
    found: Sums = {}
    for one in usages.objects:
        of_type = found.setdefault(one.consumer_type, {'count': one.consumer_count})
        assert of_type['count'] == one.consumer_count
        of_type[one.resource_class] = one.used
    return found


def of(cloud: Cloud, project: str = 'project', user: str | None = None) -> UsageList:
    return UsageList.get_by_project(cloud.context, project, user)


def test_a_provider_shows_each_class_that_it_has_even_if_unused(cloud: Cloud) -> None:
    rows = usage.list_by_provider(cloud.context, cloud.provider('host'))

    assert {row.resource_class: row.used for row in rows} == {
        'VCPU': 62,
        'DISK_GB': 5,
        'MEMORY_MB': 0,
    }
    assert {type(row.used) for row in rows} == {int}


def test_a_provider_without_inventory_shows_nothing(cloud: Cloud) -> None:
    assert usage.list_by_provider(cloud.context, cloud.add('bare')) == []


def test_usages_of_a_project_are_grouped_by_type(cloud: Cloud) -> None:
    assert sums(of(cloud)) == {
        'INSTANCE': {'count': 2, 'VCPU': 7, 'DISK_GB': 5},
        'MIGRATION': {'count': 1, 'VCPU': 8},
        None: {'count': 1, 'VCPU': 16},
    }


def test_usages_can_be_limited_to_one_user(cloud: Cloud) -> None:
    assert sums(of(cloud, user='v')) == {'INSTANCE': {'count': 1, 'VCPU': 4}}


@pytest.mark.parametrize(('project', 'user'), [('r', None), ('project', 'w'), ('q', 'v')])
def test_an_unknown_project_has_no_usages(cloud: Cloud, project: str, user: str | None) -> None:
    assert sums(of(cloud, project, user)) == {}


def test_of_type_returns_usages_of_one_type(cloud: Cloud) -> None:
    assert sums(of(cloud).of_type('MIGRATION')) == {'MIGRATION': {'count': 1, 'VCPU': 8}}
    assert sums(of(cloud).of_type(None)) == {None: {'count': 1, 'VCPU': 16}}
    assert sums(of(cloud).of_type('UNKNOWN')) == {}


def test_under_one_type_sums_all_types(cloud: Cloud) -> None:
    assert sums(of(cloud).under_one_type('all')) == {'all': {'count': 4, 'VCPU': 31, 'DISK_GB': 5}}
    assert sums(of(cloud, 'r').under_one_type('all')) == {}


def test_a_type_with_the_name_all_is_an_ordinary_type(cloud: Cloud) -> None:
    cloud.take('odd', {'host': {'VCPU': 1}}, consumer_type='ALL')

    assert sums(of(cloud).of_type('ALL')) == {'ALL': {'count': 1, 'VCPU': 1}}


def test_a_consumer_without_allocations_is_not_counted(cloud: Cloud) -> None:
    cloud.take('two', {})

    assert sums(of(cloud).of_type('INSTANCE')) == {
        'INSTANCE': {'count': 1, 'VCPU': 3, 'DISK_GB': 5}
    }


def test_a_sum_may_exceed_the_column_of_an_amount(cloud: Cloud) -> None:
    largest = 2**31 - 1
    for name in ('big', 'bigger'):
        cloud.add(name, MEMORY_MB=largest)
        cloud.take(f'user of {name}', {name: {'MEMORY_MB': largest}}, project='vast')

    assert sums(of(cloud, 'vast'))[None]['MEMORY_MB'] == 2 * largest
