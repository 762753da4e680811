# SPDX-License-Identifier: Apache-2.0
"""`openstack allocation candidate explain`."""

import csv
from collections.abc import Iterator

import pytest
from osc_placement.resources.allocation_candidate import ListAllocationCandidate

from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.nova import flavor
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

EXPLAIN = ('allocation', 'candidate', 'explain')
ZONE = 'a1000000-0000-4000-8000-00000000000a'
REQUEST = 'req-51000000-0000-4000-8000-000000000001'
FLAVORS = [
    flavor(name='m1.large', vcpus=8, ram=8192, disk=20),
    flavor(name='odd', hw__numa_nodes='2'),
]


@pytest.fixture(autouse=True)
def cloud(service: Service) -> Cloud:
    """Two hosts, one of them disabled, the other with 4 of 16 processors free."""
    cloud = Cloud(service)
    amounts = {'VCPU': 16, 'MEMORY_MB': 32768, 'DISK_GB': 500}
    busy = cloud.provider('compute1', amounts, ('HW_CPU_X86_AVX2',), (ZONE,))
    cloud.provider('compute2', amounts, ('COMPUTE_STATUS_DISABLED',))
    cloud.claim('d1000000-0000-4000-8000-000000000001', {busy: {'VCPU': 12}})
    return cloud


@pytest.fixture
def with_nova(service: Service) -> Iterator[Client]:
    """The client of a cloud with nova as well."""
    with clouds.client_with_flavors(service, FLAVORS) as client:
        yield client


def test_text_shows_verdict_funnel_nearest_trees_and_what_would_help(openstack: Client) -> None:
    asked = ('--resource', 'VCPU=8', '--forbidden', 'COMPUTE_STATUS_DISABLED')

    assert openstack(*EXPLAIN, *asked).lines() == [
        'full: Fits nowhere now, but would if nothing were used: VCPU: 8 asked, most free',
        '4, largest 16 (used) rules out the only tree left without trait',
        'COMPUTE_STATUS_DISABLED. 1 tree would fit without forbidden trait',
        'COMPUTE_STATUS_DISABLED. 1 tree would fit with another amount of VCPU: 4 is the',
        'largest now, on 1 tree. 1 tree of 2 is disabled (COMPUTE_STATUS_DISABLED):',
        'compute2.',
        '',
        'Unsuffixed group: VCPU:8, not COMPUTE_STATUS_DISABLED',
        '  trees    only  condition',
        '      2          examined',
        '      1       1  forbidden trait COMPUTE_STATUS_DISABLED',
        '      0       1  VCPU: 8 asked, most free 4, largest 16 (used)',
        '',
        'Nearest trees:',
        '  compute1 (full)',
        '    - VCPU: 8 asked, 4 free of 16 (12 used, 0 reserved) on compute1',
        '  compute2 (infeasible)',
        '    - forbidden trait COMPUTE_STATUS_DISABLED',
        '',
        'It would fit:',
        '    - 1 tree without forbidden trait COMPUTE_STATUS_DISABLED',
        '    - 1 tree with VCPU:4 in place of 8',
    ]


def test_the_tree_of_a_provider_is_reported(openstack: Client) -> None:
    asked = ('--resource', 'VCPU=1', '--forbidden', 'COMPUTE_STATUS_DISABLED')
    printed = openstack(*EXPLAIN, *asked, '--provider', 'compute2').lines()

    assert printed[:6] == [
        'fits: Fits 1 tree of 2.',
        '',
        'This tree:',
        '  compute2 (infeasible)',
        '    - forbidden trait COMPUTE_STATUS_DISABLED',
        '',
    ]


def test_rows_are_the_conditions_in_the_order_of_testing(openstack: Client) -> None:
    asked = (*EXPLAIN, '--resource', 'VCPU=8', '--required', 'HW_CPU_X86_AVX2')
    header, *rows = csv.reader(openstack(*asked, '-f', 'csv').lines())

    assert header == ['group', 'condition', 'trees_before', 'trees_after', 'only']
    assert ['unsuffixed group', 'required trait HW_CPU_X86_AVX2', '2', '1', '1'] in rows


def test_groups_are_those_of_the_list_of_candidates(openstack: Client) -> None:
    asked = ['--resource', 'DISK_GB=1', '--group', '_A', '--resource', 'VCPU=1']
    asked += ['--required', 'HW_CPU_X86_AVX2,HW_CPU_X86_SSE', '--group', '_B']
    asked += ['--resource', 'MEMORY_MB=1', '--group-policy', 'isolate', '--limit', '3']
    answer = openstack(*EXPLAIN, *asked, '-f', 'json').values()

    groups = {group['suffix']: group for group in answer['groups']}
    assert groups['_A']['required'] == [['HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE']]
    assert groups['_B']['resources'] == {'MEMORY_MB': 1}
    assert answer['combination'][-1]['condition']['reason'] == 'isolate'


def test_every_option_of_the_list_of_candidates_is_there(openstack: Client) -> None:
    listed = ListAllocationCandidate(None, None).get_parser('list')._option_string_actions
    explained = openstack(*EXPLAIN, '--help').out

    assert [option for option in listed if option not in f'{explained} --aggregate-uuid'] == []


def test_what_a_request_of_nova_asked_for_is_explained(openstack: Client, cloud: Cloud) -> None:
    cloud.search('limit=1000&resources=VCPU:8&root_required=!COMPUTE_STATUS_DISABLED', REQUEST)
    printed = openstack(*EXPLAIN, '--request', REQUEST).lines()

    assert printed[:2] == [
        f'{REQUEST} asked:',
        'resources=VCPU:8&root_required=!COMPUTE_STATUS_DISABLED',
    ]
    assert printed[3].startswith('full: ')


def test_of_several_searches_of_a_request_the_last_is_explained(
    openstack: Client, cloud: Cloud
) -> None:
    for amount in (8, 9):
        cloud.search(f'resources=VCPU:{amount}&required=HW_CPU_X86_AVX2', REQUEST)
    printed = openstack(*EXPLAIN, '--request', REQUEST).out

    assert 'VCPU:9' in printed
    assert f'--request {REQUEST}"' in printed.replace('\n', ' ')


def test_a_flavor_is_asked_for_as_nova_does(with_nova: Client) -> None:
    printed = with_nova(*EXPLAIN, '--flavor', 'm1.large').lines()

    assert printed[:2] == [
        'Flavor m1.large asks:',
        'resources=DISK_GB:20,MEMORY_MB:8192,VCPU:8&root_required=!COMPUTE_STATUS_DISABLED',
    ]
    assert printed[3].startswith('full: ')


def test_what_of_a_flavor_is_not_known_is_told(with_nova: Client) -> None:
    printed = with_nova(*EXPLAIN, '--flavor', 'odd').out
    assert 'Not translated: hw:numa_nodes=2 (not asked of Placement' in printed

    refusal = with_nova(*EXPLAIN, '--flavor', 'm9').refusal()
    assert refusal.startswith('nova has no flavor m9')
