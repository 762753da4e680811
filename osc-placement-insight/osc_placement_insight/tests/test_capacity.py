# SPDX-License-Identifier: Apache-2.0
"""`openstack placement capacity show` and `list`."""

import csv

import pytest

from osc_placement_insight.commands import capacity
from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.nova import flavor
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

SHOW = ('placement', 'capacity', 'show')
LIST = ('placement', 'capacity', 'list')
COUNTS = ['now_at_least', 'now_at_most', 'if_empty_at_least', 'if_empty_at_most']


@pytest.fixture(autouse=True)
def cloud(service: Service) -> Cloud:
    """Two hosts of 16 processors, 12 of which are in use on the first."""
    cloud = Cloud(service)
    busy = cloud.provider('compute1', {'VCPU': 16, 'MEMORY_MB': 32768})
    cloud.provider('compute2', {'VCPU': 16, 'MEMORY_MB': 1024})
    cloud.claim('d1000000-0000-4000-8000-000000000001', {busy: {'VCPU': 12}})
    return cloud


def test_text_shows_how_often_a_request_fits_and_what_it_cannot_use(openstack: Client) -> None:
    assert openstack(*SHOW, '--resource', 'VCPU=3', '--resource', 'MEMORY_MB=1024').lines() == [
        'Fits 2 times now, 6 times if empty.',
        '',
        'resource class                capacity          used          free        usable',
        'VCPU                                32            12            20             6',
        'MEMORY_MB                       33,792             0        33,792         2,048',
    ]


def test_rows_are_the_resource_classes(openstack: Client) -> None:
    shown = openstack(*SHOW, '--resource', 'VCPU=3', '-f', 'csv').lines()

    assert [*csv.reader(shown)] == [
        ['resource_class', 'capacity', 'used', 'free', 'usable'],
        ['VCPU', '32', '12', '20', '18'],
    ]


def test_each_tree_is_listed_across_pages(
    openstack: Client, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        cloud.provider(f'more{number}', {'VCPU': number + 3})
    monkeypatch.setattr(capacity, 'PAGE', 2)
    rows = openstack(*LIST, '--resource', 'VCPU=3', '-f', 'json').values()

    assert list(rows[0]) == ['tree', *COUNTS]
    assert [list(row.values()) for row in rows] == [
        ['compute1', 1, 1, 5, 5],
        ['compute2', 5, 5, 5, 5],
        ['more0', 1, 1, 1, 1],
        ['more1', 1, 1, 1, 1],
        ['more2', 1, 1, 1, 1],
    ]


def test_trees_that_can_never_serve_it_are_listed_when_asked_for(openstack: Client) -> None:
    asked = (*LIST, '--resource', 'MEMORY_MB=2048', '-f', 'value', '-c', 'tree')

    assert openstack(*asked).lines() == ['compute1']
    assert openstack(*asked, '--all-trees').lines() == ['compute1', 'compute2']


def test_each_flavor_is_listed_with_what_is_not_known_of_it(service: Service) -> None:
    flavors = [
        flavor(1, 512, 0, name='small'),
        flavor(2, 512, 0, name='numa', hw__numa_nodes='2'),
        flavor(2, 512, 0, name='unknown', trait__CUSTOM_NOBODY='required'),
    ]
    with clouds.client_with_flavors(service, flavors) as openstack:
        rows = openstack(*LIST, '--all-flavors', '-f', 'json').values()

    numa, small, unknown = (list(row.values()) for row in rows)
    assert small == ['small', 6, 6, 18, 18, '']
    assert numa[:2] == ['numa', 4]
    assert numa[-1].startswith('Not translated: hw:numa_nodes=2')
    assert unknown[1:-1] == [None] * 4
    assert 'CUSTOM_NOBODY' in unknown[-1]
