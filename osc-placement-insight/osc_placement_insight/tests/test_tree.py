# SPDX-License-Identifier: Apache-2.0
"""`openstack placement tree show`."""

import csv
import io
import re

import pytest

from osc_placement_insight import provider_tree
from osc_placement_insight.commands import base, tree
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service, running

SHOW = ('placement', 'tree', 'show')
ZONE = 'a1000000-0000-4000-8000-00000000000a'
GPU = {'VGPU': {'total': 8, 'max_unit': 1}}
HOST_TRAITS = ('COMPUTE_NODE', 'HW_CPU_X86_AVX2', 'HW_CPU_X86_VMX')


#: One cloud for all tests, which only read what another one reads.
service = pytest.fixture(scope='module')(running)


@pytest.fixture(scope='module', autouse=True)
def host(service: Service) -> str:
    """The uuid of a host with two NUMA nodes, GPUs, virtual functions and shared storage."""
    cloud = Cloud(service)
    disk = {'DISK_GB': {'total': 600000, 'reserved': 20000}}
    cloud.provider('ceph', disk, ('MISC_SHARES_VIA_AGGREGATE',), (ZONE,))
    cloud.provider('other', disk, ('MISC_SHARES_VIA_AGGREGATE',))
    host = cloud.provider('gpu9.example.org', {'MEMORY_MB': 1024}, HOST_TRAITS, (ZONE,))
    nodes = [
        cloud.provider(
            f'gpu9.example.org_node{number}',
            {
                'PCPU': {'total': 32, 'reserved': 2},
                'VCPU': {'total': 32, 'allocation_ratio': 4.0},
                'MEMORY_MB': {'total': 1048576, 'reserved': 32768},
            },
            ('HW_NUMA_ROOT',),
            parent=host,
        )
        for number in range(2)
    ]
    for number in range(12):
        name = f'gpu9.example.org_pci_0000_{number:02}_00_0'
        cloud.provider(name, GPU, ('CUSTOM_NVIDIA_A40',), parent=nodes[number // 8])
    vfs = {'CUSTOM_SRIOV_NET_VF_OF_A_LONG_NAME': 64}
    cloud.provider('gpu9.example.org_nic', vfs, ('CUSTOM_PHYSNET_PUBLIC',), parent=nodes[1])
    gpu = cloud.send('GET', '/resource_providers?name=gpu9.example.org_pci_0000_03_00_0')
    held = {
        nodes[0]: {'PCPU': 30, 'MEMORY_MB': 1015808},
        gpu['resource_providers'][0]['uuid']: {'VGPU': 1},
    }
    cloud.claim('d1000000-0000-4000-8000-000000000001', held)
    return host


def drawn(openstack: Client, *arguments: str) -> list[str]:
    """The text, in which uuids have no digits of chance."""
    lines = openstack(*SHOW, *arguments).lines()
    return [re.sub('[0-9a-f]{8}-[0-9a-f-]{27}', 'UUID', line) for line in lines]


def test_a_host_with_gpus_is_drawn_in_80_columns(openstack: Client) -> None:
    assert max(map(len, openstack(*SHOW, 'gpu9.example.org').lines())) <= 80
    assert drawn(openstack, 'gpu9.example.org') == [
        'gpu9.example.org  UUID  generation 3',
        '│  MEMORY_MB                   ░░░░░░░░░░ 0 of 1,024',
        '│  traits: 3 others (--traits)',
        '│  aggregates: UUID',
        '├─ gpu9.example.org_node0',
        '│  │  MEMORY_MB                ██████████ 1,015,808 of 1,015,808, 32,768',
        '│  │    reserved',
        '│  │  PCPU                     ██████████ 30 of 30, 2 reserved',
        '│  │  VCPU                     ░░░░░░░░░░ 0 of 128',
        '│  │  traits: HW_NUMA_ROOT',
        '│  ├─ gpu9.example.org_pci_0000_00_00_0 to gpu9.example.org_pci_0000_02_00_0 (3',
        '│  │  alike)',
        '│  │     VGPU                  ░░░░░░░░░░ 0 of 8',
        '│  │     traits: CUSTOM_NVIDIA_A40',
        '│  ├─ gpu9.example.org_pci_0000_03_00_0',
        '│  │     VGPU                  █░░░░░░░░░ 1 of 8',
        '│  │     traits: CUSTOM_NVIDIA_A40',
        '│  └─ gpu9.example.org_pci_0000_04_00_0 to gpu9.example.org_pci_0000_07_00_0 (4',
        '│     alike)',
        '│        VGPU                  ░░░░░░░░░░ 0 of 8',
        '│        traits: CUSTOM_NVIDIA_A40',
        '└─ gpu9.example.org_node1',
        '   │  MEMORY_MB                ░░░░░░░░░░ 0 of 1,015,808, 32,768 reserved',
        '   │  PCPU                     ░░░░░░░░░░ 0 of 30, 2 reserved',
        '   │  VCPU                     ░░░░░░░░░░ 0 of 128',
        '   │  traits: HW_NUMA_ROOT',
        '   ├─ gpu9.example.org_nic',
        '   │     CUSTOM_SRIOV_NET_VF_OF_A_LONG_NAME ░░░░░░░░░░ 0 of 64',
        '   │     traits: CUSTOM_PHYSNET_PUBLIC',
        '   └─ gpu9.example.org_pci_0000_08_00_0 to gpu9.example.org_pci_0000_11_00_0 (4',
        '      alike)',
        '         VGPU                  ░░░░░░░░░░ 0 of 8',
        '         traits: CUSTOM_NVIDIA_A40',
        '',
        'shares with it: ceph',
        '   DISK_GB                     ░░░░░░░░░░ 0 of 580,000, 20,000 reserved',
        '   traits: MISC_SHARES_VIA_AGGREGATE',
        '   aggregates: UUID',
    ]


def test_any_provider_of_the_tree_names_it(openstack: Client, host: str) -> None:
    whole = drawn(openstack, 'gpu9.example.org')

    assert drawn(openstack, 'gpu9.example.org_nic') == whole
    assert drawn(openstack, host) == whole


def test_all_providers_and_traits_are_named_when_asked_for(openstack: Client) -> None:
    lines = drawn(openstack, 'gpu9.example.org', '--one-by-one', '--traits')

    assert len([line for line in lines if '_pci_' in line]) == 12
    assert '│  traits: COMPUTE_NODE, HW_CPU_X86_AVX2, HW_CPU_X86_VMX' in lines


def test_json_shows_the_providers_as_the_service_gave_them(openstack: Client, host: str) -> None:
    tree = openstack(*SHOW, host, '-f', 'json').values()

    assert len(tree['providers']) == 16
    assert {one['root_provider_uuid'] for one in tree['providers']} == {host}
    (ceph,) = tree['sharing_providers']
    assert ceph['inventories']['DISK_GB']['total'] == 600000


def test_rows_are_inventories_in_the_order_of_the_tree(openstack: Client) -> None:
    header, *rows = csv.reader(openstack(*SHOW, 'gpu9.example.org', '-f', 'csv').lines())

    assert tuple(header) == provider_tree.COLUMNS
    assert rows[0][:6] == ['gpu9.example.org', '', 'MEMORY_MB', '0', '1024', '1024']
    assert rows[2][:5] == ['gpu9.example.org_node0', 'gpu9.example.org', 'PCPU', '30', '30']
    assert rows[-1][0] == 'ceph'


def test_dot_draws_lines_to_children_and_dashed_lines_to_sharing_providers(
    openstack: Client, service: Service, host: str
) -> None:
    first, *lines, last = openstack(*SHOW, host, '-f', 'dot').lines()

    assert (first, last) == ('digraph {', '}')
    assert len([line for line in lines if '[label=' in line]) == 17
    assert len([line for line in lines if ' -> ' in line and 'dashed' not in line]) == 15
    assert len([line for line in lines if line.endswith(' [style=dashed];')]) == 1
    assert r'_nic\nCUSTOM_SRIOV_NET_VF_OF_A_LONG_NAME: 0 of 64"];' in '\n'.join(lines)
    # What quotes would end is escaped.
    Cloud(service).provider('a "b" \\c', {})
    assert r'[label="a \"b\" \\c"];' in openstack(*SHOW, 'a "b" \\c', '-f', 'dot').out


def test_more_than_there_is_is_told(openstack: Client, service: Service) -> None:
    cloud = Cloud(service)
    uuid = cloud.provider('full', {'VCPU': 16})
    cloud.claim('d1000000-0000-4000-8000-000000000002', {uuid: {'VCPU': 12}})
    body = {'resource_provider_generation': 3, 'total': 8}
    cloud.send('PUT', f'/resource_providers/{uuid}/inventories/VCPU', body)

    assert drawn(openstack, 'full')[1] == (
        '   VCPU                        ▓▓▓▓▓▓▓▓▓▓ 12 of 8, 4 too many'
    )


def test_a_tree_that_vanishes_while_it_is_read_is_told(
    openstack: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, '_providers', lambda *_arguments: [])

    words = 'The tree of gpu9.example.org has just changed; try again.'
    assert openstack(*SHOW, 'gpu9.example.org').refusal() == words


def test_a_terminal_without_lines_gets_others() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
    lines = ['├─ node0', '│  VCPU █░▓', 'plain']

    assert [*base.encodable(stream, lines, provider_tree.ASCII)] == [
        '+- node0',
        '|  VCPU #.!',
        'plain',
    ]
