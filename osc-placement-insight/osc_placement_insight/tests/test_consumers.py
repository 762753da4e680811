# SPDX-License-Identifier: Apache-2.0
"""`openstack placement consumer list` and `openstack placement usage list`."""

import csv
from collections.abc import Mapping

import pytest

from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

CONSUMERS = ('placement', 'consumer', 'list')
USAGES = ('placement', 'usage', 'list')
SERVER = 'd1000000-0000-4000-8000-000000000001'
LARGE = 'd1000000-0000-4000-8000-000000000002'
VOLUME = 'd1000000-0000-4000-8000-000000000003'


@pytest.fixture(autouse=True)
def hosts(service: Service) -> Mapping[str, str]:
    """The uuids of two hosts and a pool; a server on each host, one of which uses the pool."""
    cloud = Cloud(service)
    hosts = {name: cloud.provider(name, {'VCPU': 64}) for name in ('compute1', 'compute2')}
    hosts['pool'] = cloud.provider('pool', {'DISK_GB': 1000})
    cloud.claim(SERVER, {hosts['compute1']: {'VCPU': 2}}, 'INSTANCE')
    large = {hosts['compute2']: {'VCPU': 16}, hosts['pool']: {'DISK_GB': 40}}
    cloud.claim(LARGE, large, 'INSTANCE')
    cloud.claim(VOLUME, {hosts['compute1']: {'VCPU': 3}}, 'VOLUME', 'other', 'bob')
    return hosts


def test_consumers_of_a_host_are_listed_with_what_they_hold_of_it(
    openstack: Client, hosts: Mapping[str, str]
) -> None:
    rows = openstack(*CONSUMERS, '--provider', 'compute2', '-f', 'json').values()

    assert [(row['uuid'], row['resources']) for row in rows] == [(LARGE, {'VCPU': 16})]
    assert openstack(*CONSUMERS, '--provider', hosts['compute2'], '-f', 'json').values() == rows


def test_without_a_provider_all_that_a_consumer_holds_is_shown(
    openstack: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There are several pages.
    monkeypatch.setattr('osc_placement_insight.commands.consumers.PAGE', ('page_limit', '1'))
    rows = openstack(*CONSUMERS, '-f', 'json').values()

    assert {row['uuid']: row['resources'] for row in rows} == {
        SERVER: {'VCPU': 2},
        LARGE: {'VCPU': 16, 'DISK_GB': 40},
        VOLUME: {'VCPU': 3},
    }


@pytest.mark.parametrize(
    'options', [('--project', 'other'), ('--user', 'bob'), ('--type', 'VOLUME')]
)
def test_consumers_are_listed_by_owner_and_type(
    openstack: Client, options: tuple[str, str]
) -> None:
    both = (*options, '--provider', 'compute1')

    for given in (options, both):
        (row,) = openstack(*CONSUMERS, *given, '-f', 'json').values()
        assert row['uuid'] == VOLUME
        owner = (row['consumer_type'], row['project_id'], row['user_id'])
        assert owner == ('VOLUME', 'other', 'bob')


def test_consumers_are_listed_by_age(openstack: Client) -> None:
    assert openstack(*CONSUMERS, '--older-than', '1h', '-f', 'json').values() == []
    later = openstack(*CONSUMERS, '--older-than', '2100-01-01', '-f', 'json').values()
    assert len(later) == 3


def test_who_uses_most_is_listed_first(openstack: Client) -> None:
    sorted_by = ('--sort-column', 'VCPU', '--sort-descending')
    rows = openstack(*USAGES, '--by', 'project', *sorted_by, '-f', 'json').values()

    assert rows == [
        {'project_id': 'demo', 'consumer_count': 2, 'DISK_GB': 40, 'VCPU': 18},
        {'project_id': 'other', 'consumer_count': 1, 'DISK_GB': 0, 'VCPU': 3},
    ]


@pytest.mark.parametrize(
    ('by', 'name', 'names'),
    [
        ('user', 'user_id', {'alice', 'bob'}),
        ('type', 'consumer_type', {'INSTANCE', 'VOLUME'}),
        ('aggregate', 'aggregate', set()),
    ],
)
def test_usage_is_summed_by_user_type_and_aggregate(
    openstack: Client, by: str, name: str, names: set[str]
) -> None:
    header, *rows = csv.reader(openstack(*USAGES, '--by', by, '-f', 'csv').lines())

    assert header[:2] == [name, 'consumer_count']
    assert {row[0] for row in rows} == names
