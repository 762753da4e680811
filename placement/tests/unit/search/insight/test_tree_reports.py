# SPDX-License-Identifier: Apache-2.0
"""Reports on single trees."""

import pytest

from placement.search.insight.explain import explain_request
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, parse, provider


def numa() -> Snapshot:
    """Two hosts with VCPU on their NUMA nodes only, the second with less of it used."""
    snapshot = cloud(
        provider('host1', MEMORY_MB=4096),
        provider('node1', 'host1', VCPU=8),
        provider('host2', MEMORY_MB=4096),
        provider('node2', 'host2', VCPU=8),
    )
    return snapshot.with_used({2: {'VCPU': 8}, 4: {'VCPU': 5}})


def test_shortage_is_told_rather_than_that_the_root_has_nothing() -> None:
    answer = explain_request(numa(), parse('resources=VCPU:4'))

    assert [report.root for report in answer.nearest] == ['host2', 'host1']
    assert [one.words for one in answer.nearest[0].failed] == [
        'VCPU: 4 asked, most free 3, largest 8 (used)'
    ]
    (missing,) = answer.nearest[0].missing
    assert (missing.provider.uuid, missing.free, missing.used) == ('node2', 3, 5)


def ports(used: dict[int, dict[str, int]]) -> Snapshot:
    """A host with processors and ports on two NUMA nodes, of which so much is used."""
    snapshot = cloud(
        provider('host', DISK_GB=100),
        provider('node1', 'host', VCPU=8),
        provider('node2', 'host', VCPU=8),
        provider('nic1', 'node1', VF=4),
        provider('nic2', 'node2', VF=4),
    )
    return snapshot.with_used(used)


ON_ONE_NODE = 'resources_A=VCPU:4&resources_B=VF:2&same_subtree=_A,_B&group_policy=none'


@pytest.mark.parametrize(
    ('used', 'missing'),
    [
        # The first node has the processors, and one port too few.
        ({2: {'VCPU': 0}, 3: {'VCPU': 8}, 4: {'VF': 3}}, [('nic1', '_B', 2, 1)]),
        ({2: {'VCPU': 8}, 3: {'VCPU': 4}, 5: {'VF': 4}}, [('nic2', '_B', 2, 0)]),
    ],
)
def test_what_is_missing_in_one_subtree_is_told(
    used: dict[int, dict[str, int]], missing: list[tuple[str, str, int, int]]
) -> None:
    answer = explain_request(ports(used), parse(ON_ONE_NODE))

    (nearest,) = answer.nearest
    assert [one.words for one in nearest.failed] == ['subtree _A,_B']
    assert [
        (one.provider.uuid, one.suffix, one.asked, one.free) for one in nearest.missing
    ] == missing


def test_subtree_that_lacks_a_class_comes_after_one_that_lacks_an_amount() -> None:
    """Whichever comes first: the node without a card, or that with one in use."""
    for names in (('bare', 'full'), ('full', 'bare')):
        snapshot = cloud(
            provider('host', DISK_GB=100),
            *[provider(name, 'host', VCPU=8) for name in names],
            provider('nic', 'full', VF={'total': 4, 'used': 3}),
            provider('beside', 'host', VF=4),
        )
        (nearest,) = explain_request(snapshot, parse(ON_ONE_NODE)).nearest
        assert [(one.provider.uuid, one.suffix) for one in nearest.missing] == [('nic', '_B')]
        assert nearest.subtree is not None
        assert nearest.subtree.top == 'full'
        assert [one.full_words for one in nearest.subtree.failed] == [
            'group _B: VF: 2 asked, most free 1, largest 4 (used)'
        ]


def test_subtree_may_be_below_a_provider_that_serves_nothing_now() -> None:
    snapshot = cloud(
        provider('host', DISK_GB=100),
        provider('node1', 'host', VCPU={'total': 8, 'used': 5}),
        provider('nic1', 'node1', VF=4),
        provider('node2', 'host', VCPU=8),
    )
    (nearest,) = explain_request(snapshot, parse(ON_ONE_NODE)).nearest
    assert nearest.subtree is not None
    assert nearest.subtree.top == 'node1'
    assert [(one.provider.uuid, one.free) for one in nearest.missing] == [('node1', 3)]


def test_group_without_resources_belongs_to_the_subtree() -> None:
    query = f'{ON_ONE_NODE}&required_C=HW_NUMA_ROOT'.replace('_A,_B', '_A,_B,_C')
    snapshot = cloud(
        provider('host', DISK_GB=100),
        provider('node', 'host', traits='HW_NUMA_ROOT', VCPU=8),
        provider('nic', 'node', VF={'total': 4, 'used': 3}),
        provider('other', 'host', VF=4),
    )

    (nearest,) = explain_request(snapshot, parse(query)).nearest

    assert [(one.provider.uuid, one.suffix, one.free) for one in nearest.missing] == [
        ('nic', '_B', 1)
    ]


def test_nothing_is_missing_where_groups_only_lie_apart() -> None:
    snapshot = cloud(
        provider('host', DISK_GB=100),
        provider('node', 'host', VCPU=8),
        provider('nic', 'host', VF=4),
    )

    (nearest,) = explain_request(snapshot, parse(ON_ONE_NODE)).nearest

    assert [one.words for one in nearest.failed] == ['subtree _A,_B']
    assert nearest.missing == ()
    assert nearest.subtree is not None
    assert [one.full_words for one in nearest.subtree.failed] == ['group _B: class missing VF']
