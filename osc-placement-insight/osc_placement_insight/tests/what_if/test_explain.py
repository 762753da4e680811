# SPDX-License-Identifier: Apache-2.0
"""`openstack allocation candidate explain`."""

import csv

from osc_placement.resources.allocation_candidate import ListAllocationCandidate

from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.audit.nova import flavor
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.what_if.conftest import ZONES

EXPLAIN = ('allocation', 'candidate', 'explain')
REQUEST = 'req-51000000-0000-4000-8000-000000000001'


def test_text_shows_one_tree_and_what_is_missing_of_an_amount(openstack: Client) -> None:
    asked = ('--resource', 'VCPU=13', '--member-of', ZONES[0], '--provider', 'c3')
    printed = openstack(*EXPLAIN, *asked).lines()

    start = printed.index('This tree:')
    assert printed[start : start + 3] == [
        'This tree:',
        '  c3 (never fits)',
        f'    - aggregate {ZONES[0]}',
    ]
    assert '    - VCPU: 13 asked, 12 free of 16 (4 used, 0 reserved) on c2' in printed
    assert printed[-3:] == [
        f'    - 1 tree would fit without aggregate {ZONES[0]}',
        '    - 1 tree would fit with another amount of VCPU: 12 is the largest now, on 1',
        '      tree',
    ]


def test_text_says_all_that_would_have_to_change(openstack: Client) -> None:
    asked = ('--resource', 'VCPU=13', '--resource', 'VGPU=1', '--member-of', ZONES[0])
    printed = openstack(*EXPLAIN, *asked).out

    words = '1 tree would fit without asking for VGPU and with another amount of VCPU: 12 is the'
    assert words in ' '.join(printed.split())


def test_rows_are_the_conditions_in_the_order_of_testing(openstack: Client) -> None:
    asked = (*EXPLAIN, '--resource', 'VCPU=13', '--forbidden', 'COMPUTE_STATUS_DISABLED')
    header, *rows = csv.reader(openstack(*asked, '-f', 'csv').lines())

    assert header == ['group', 'condition', 'trees_before', 'trees_after', 'only']
    assert ['unsuffixed group', 'forbidden trait COMPUTE_STATUS_DISABLED', '3', '3', '0'] in rows


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


def test_of_several_searches_of_a_request_the_last_is_explained(
    openstack: Client, cloud: Cloud
) -> None:
    for amount in (17, 18):
        cloud.search(f'resources=VCPU:{amount}', REQUEST)
    printed = openstack(*EXPLAIN, '--request', REQUEST).out

    assert 'VCPU:18' in printed
    assert f'--request {REQUEST}"' in printed.replace('\n', ' ')


def test_a_flavor_is_asked_for_as_nova_does(openstack: Client) -> None:
    asked, _, verdict, *_others = openstack(*EXPLAIN, '--flavor', 'm1.large').lines()

    query = 'resources=VCPU:12&root_required=!COMPUTE_STATUS_DISABLED'
    assert asked == f'Flavor m1.large asks: {query}'
    assert verdict == 'Fits 2 trees of 3.'


def test_nova_asks_for_its_own_hosts_once_all_are_upgraded(
    openstack: Client, cloud: Cloud
) -> None:
    asked, query = [], 'resources=VCPU:12&root_required=!COMPUTE_STATUS_DISABLED'
    cloud.provider('c4', {'VCPU': 16}, traits=('COMPUTE_NODE', 'OWNER_NOVA'))
    for old in (False, True):
        if old:
            cloud.provider('c5', {'VCPU': 16}, traits=('COMPUTE_NODE',))
        words = ' '.join(openstack(*EXPLAIN, '--flavor', 'm1.large').lines())
        asked.append(words.partition('asks: ')[2].split()[0])

    assert asked == [f'required=OWNER_NOVA&{query}', query]


def test_what_of_a_flavor_is_not_known_is_told(openstack: Client, cloud: Cloud) -> None:
    cloud.nova.flavors.append(flavor(name='odd', hw__numa_nodes='2'))

    printed = openstack(*EXPLAIN, '--flavor', 'odd').out
    assert 'Not translated: hw:numa_nodes=2 (not asked of Placement' in printed
    refusal = openstack(*EXPLAIN, '--flavor', 'm9').refusal()
    assert refusal.startswith('nova has no flavor m9')
