# SPDX-License-Identifier: Apache-2.0
"""Work that grows with the cloud or with the request, and not with the square of either."""

import contextlib
import tracemalloc
from collections.abc import Iterator
from unittest import mock

import pytest

from placement.search.model.tree import Ancestry
from placement.search.solver import anchors, slots
from placement.search.solver.plan import Plan
from placement.search.solver.role import RequestBits
from placement.search.solver.search import Search
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search, who

POOLS = [provider(f'pool{n}', DISK_GB=100, traits=SHARING, aggregates='A') for n in range(70)]
TWO_POOLS = 'resources_1=DISK_GB:1&resources_2=DISK_GB:1&group_policy=isolate'


@pytest.fixture
def made_plans() -> Iterator[mock.Mock]:
    """Counts the created plans."""
    with mock.patch.object(anchors, 'Plan', side_effect=Plan) as made:
        yield made


@contextlib.contextmanager
def roles_made(maker: type[RequestBits] | type[Search]) -> Iterator[mock.Mock]:
    """Count the profiles that are compared with a request."""
    with mock.patch.object(maker, 'role', autospec=True, side_effect=maker.role) as made:
        yield made


def test_pools_of_the_same_aggregates_have_one_plan(made_plans: mock.Mock) -> None:
    result = search(cloud(*POOLS), TWO_POOLS)
    assert len(result.candidates) == 70 * 69
    assert made_plans.call_count == 1


def test_pools_that_root_required_tells_apart_have_plans_of_their_own(
    made_plans: mock.Mock,
) -> None:
    gold = provider('gold', DISK_GB=1, traits=f'{SHARING} GOLD', aggregates='A')
    result = search(cloud(*POOLS[:3], gold), 'resources=DISK_GB:1&root_required=GOLD')
    assert who(result) == ['gold', 'pool0', 'pool1', 'pool2']
    assert made_plans.call_count == 2


def test_in_tree_finds_a_pool_among_others_alike() -> None:
    snapshot = cloud(*POOLS[:5])
    assert who(search(snapshot, 'resources=DISK_GB:1&in_tree=pool3')) == ['pool3']
    query = f'{TWO_POOLS}&in_tree_2=pool3'
    assert who(search(snapshot, query)) == [f'pool{n}+pool3' for n in (0, 1, 2)] + ['pool3+pool4']


def test_alike_trees_have_their_ancestry_worked_out_once() -> None:
    hosts = [provider(f'host{n}', VCPU=8, aggregates='A') for n in range(30)]
    query = 'resources_D=DISK_GB:1&resources_C=VCPU:1&same_subtree=_C,_D&group_policy=none'
    with mock.patch.object(slots, 'Ancestry', side_effect=Ancestry) as worked_out:
        # 70 ways to choose are too many to be all kept: each host is searched.
        assert not search(cloud(*POOLS, *hosts), query).candidates
    # Hosts and pools.
    assert worked_out.call_count < 4


def chain(length: int) -> list[dict]:
    """A chain of providers, each the only child of the previous one."""
    return [
        provider(f'link{n}', parent=f'link{n - 1}' if n else None, VF=1) for n in range(length)
    ]


def test_memory_of_a_deep_tree_grows_with_its_members() -> None:
    query = '&'.join(f'resources_{n}=VF:1' for n in range(3))
    query += '&same_subtree=_0,_1,_2&group_policy=isolate'
    snapshots = [cloud(*chain(length)) for length in (500, 1000)]
    peaks = []
    for snapshot in snapshots:
        tracemalloc.start()
        result = search(snapshot, query, limit=5)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(result.candidates) == 5
    assert peaks[1] < 2.5 * peaks[0]


def test_trees_that_lack_a_trait_of_the_unsuffixed_group_are_passed_over_together(
    made_plans: mock.Mock,
) -> None:
    hosts = [provider(f'host{n}', VCPU=8, traits='A') for n in range(300)]
    result = search(cloud(*hosts), 'resources=VCPU:1&required=A,B')

    assert result.candidates == ()
    assert result.work < 100
    assert made_plans.call_count == 0
    pool = provider('pool', DISK_GB=9, traits=f'{SHARING} B', aggregates='X')
    shared = [provider(f'host{n}', VCPU=8, traits='A', aggregates='X') for n in range(3)]
    found = search(cloud(pool, *shared), 'resources=VCPU:1,DISK_GB:1&required=A,B')
    assert len(found.candidates) == 3


def test_hosts_are_passed_over_when_the_pools_they_share_are_full() -> None:
    pools = [
        provider(f'pool{n}', DISK_GB={'total': 9, 'used': 9}, traits=SHARING, aggregates=f'Z{n}')
        for n in range(9)
    ]
    hosts = [provider(f'host{n}', VCPU=8 + n, aggregates=f'Z{n % 9}') for n in range(640)]
    for query in (
        'resources=VCPU:1,DISK_GB:1',
        'resources_C=VCPU:1&resources_D=DISK_GB:1&group_policy=none',
    ):
        result = search(cloud(*hosts, *pools), query)
        assert not result.candidates
        # Hosts are looked at by the block, twice: once as if nothing were used.
        assert result.work < 640
