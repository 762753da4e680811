# SPDX-License-Identifier: Apache-2.0
"""The explanation of an empty answer."""

import re

import pytest

from placement.search.insight.condition import Verdict
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search

CLOUD = cloud(
    provider('cn1', traits='ROOT', aggregates='A'),
    provider('numa1', parent='cn1', VCPU={'total': 8, 'max_unit': 4}, traits='FAST'),
    provider('pf1', parent='numa1', VF={'total': 4, 'min_unit': 2, 'step_size': 2}),
    provider('cn2', VCPU={'total': 8, 'reserved': 6}),
    provider('pf2', parent='cn2', VF={'total': 4, 'used': 3}, traits='SLOW', aggregates='B'),
    provider('ss1', DISK_GB={'total': 10, 'used': 8}, traits=SHARING, aggregates='A'),
)
INFEASIBLE = 'infeasible as the cloud is configured.'
FULL = 'full at present (it would fit if nothing were used).'


@pytest.mark.parametrize(
    ('query', 'reason', 'ending'),
    [
        ('resources=FPGA:1', 'class missing FPGA turned away the last 3 of 3 trees;', INFEASIBLE),
        (
            'resources_N=VCPU:5&required_N=FAST',
            '(max_unit) turned away the last 1 of 3 trees (before that: class missing VCPU 1,',
            INFEASIBLE,
        ),
        ('resources=VCPU:1&in_tree=nobody', 'in_tree names no provider: nobody;', INFEASIBLE),
        (
            'resources=VCPU:1&root_required=FAST',
            'root_required FAST turned away the last 2 of 3', INFEASIBLE,
        ),
        (
            'resources_P=VF:2&resources_Q=VF:2&group_policy=isolate',
            'isolate (2 groups', INFEASIBLE,
        ),
        (
            'resources_P=VF:4&resources_Q=VF:4&group_policy=none',
            'amounts of all groups together (VF: 8 asked, most free 4 in one tree)', INFEASIBLE,
        ),
        ('resources=DISK_GB:5', 'DISK_GB: 5 asked, most free 2, largest 10 (used)', FULL),
        (
            'resources_P=VF:4&required_P=SLOW&group_policy=none',
            "group '_P' (VF:4): VF: 4 asked, most free 1, largest 4 (used)", FULL,
        ),
    ],
)  # fmt: skip
def test_line_names_what_leaves_no_tree(query: str, reason: str, ending: str) -> None:
    explanation = search(CLOUD, query).explanation
    assert explanation is not None
    assert explanation.verdict is (Verdict.FULL if ending == FULL else Verdict.INFEASIBLE)
    assert explanation.line.startswith('No candidates: ')
    assert reason in explanation.line
    assert explanation.line.endswith(ending)
    assert '\n' not in explanation.line


def test_line_of_a_large_cloud_says_how_many_trees_were_examined() -> None:
    hosts = [provider(f'cn{n}', VCPU=8 + n) for n in range(4000)]
    explanation = search(cloud(*hosts), 'resources=VCPU:9000').explanation
    assert explanation is not None
    assert explanation.verdict is Verdict.INFEASIBLE
    found = re.search(r'the last (\d+) of (\d+) trees examined, of 4000; ', explanation.line)
    assert found is not None
    assert 250 < int(found[1]) == int(found[2]) < 4000
