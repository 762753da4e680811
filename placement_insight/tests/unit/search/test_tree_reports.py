# SPDX-License-Identifier: Apache-2.0
"""Reports on single trees."""

import pytest

from placement.tests.unit.search.cloud import cloud, parse, provider
from placement_insight.search.explain import explain_request
from placement_insight.search.sentences import words_in_group

ON_ONE_NODE = 'resources_A=VCPU:4&resources_B=VF:2&same_subtree=_A,_B&group_policy=none'
HOST = provider('host', DISK_GB=100)
BARE, FULL = provider('bare', 'host', VCPU=8), provider('full', 'host', VCPU=8)
CARD_IN_USE = provider('nic', 'full', VF={'total': 4, 'used': 3})
BESIDE = provider('beside', 'host', VF=4)
WITH_ROOT = f'{ON_ONE_NODE}&required_C=HW_NUMA_ROOT'.replace('_A,_B', '_A,_B,_C')


@pytest.mark.parametrize(
    ('providers', 'query', 'missing', 'top', 'failed'),
    [
        # Whichever comes first: the node without a card, or that with one in use.
        *[
            (
                (HOST, *nodes, CARD_IN_USE, BESIDE), ON_ONE_NODE, [('nic', '_B', 1)], 'full',
                ['group _B: VF: 2 asked, most free 1, largest 4 (used)'],
            )
            for nodes in ((BARE, FULL), (FULL, BARE))
        ],
        # The provider on top serves nothing now.
        (
            (HOST, provider('node1', 'host', VCPU={'total': 8, 'used': 5}),
             provider('nic1', 'node1', VF=4), provider('node2', 'host', VCPU=8)),
            ON_ONE_NODE, [('node1', '_A', 3)], 'node1',
            ['group _A: VCPU: 4 asked, most free 3, largest 8 (used)'],
        ),
        # A group without resources belongs to the subtree.
        (
            (HOST, provider('full', 'host', VCPU=8, traits='HW_NUMA_ROOT'), CARD_IN_USE, BESIDE),
            WITH_ROOT, [('nic', '_B', 1)], 'full',
            ['group _B: VF: 2 asked, most free 1, largest 4 (used)'],
        ),
        # Nothing is missing where groups only lie apart.
        ((HOST, BARE, BESIDE), ON_ONE_NODE, [], 'bare', ['group _B: class missing VF']),
    ],
)  # fmt: skip
def test_subtree_is_that_which_lacks_least(
    providers: tuple[dict, ...],
    query: str,
    missing: list[tuple[str, str, int]],
    top: str,
    failed: list[str],
) -> None:
    (nearest,) = explain_request(cloud(*providers), parse(query)).nearest
    assert [one.reason for one in nearest.failed] == ['subtree']
    found = []
    for one in nearest.missing:
        capacity, used = one.provider.inventory(one.condition.names[0])
        found.append((one.provider.uuid, one.condition.suffix, capacity.ceiling - used))
    assert found == missing
    assert nearest.subtree is not None
    assert nearest.subtree.top == top
    assert [words_in_group(one) for one in nearest.subtree.failed] == failed
