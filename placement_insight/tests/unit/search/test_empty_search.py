# SPDX-License-Identifier: Apache-2.0
"""The explanation of an empty answer."""

import re

import pytest

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, provider
from placement_insight.search.condition import Verdict
from placement_insight.tests.unit.search.explained import explained

CLOUD = cloud(
    provider('cn1', traits='ROOT', aggregates='A'),
    provider('numa1', parent='cn1', VCPU={'total': 8, 'max_unit': 4}, traits='FAST'),
    provider('pf1', parent='numa1', VF={'total': 4, 'min_unit': 2, 'step_size': 2}),
    provider('cn2', VCPU={'total': 8, 'reserved': 6}),
    provider('pf2', parent='cn2', VF={'total': 4, 'used': 3}, traits='SLOW', aggregates='B'),
    provider('ss1', DISK_GB={'total': 10, 'used': 8}, traits=SHARING, aggregates='A'),
)
INFEASIBLE = 'never fits, even if nothing were used.'
FULL = 'full now (it would fit if nothing were used).'


@pytest.mark.parametrize(
    ('query', 'reason', 'ending'),
    [
        ('resources=FPGA:1', 'no tree has FPGA (of 3 trees);', INFEASIBLE),
        (
            'resources_N=VCPU:5&required_N=FAST',
            'is 4, by max_unit (the last 1 of 3 trees; before that: class missing VCPU 1,',
            INFEASIBLE,
        ),
        ('resources=VCPU:1&in_tree=nobody', 'in_tree names no provider: nobody;', INFEASIBLE),
        (
            'resources=VCPU:1&root_required=FAST',
            'no tree left has trait FAST at its root (the last 2 of 3', INFEASIBLE,
        ),
        (
            'resources_P=VF:2&resources_Q=VF:2&group_policy=isolate',
            'has a provider for each of 2 groups (isolate)', INFEASIBLE,
        ),
        (
            'resources_P=VF:4&resources_Q=VF:4&group_policy=none',
            'room for all groups together (VF: 8 asked, most free 4 in one tree;', INFEASIBLE,
        ),
        ('resources=DISK_GB:5', 'no tree left has 5 DISK_GB free; the most is 2 (', FULL),
        (
            'resources_P=VF:4&required_P=SLOW&group_policy=none',
            'group _P (VF:4): no tree left has 4 VF free; the most is 1 (', FULL,
        ),
    ],
)  # fmt: skip
def test_line_names_what_leaves_no_tree(query: str, reason: str, ending: str) -> None:
    explanation = explained(CLOUD, query)
    assert explanation.verdict is (Verdict.FULL if ending == FULL else Verdict.INFEASIBLE)
    assert explanation.line.startswith('No candidates: ')
    assert reason in explanation.line
    assert explanation.line.endswith(ending)
    assert '\n' not in explanation.line


def test_line_of_a_large_cloud_says_how_many_trees_were_examined() -> None:
    hosts = [provider(f'cn{n}', VCPU=8 + n) for n in range(12_000)]
    explanation = explained(cloud(*hosts), 'resources=VCPU:20000')
    assert explanation.verdict is Verdict.INFEASIBLE
    found = re.search(r'\(of (\d+) trees examined, of 12000\); ', explanation.line)
    assert found is not None
    assert 250 < int(found[1]) < 4000


def hosts_and(*others: dict) -> Snapshot:
    """3,000 full hosts, and others among them."""
    hosts = [
        provider(f'cn{n}', VCPU={'total': 8, 'used': 8}, traits='COMMON') for n in range(3000)
    ]
    return cloud(*hosts[:1700], *others, *hosts[1700:])


ONE_CARD_LEFT = provider('gpu', VCPU=8, CARD={'total': 2, 'used': 1}, traits='COMMON RARE',
                         aggregates='Z')  # fmt: skip


@pytest.mark.parametrize(
    ('others', 'query', 'reason', 'ending'),
    [
        (
            [ONE_CARD_LEFT], 'resources=CARD:2',
            'no tree left has 2 CARD free; the most is 1 (the last 1 of ', FULL,
        ),
        (
            [ONE_CARD_LEFT], 'resources=VCPU:9&required=RARE',
            'gives 9 VCPU to one consumer; the most is 8 (the last 1 of ', INFEASIBLE,
        ),
        (
            [ONE_CARD_LEFT], 'resources=VCPU:9&required=COMMON&member_of=Z',
            'gives 9 VCPU to one consumer; the most is 8 (the last 1 of ', INFEASIBLE,
        ),
        (
            [ONE_CARD_LEFT], 'resources=VCPU:9&in_tree=cn1650',
            'gives 9 VCPU to one consumer; the most is 8 (the last 1 of ', INFEASIBLE,
        ),
        (
            [ONE_CARD_LEFT], 'resources=VCPU:9&root_required=RARE',
            'no tree gives 9 VCPU to one consumer; the most is 8 (of ', INFEASIBLE,
        ),
        # Few of a hundred such hosts have a card free.
        (
            [provider(f'gpu{n}', CARD={'total': 4, 'used': 4 - (n == 70)}) for n in range(100)],
            'resources=CARD:2',
            'no tree left has 2 CARD free; the most is 1 (the last 100 of ', FULL,
        ),
        # It differs from the others in its amounts alone.
        (
            [provider('large', VCPU={'total': 64, 'used': 60}, traits='COMMON')],
            'resources=VCPU:32', 'has 32 VCPU free; the most is 4 (', FULL,
        ),
        # Both are rare, on different hosts.
        (
            [ONE_CARD_LEFT, provider('fpga', FPGA=1)], 'resources=CARD:1,FPGA:1',
            'no tree left has FPGA (the last 1 of ', INFEASIBLE,
        ),
        # A pool that two hosts reach.
        (
            [
                provider('pool', DISK_GB=10, traits=SHARING, aggregates='P'),
                provider('cn', VCPU=8, aggregates='P'),
            ],
            'resources=VCPU:1,DISK_GB:20',
            'gives 20 DISK_GB to one consumer; the most is 10 (the last 1 of ', INFEASIBLE,
        ),
    ],
)  # fmt: skip
def test_line_tells_of_the_few_trees_that_have_what_is_rare(
    others: list[dict], query: str, reason: str, ending: str
) -> None:
    explanation = explained(hosts_and(*others), query)
    assert reason in explanation.line
    assert explanation.line.endswith(ending)


def test_reason_calls_groups_as_a_query_in_other_names_does() -> None:
    query = 'resources_N=VCPU:2&resources_P=VF:2&same_subtree=_N,_P&group_policy=none'
    apart = cloud(
        provider('cn'),
        provider('numa1', parent='cn', VCPU=8),
        provider('pf1', parent='cn', VF=4),
    )
    explanation = explained(apart, query)
    assert ': no tree has _N,_P in one subtree (of 1 tree); ' in explanation.line
    reason = explanation.reason({'_N': '2', '_P': '1'})
    assert reason.startswith('no tree has 2,1 in one subtree (of 1 tree); ')
    reason = explained(apart, query.replace('_P=VF:2', '_P=VF:5')).reason({'_P': '1'})
    assert reason.startswith('group 1 (VF:5): no tree gives 5 VF to one consumer')
