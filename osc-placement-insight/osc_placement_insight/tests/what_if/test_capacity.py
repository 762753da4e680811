# SPDX-License-Identifier: Apache-2.0
"""`openstack placement capacity show` and `list`."""

import csv

import pytest

from osc_placement_insight.commands import capacity
from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.audit.nova import flavor
from osc_placement_insight.tests.client import Client

SHOW = ('placement', 'capacity', 'show')
LIST = ('placement', 'capacity', 'list')
COUNTS = ['now_at_least', 'now_at_most', 'if_empty_at_least', 'if_empty_at_most']


def test_rows_are_the_counts_and_the_resource_classes(openstack: Client, cloud: Cloud) -> None:
    cloud.provider('c4', {'VCPU': 16, 'MEMORY_MB': 1024})
    asked = (*SHOW, '--resource', 'VCPU=3', '--resource', 'MEMORY_MB=512')

    assert [*csv.reader(openstack(*asked, '-f', 'csv').lines())] == [
        ['of', 'at_least', 'at_most', 'capacity', 'used', 'free', 'usable'],
        ['now', '2', '2', '', '', '', ''],
        ['if_empty', '2', '2', '', '', '', ''],
        ['VCPU', '', '', '64', '20', '44', '6'],
        ['MEMORY_MB', '', '', '1024', '0', '1024', '1024'],
    ]
    rows = openstack(*asked, '--add', 'c4=1', '-f', 'value', '-c', 'of', '-c', 'at_least').lines()
    assert rows[:4] == ['now 4', 'if_empty 4', 'before now 2', 'before if_empty 2']
    lines = openstack(*asked).lines()
    assert [line.split()[0] for line in lines[3:]] == ['VCPU', 'MEMORY_MB']


def test_each_tree_is_listed_across_pages(
    openstack: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, 'PAGE', 2)
    rows = openstack(*LIST, '--resource', 'VCPU=3', '-f', 'json').values()

    assert list(rows[0]) == ['tree', *COUNTS]
    assert [list(row.values()) for row in rows] == [
        ['c1', 0, 0, 5, 5],
        ['c2', 4, 4, 5, 5],
        ['c3', 5, 5, 5, 5],
    ]


def test_trees_that_can_never_serve_it_are_listed_when_asked_for(openstack: Client) -> None:
    asked = (*LIST, '--resource', 'VCPU=17', '-f', 'value', '-c', 'tree')

    assert openstack(*asked).lines() == []
    assert openstack(*asked, '--all-trees').lines() == ['c1', 'c2', 'c3']


def test_each_flavor_is_listed_with_what_is_not_known_of_it(
    openstack: Client, cloud: Cloud
) -> None:
    cloud.nova.flavors = [
        flavor(1, 0, 0, name='small'),
        flavor(2, 0, 0, name='numa', hw__numa_nodes='2'),
        flavor(2, 0, 0, name='unknown', trait__CUSTOM_NOBODY='required'),
    ]
    rows = openstack(*LIST, '--all-flavors', '-f', 'json').values()

    numa, small, unknown = (list(row.values()) for row in rows)
    assert small == ['small', 28, 28, 48, 48, '']
    assert numa[:2] == ['numa', 14]
    assert numa[-1].startswith('Not translated: hw:numa_nodes=2')
    assert unknown[1:-1] == [None] * 4
    assert 'CUSTOM_NOBODY' in unknown[-1]
