# SPDX-License-Identifier: Apache-2.0
"""What is said of an empty answer, and what is counted on the way."""

import pytest

from placement.search.solver.tally import COMBINATION, ROOT, Reason
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider, search

CLOUD = cloud(
    provider('cn1', traits='ROOT', aggregates='A'),
    provider('numa1', parent='cn1', VCPU={'total': 8, 'max_unit': 4}, traits='FAST'),
    provider('pf1', parent='numa1', VF={'total': 4, 'min_unit': 2, 'step_size': 2}),
    provider('cn2', VCPU={'total': 8, 'reserved': 6}),
    provider('pf2', parent='cn2', VF={'total': 4, 'used': 3}, traits='SLOW', aggregates='B'),
    provider('ss1', DISK_GB={'total': 10, 'used': 8}, traits=SHARING, aggregates='A'),
)
NEVER = 'the request can never fit.'
APART = 'resources_A=VCPU:1&resources_B=DISK_GB:1&same_subtree=_A,_B&group_policy=none'
FULL = 'the request fits, but the providers are full at present.'


@pytest.mark.parametrize(
    ('query', 'reason', 'ending'),
    [
        ('resources=FPGA:1', 'class missing turned away the last 6 of 6', NEVER),
        ('resources=VCPU:5', 'reserved turned away the last 1 of 6', NEVER),
        ('resources_N=VCPU:5&required_N=FAST', 'max_unit turned away the last 1 of 6', NEVER),
        ('resources=VF:1&required=!SLOW', 'min_unit turned away the last 1 of 6', NEVER),
        ('resources=VF:3&required=!SLOW', 'step_size turned away the last 1 of 6', NEVER),
        ('resources_N=VCPU:1&required_N=SLOW', 'required trait turned away the last 2', NEVER),
        ('resources_N=VCPU:1&member_of_N=A', 'aggregate turned away the last 2', NEVER),
        ('resources=VF:1&required=SLOW,!SLOW', 'min_unit turned away', NEVER),
        ('resources=DISK_GB:5', 'no provider has room for the unsuffixed group (DISK_GB:5)', FULL),
        ('resources=VCPU:1,DISK_GB:5', 'used: no provider has room', FULL),
        ('resources=VF:2&required=SLOW', 'used: no', FULL),
        ('resources=VCPU:1&in_tree=nobody', 'in_tree names no provider', NEVER),
        ('resources=VCPU:1&root_required=FAST', 'root_required leaves no tree', NEVER),
        ('resources=VCPU:1&required=ROOT', 'required trait leaves no tree', NEVER),
        ('resources=VCPU:1&member_of=B', 'aggregate leaves no tree', NEVER),
        ('resources=DISK_GB:1&in_tree=cn1', 'in_tree leaves no tree', NEVER),
        (
            'resources_P=VF:2&resources_Q=VF:2&group_policy=isolate',
            'isolate leaves no tree',
            NEVER,
        ),
        ('resources=VCPU:3,VF:1', 'tree: no tree has all that is asked for', NEVER),
        ('resources=VCPU:1,DISK_GB:1,PCPU:1', 'class missing turned away', NEVER),
    ],
)
def test_an_empty_answer_is_explained(query: str, reason: str, ending: str) -> None:
    result = search(CLOUD, query)
    assert result.candidates == ()
    assert result.explanation.startswith('No candidates: ')
    assert reason in result.explanation
    assert result.explanation.endswith(ending)
    assert '\n' not in result.explanation


def test_an_answer_needs_no_explanation() -> None:
    assert search(CLOUD, 'resources=VCPU:1').explanation == ''


def test_what_is_in_the_way_of_a_combination_is_named() -> None:
    snapshot = cloud(
        provider('cn'),
        provider('left', parent='cn', VCPU=1),
        provider('right', parent='cn', FPGA=1),
    )
    query = 'resources_L=VCPU:1&resources_R=FPGA:1&same_subtree=_L,_R&group_policy=none'
    assert 'subtree leaves no tree' in search(snapshot, query).explanation


def test_an_empty_cloud_is_explained() -> None:
    assert 'there are no providers' in search(cloud(), 'resources=VCPU:1').explanation


def test_refusals_are_counted_by_group_and_reason() -> None:
    result = search(CLOUD, 'resources=VCPU:5&resources_D=DISK_GB:5&group_policy=none')
    assert result.tally.by_group('') == {
        Reason.CLASS_MISSING: 5,  # once more for the storage, beneath cn1
        Reason.MAX_UNIT: 1,
        Reason.RESERVED: 1,
    }
    assert result.tally.by_group('_D')[Reason.USED] == 1
    assert result.tally.total(Reason.USED) == 1


@pytest.mark.parametrize(
    ('query', 'where', 'reason'),
    [
        ('resources=VCPU:1&root_required=ROOT', ROOT, Reason.REQUIRED_TRAIT),
        ('resources=VCPU:1&root_required=!ROOT', ROOT, Reason.FORBIDDEN_TRAIT),
        ('resources=VCPU:1&in_tree=nobody', COMBINATION, Reason.TREE),
        ('resources=VCPU:1&required=!FAST', '', Reason.FORBIDDEN_TRAIT),
        ('resources=VCPU:1&member_of=B', '', Reason.AGGREGATE),
        ('resources=VCPU:1&member_of=!A', '', Reason.AGGREGATE),
        ('resources_A=VF:2&resources_B=VF:2&group_policy=isolate', COMBINATION, Reason.ISOLATE),
        ('resources_A=VF:4&resources_B=VF:2&group_policy=none', COMBINATION, Reason.USED),
        (APART, COMBINATION, Reason.SUBTREE),
    ],
)
def test_every_filter_counts(query: str, where: str, reason: Reason) -> None:
    assert search(CLOUD, query).tally.counts[where, reason] > 0


def test_a_request_knows_its_classes() -> None:
    request = parse('resources=VCPU:1&resources_D=DISK_GB:5&group_policy=none')
    assert request.resource_classes == {'VCPU', 'DISK_GB'}
