# SPDX-License-Identifier: Apache-2.0
"""Steps of a scenario, as options of commands."""

import json
import pathlib
from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.audit import clouds, nova
from osc_placement_insight.tests.audit.nova import Nova, Server
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

SHOW = ('placement', 'capacity', 'show', '--resource', 'VCPU=4')
ZONE = 'a1000000-0000-4000-8000-00000000000a'
SERVER = 'd1000000-0000-4000-8000-000000000001'


@pytest.fixture(autouse=True)
def cloud(service: Service) -> Cloud:
    """Two hosts of 16 processors; 12 of the first, which is in zone az1, are in use."""
    cloud = Cloud(service)
    busy = cloud.provider('compute1', {'VCPU': 16}, aggregates=(ZONE,))
    cloud.provider('compute2', {'VCPU': 16})
    cloud.claim(SERVER, {busy: {'VCPU': 12}})
    return cloud


@pytest.fixture
def with_nova(service: Service) -> Iterator[Client]:
    """The client of the cloud as nova knows it."""
    known = Nova()
    large = nova.flavor(8, 0, 0, name='m1.large')
    known.flavors.append(large)
    known.aggregates.append(nova.aggregate(ZONE, 'first', 'az1', 'compute1'))
    for number, name in enumerate(('db-1', 'db-10', 'twin', 'twin')):
        uuid = SERVER if name == 'db-1' else f'd2000000-0000-4000-8000-00000000000{number}'
        known.servers[uuid] = Server(uuid, name, large, 'compute1')
    with clouds.client_with_nova(service, known) as openstack:
        yield openstack


def test_steps_are_taken_in_the_order_of_the_options(openstack: Client) -> None:
    steps = ('--add', 'compute1=2', '--remove', 'compute1', '--disable', 'compute2')

    assert openstack(*SHOW, *steps).lines() == [
        'Fits 12 times now, 12 times if empty.',
        'Before the scenario: 5 times now, 8 times if empty.',
        '',
        'resource class                capacity          used          free        usable',
        'VCPU                                48             0            48            48',
        '',
        'Scenario:',
        '  1. add compute1=2: 2 trees',
        '  2. remove compute1: 1 tree',
        '  3. disable compute2: 1 tree',
    ]
    refusal = openstack(*SHOW, '--remove', 'compute1', '--add', 'compute1=2').refusal()
    assert refusal.startswith("Scenario step 2 (add): there is no resource provider 'compute1'")


def test_what_is_over_capacity_afterwards_is_told(openstack: Client) -> None:
    printed = openstack(*SHOW, '--ratio', f'VCPU=0.5@{ZONE}').lines()

    assert printed[0] == 'Fits 4 times now, 6 times if empty.'
    assert printed[-2:] == ['Over capacity after it: 1 provider', '  compute1: VCPU 12 of 8']


def test_zones_servers_and_flavors_have_the_names_of_nova(with_nova: Client) -> None:
    steps = ('--release', 'db-1', '--disable', '@az1', '--claim', 'm1.large=3')
    printed = with_nova(*SHOW, *steps).lines()

    (summary,) = (line for line in printed if line.startswith('  3. '))
    assert printed[printed.index('Scenario:') + 1 :][:2] == [
        '  1. release db-1: 1 consumer released',
        '  2. disable @az1: 1 tree',
    ]
    assert summary.startswith('  3. claim m1.large=3: 2 of 3 find a place. Fits nowhere now')
    ratio = with_nova(*SHOW, '--ratio', 'VCPU=2.0@az1', '--ratio', 'VCPU=3@compute2').lines()
    assert ratio[0] == 'Fits 17 times now, 20 times if empty.'


def test_names_that_nova_does_not_know_or_knows_twice_are_refused(with_nova: Client) -> None:
    assert with_nova(*SHOW, '--release', 'db').refusal() == 'nova has no server db.'
    assert with_nova(*SHOW, '--remove', '@az9').refusal() == (
        'nova has no aggregate or zone az9. List them with "openstack aggregate list --long".'
    )
    assert with_nova(*SHOW, '--release', 'twin').refusal() == (
        'There are 2 servers of the name twin: d2000000-0000-4000-8000-000000000002, '
        'd2000000-0000-4000-8000-000000000003. Name one by its UUID.'
    )


def test_steps_of_a_file_are_taken_where_it_is_named(
    openstack: Client, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = pathlib.Path('steps.yaml')
    path.write_text('- remove: [compute1]\n- {add: {like: compute2, count: 1}}\n')
    printed = openstack(*SHOW, '--add', 'compute1=1', '--scenario', str(path)).lines()

    assert printed[-3:] == [
        '  1. add compute1=1: 1 tree',
        f'  2. remove of {path}: 1 tree',
        f'  3. add of {path}: 1 tree',
    ]
    path.write_text('remove: [compute1]')
    refusal = openstack(*SHOW, '--scenario', str(path)).refusal()
    assert refusal.startswith(f'{path} is not a list of steps, such as')


def test_an_explanation_is_about_the_cloud_after_the_steps(openstack: Client) -> None:
    asked = ['--resource', 'VCPU=16', '--forbidden', 'COMPUTE_STATUS_DISABLED']
    asked += ['--provider', 'compute1', '--disable', 'compute2', '--release', SERVER]
    printed = openstack('allocation', 'candidate', 'explain', *asked).lines()

    assert printed[0] == 'fits: Fits 1 tree of 2.'
    assert printed[2:4] == ['This tree:', '  compute1 (fits)']
    assert printed[-2:] == [
        '  1. disable compute2: 1 tree',
        f'  2. release {SERVER}: 1 consumer released',
    ]


def test_flavors_are_counted_before_and_after(with_nova: Client) -> None:
    rows = with_nova(
        'placement', 'capacity', 'list', '--all-flavors', '--add', 'compute1=1', '-f', 'json'
    ).values()

    assert rows == [
        {
            'flavor': 'm1.large',
            'now_at_least': 4, 'now_at_most': 4,
            'if_empty_at_least': 6, 'if_empty_at_most': 6,
            'before_now_at_least': 2, 'before_now_at_most': 2,
            'before_if_empty_at_least': 4, 'before_if_empty_at_most': 4,
            'note': '',
        }
    ]  # fmt: skip


def test_whole_answers_are_shaped_as_without_a_scenario(openstack: Client) -> None:
    plain = openstack(*SHOW, '-f', 'json').values()
    after = openstack(*SHOW, '--remove', 'compute1', '-f', 'json').values()

    names = ('now', 'if_empty', 'exact', 'fragmentation')
    assert after['before'] == {name: plain[name] for name in names}
    assert json.dumps(after['now']) == '{"at_least": 4, "at_most": 4}'
