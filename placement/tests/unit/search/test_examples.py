# SPDX-License-Identifier: Apache-2.0
"""Worked examples of the search.  Specification: allocation_candidates, "Examples"."""

import pytest

from placement.tests.unit.search.cloud import (
    SHARING,
    cloud,
    provider,
    search,
    who,
)

FLAT = cloud(
    provider('cn1', VCPU=8, MEMORY_MB=1024, aggregates='A'),
    provider('cn2', VCPU=8, MEMORY_MB=1024, DISK_GB=1000, aggregates='A'),
    provider('cn3', VCPU=8, MEMORY_MB=1024, DISK_GB=1000),
    provider('ss1', DISK_GB=2000, traits=f'{SHARING} CUSTOM_SSD', aggregates='A'),
    provider('ss2', DISK_GB=2000, traits=SHARING),
)
BOTH = 'resources=VCPU:1,DISK_GB:10'
APART = 'resources1=VCPU:1&resources2=DISK_GB:10'


@pytest.mark.parametrize(
    ('query', 'found'),
    [
        (BOTH, 'cn1+ss1 cn2 cn2+ss1 cn3'),
        ('resources=DISK_GB:10', 'cn2 cn3 ss1 ss2'),
        (BOTH + '&required=CUSTOM_SSD', 'cn1+ss1 cn2+ss1'),
        (BOTH + '&required=!CUSTOM_SSD', 'cn2 cn3'),
        (BOTH + '&member_of=A', 'cn1+ss1 cn2 cn2+ss1'),
        (BOTH + '&in_tree=cn2', 'cn2'),
        (BOTH + '&in_tree=ss1', ''),
        (BOTH + '&root_required=!CUSTOM_SSD', 'cn1+ss1 cn2 cn2+ss1 cn3'),
        (APART + '&group_policy=none', 'cn1+ss1 cn2 cn2+ss1 cn3'),
        (APART + '&group_policy=isolate', 'cn1+ss1 cn2+ss1'),
        (APART + '&group_policy=none&same_subtree=1,2', 'cn2 cn3'),
        ('resources=VCPU:1&resources1=DISK_GB:10&in_tree1=ss1', 'cn1+ss1 cn2+ss1'),
        ('resources=VCPU:1&in_tree=cn1&resources1=DISK_GB:10', 'cn1+ss1'),
        (f'resources=DISK_GB:1500&root_required={SHARING}', 'ss1 ss2'),
        (f'resources=DISK_GB:1500&root_required=!{SHARING}', 'ss1'),
        ('resources=VCPU:999', ''),
    ],
)
def test_flat_and_sharing(query: str, found: str) -> None:
    assert who(search(FLAT, query)) == found.split()


TREES = cloud(
    provider('cn1', MEMORY_MB=2048, DISK_GB=1000, aggregates='A B', traits='ROOT1'),
    provider('numa1_1', parent='cn1', VCPU=8, traits='N1'),
    provider('numa1_2', parent='cn1', VCPU=8),
    provider('cn2', MEMORY_MB=2048, DISK_GB=1000, aggregates='A'),
    provider('numa2_1', parent='cn2', VCPU=8, aggregates='B'),
    provider('numa2_2', parent='cn2', VCPU=8),
    provider('ss1', DISK_GB=2000, traits=SHARING, aggregates='A'),
)
SERVER = 'resources=VCPU:1,MEMORY_MB:512,DISK_GB:500'
EVERY_SERVER = (
    'cn1+numa1_1 cn1+numa1_1+ss1 cn1+numa1_2 cn1+numa1_2+ss1 '
    'cn2+numa2_1 cn2+numa2_1+ss1 cn2+numa2_2 cn2+numa2_2+ss1'
)


@pytest.mark.parametrize(
    ('query', 'found'),
    [
        (SERVER, EVERY_SERVER),
        (SERVER + '&member_of=B', 'cn1+numa1_1 cn1+numa1_2'),
        (SERVER + '&required=N1', 'cn1+numa1_1 cn1+numa1_1+ss1'),
        ('resources=VCPU:1&required=ROOT1', ''),
        ('resources=VCPU:1,MEMORY_MB:512&required=ROOT1,N1', 'cn1+numa1_1'),
        (
            'resources=VCPU:1,MEMORY_MB:512&required=!N1',
            'cn1+numa1_2 cn2+numa2_1 cn2+numa2_2',
        ),
        ('resources=VCPU:1&root_required=ROOT1', 'numa1_1 numa1_2'),
        ('resources=VCPU:1&in_tree=numa1_1', 'numa1_1 numa1_2'),
        ('resources1=VCPU:1,MEMORY_MB:1', ''),
        (
            'resources=VCPU:2&resources1=VCPU:7&group_policy=none',
            'numa1_1+numa1_2 numa1_1+numa1_2 numa2_1+numa2_2 numa2_1+numa2_2',
        ),
        ('resources1=VCPU:1&member_of1=A', ''),
        ('resources1=VCPU:1&member_of1=B', 'numa2_1'),
    ],
)
def test_trees(query: str, found: str) -> None:
    assert who(search(TREES, query)) == found.split()


BARRED = cloud(
    provider('cn1', aggregates='A'),
    provider('numa1_1', parent='cn1', VCPU=8, aggregates='C'),
    provider('numa1_2', parent='cn1', VCPU=8),
    provider('cn2', aggregates='A B'),
    provider('numa2_1', parent='cn2', VCPU=8),
    provider('numa2_2', parent='cn2', VCPU=8),
    provider('ss1', DISK_GB=2000, traits=SHARING, aggregates='A'),
    provider('ss2', DISK_GB=2000, traits=SHARING, aggregates='C'),
)


@pytest.mark.parametrize(
    ('aggregates', 'found'),
    [
        (
            '',
            'numa1_1+ss1 numa1_1+ss2 numa1_2+ss1 numa1_2+ss2 numa2_1+ss1 numa2_2+ss1',
        ),
        ('&member_of=A', 'numa1_1+ss1 numa1_2+ss1 numa2_1+ss1 numa2_2+ss1'),
        ('&member_of=C', 'numa1_1+ss2'),
        ('&member_of=!A', ''),
        ('&member_of=!B', 'numa1_1+ss1 numa1_1+ss2 numa1_2+ss1 numa1_2+ss2'),
        ('&member_of=!C', 'numa1_2+ss1 numa2_1+ss1 numa2_2+ss1'),
        ('&member_of=A&member_of=!in:B,C', 'numa1_2+ss1'),
    ],
)
def test_negative_aggregates_on_trees(aggregates: str, found: str) -> None:
    assert who(search(BARRED, 'resources=VCPU:1,DISK_GB:1000' + aggregates)) == found.split()


FPGAS = cloud(
    provider('root'),
    provider('numa0', parent='root', VCPU=8, traits='HW_NUMA_ROOT'),
    provider('numa1', parent='root', VCPU=8, traits='HW_NUMA_ROOT CUSTOM_FOO'),
    provider('fpga0', parent='numa0', FPGA=1),
    provider('fpga1_0', parent='numa1', FPGA=1),
    provider('fpga1_1', parent='numa1', FPGA=1),
)
CPU_AND_FPGA = 'resources_C=VCPU:1&resources_A=FPGA:1&group_policy=none'
TWO_FPGAS = (
    'required_N=HW_NUMA_ROOT{}&resources_A1=FPGA:1&resources_A2=FPGA:1'
    '&same_subtree=_N,_A1,_A2&group_policy=isolate'
)
WITH_FOO = 'resources_P=VCPU:1&required_Q=CUSTOM_FOO&same_subtree=_P,_Q&group_policy='
EVERY_PAIR = 'fpga0+numa0 fpga0+numa1 fpga1_0+numa0 fpga1_0+numa1 fpga1_1+numa0 fpga1_1+numa1'


@pytest.mark.parametrize(
    ('query', 'found'),
    [
        (CPU_AND_FPGA, EVERY_PAIR),
        (CPU_AND_FPGA + '&same_subtree=_C', EVERY_PAIR),
        (CPU_AND_FPGA + '&same_subtree=_C,_A', 'fpga0+numa0 fpga1_0+numa1 fpga1_1+numa1'),
        (TWO_FPGAS.format(''), 'fpga1_0+fpga1_1 fpga1_0+fpga1_1'),
        (TWO_FPGAS.format(',!CUSTOM_FOO'), ''),
        (WITH_FOO + 'none', 'numa1'),
        (WITH_FOO + 'isolate', ''),
    ],
)
def test_same_subtree(query: str, found: str) -> None:
    assert who(search(FPGAS, query)) == found.split()


UNITS = cloud(provider('cn', VCPU={'total': 20, 'min_unit': 4, 'max_unit': 12, 'step_size': 2}))


@pytest.mark.parametrize(
    ('query', 'is_found'),
    [
        ('resources=VCPU:4', True),
        ('resources=VCPU:12', True),
        ('resources=VCPU:2', False),
        ('resources=VCPU:5', False),
        ('resources=VCPU:14', False),
        ('resources_A=VCPU:6&resources_B=VCPU:6&group_policy=none', True),
        ('resources_A=VCPU:2&resources_B=VCPU:6&group_policy=none', False),
        ('resources_A=VCPU:8&resources_B=VCPU:6&group_policy=none', False),
    ],
)
def test_units_bound_what_one_consumer_takes(query: str, is_found: bool) -> None:
    assert bool(who(search(UNITS, query))) is is_found
