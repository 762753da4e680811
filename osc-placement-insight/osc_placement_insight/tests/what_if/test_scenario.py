# SPDX-License-Identifier: Apache-2.0
"""Steps of a scenario, as options of commands."""

import json
import pathlib

import pytest

from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.what_if.conftest import ZONES

SHOW = ('placement', 'capacity', 'show', '--resource', 'VCPU=4')


def test_steps_are_taken_in_the_order_of_the_options(openstack: Client) -> None:
    steps = ('--add', 'c1=2', '--remove', 'c1', '--disable', 'c2')

    assert openstack(*SHOW, *steps).lines() == [
        'Fits 15 times now, 16 times if empty.',
        'Before the scenario: 7 times now, 12 times if empty.',
        '',
        'resource class                capacity          used          free        usable',
        'VCPU                                64             4            60            60',
        '',
        'Scenario:',
        '  1. add c1=2: 2 trees',
        '  2. remove c1: 1 tree',
        '  3. disable c2: 1 tree',
    ]
    refusal = openstack(*SHOW, '--remove', 'c1', '--add', 'c1=2').refusal()
    assert refusal.startswith("Scenario step 2 (add): there is no resource provider 'c1'")


def test_what_is_over_capacity_afterwards_is_told(openstack: Client) -> None:
    printed = openstack(*SHOW, '--ratio', f'VCPU=0.5@{ZONES[0]}').lines()

    assert printed[0] == 'Fits 5 times now, 8 times if empty.'
    assert printed[-2:] == ['Over capacity after it: 1 provider', '  c1: VCPU 16 of 8']


def test_zones_servers_and_flavors_have_the_names_of_nova(openstack: Client, cloud: Cloud) -> None:
    cloud.server('c3', {}, name='db-10')
    steps = ('--release', 'db-1', '--disable', '@az1', '--claim', 'm1.large=3')
    printed = openstack(*SHOW, *steps).lines()

    (summary,) = (line for line in printed if line.startswith('  3. '))
    assert printed[printed.index('Scenario:') + 1 :][:2] == [
        '  1. release db-1: 1 consumer released',
        '  2. disable @az1: 2 trees',
    ]
    assert summary.startswith('  3. claim m1.large=3: 1 of 3 find a place. Full now')
    ratio = openstack(*SHOW, '--ratio', 'VCPU=2.0@az1', '--ratio', 'VCPU=3@c3').lines()
    assert ratio[0] == 'Fits 23 times now, 28 times if empty.'


def test_names_that_nova_does_not_know_or_knows_twice_are_refused(
    openstack: Client, cloud: Cloud
) -> None:
    assert openstack(*SHOW, '--release', 'db').refusal() == 'nova has no server db.'
    assert openstack(*SHOW, '--remove', '@az9').refusal() == (
        'nova has no aggregate or zone az9. List them with "openstack aggregate list --long".'
    )
    twins = [cloud.server('c3', {}, name='twin') for _ in range(2)]
    assert openstack(*SHOW, '--release', 'twin').refusal() == (
        f'There are 2 servers of the name twin: {", ".join(twins)}. Name one by its UUID.'
    )


def test_steps_of_a_file_are_taken_where_it_is_named(
    openstack: Client, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = pathlib.Path('steps.yaml')
    path.write_text('- remove: [c1]\n- {add: {like: c2, count: 1}}\n')
    printed = openstack(*SHOW, '--add', 'c1=1', '--scenario', str(path)).lines()

    assert printed[-3:] == [
        '  1. add c1=1: 1 tree',
        f'  2. remove of {path}: 1 tree',
        f'  3. add of {path}: 1 tree',
    ]
    path.write_text('remove: [c1]')
    refusal = openstack(*SHOW, '--scenario', str(path)).refusal()
    assert refusal.startswith(f'{path} is not a list of steps, such as')


def test_an_explanation_is_about_the_cloud_after_the_steps(
    openstack: Client, cloud: Cloud
) -> None:
    db, web, _other = cloud.nova.servers
    asked = ['--resource', 'VCPU=16', '--forbidden', 'COMPUTE_STATUS_DISABLED']
    asked += ['--provider', 'c1', '--disable', 'c3', '--release', db, '--release', web]
    printed = openstack('allocation', 'candidate', 'explain', *asked).lines()

    assert printed[0] == 'Fits 1 tree of 3.'
    assert printed[2:4] == ['This tree:', '  c1 (fits)']
    assert printed[-3:] == [
        '  1. disable c3: 1 tree',
        f'  2. release {db}: 1 consumer released',
        f'  3. release {web}: 1 consumer released',
    ]


def test_flavors_are_counted_before_and_after(openstack: Client) -> None:
    rows = openstack(
        'placement', 'capacity', 'list', '--all-flavors', '--add', 'c1=1', '-f', 'json'
    ).values()

    assert rows[0] == {
        'flavor': 'm1.large',
        'now_at_least': 3, 'now_at_most': 3,
        'if_empty_at_least': 4, 'if_empty_at_most': 4,
        'before_now_at_least': 2, 'before_now_at_most': 2,
        'before_if_empty_at_least': 3, 'before_if_empty_at_most': 3,
        'note': '',
    }  # fmt: skip


def test_whole_answers_are_shaped_as_without_a_scenario(openstack: Client) -> None:
    plain = openstack(*SHOW, '-f', 'json').values()
    after = openstack(*SHOW, '--remove', 'c1', '-f', 'json').values()

    names = ('now', 'if_empty', 'exact', 'fragmentation')
    assert after['before'] == {name: plain[name] for name in names}
    assert json.dumps(after['now']) == '{"at_least": 7, "at_most": 7}'
