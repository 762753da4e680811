# SPDX-License-Identifier: Apache-2.0
"""Work that grows with the cloud or with the request, and not with the square of either."""

import tracemalloc
from collections.abc import Iterator
from unittest import mock

import pytest

from placement.search.model.tree import Ancestry
from placement.search.solver import anchors, slots
from placement.search.solver.plan import Plan
from placement.search.solver.resolved_request import ProviderRequest
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search, who

POOLS = [provider(f'pool{n}', DISK_GB=100, traits=SHARING, aggregates='A') for n in range(70)]
TWO_POOLS = 'resources_1=DISK_GB:1&resources_2=DISK_GB:1&group_policy=isolate'


@pytest.fixture
def made_plans() -> Iterator[mock.Mock]:
    """Counts the plans that are made."""
    with mock.patch.object(anchors, 'Plan', side_effect=Plan) as made:
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
        result = search(cloud(*POOLS, *hosts), query)
    assert not result.candidates
    # Hosts and pools, in the search and once more for its explanation.
    assert worked_out.call_count < 8


def test_unlike_providers_ask_once_whether_a_root_spans_them() -> None:
    trees = [
        part
        for n in range(10)
        for part in (
            provider(f'root{n}', traits=f'ROOT{n}'),
            *[
                provider(f'numa{n}_{k}', parent=f'root{n}', VCPU=8, traits=f'T{n}_{k}')
                for k in range(10)
            ],
        )
    ]
    snapshot = cloud(*trees)
    is_within = ProviderRequest.is_within
    with mock.patch.object(
        ProviderRequest, 'is_within', autospec=True, side_effect=is_within
    ) as asked:
        result = search(snapshot, 'resources=VCPU:1&member_of=A')
    assert not result.candidates
    assert asked.call_count < 3 * len(snapshot)


def chain(length: int) -> list[dict]:
    """Providers each of which is the only child of the one before."""
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


def test_alike_groups_are_compared_with_a_profile_once() -> None:
    ports = [provider(f'pf{n}', parent='host', VF=8, traits=f'T{n}') for n in range(20)]
    query = '&'.join(f'resources_{n}=VF:1' for n in range(21)) + '&group_policy=isolate'
    demand_on = ProviderRequest.demand_on
    with mock.patch.object(
        ProviderRequest, 'demand_on', autospec=True, side_effect=demand_on
    ) as compared:
        result = search(cloud(provider('host'), *ports), query)
    assert not result.candidates
    # In the search, and in each search that explains it.
    assert compared.call_count < 10 * len(ports)


def test_trees_that_lack_a_trait_of_the_unsuffixed_group_are_passed_over_together(
    made_plans: mock.Mock,
) -> None:
    hosts = [provider(f'host{n}', VCPU=8, traits='A') for n in range(300)]
    result = search(cloud(*hosts), 'resources=VCPU:1&required=A,B')

    assert result.candidates == ()
    assert result.work < 100
    assert result.explanation is not None
    assert result.explanation.line == (
        'No candidates: the unsuffixed group (VCPU:1): required trait B turned away the last 300 '
        'of 300 trees; infeasible as the cloud is configured.'
    )
    assert made_plans.call_count == 0
    pool = provider('pool', DISK_GB=9, traits=f'{SHARING} B', aggregates='X')
    shared = [provider(f'host{n}', VCPU=8, traits='A', aggregates='X') for n in range(3)]
    found = search(cloud(pool, *shared), 'resources=VCPU:1,DISK_GB:1&required=A,B')
    assert len(found.candidates) == 3


@pytest.mark.parametrize(
    'query',
    [
        'resources=VCPU:5',
        'resources=VCPU:9,DISK_GB:1&required=!SLOW',
        'resources_N=VCPU:5&required_N=FAST',
        'resources=VCPU:1&required=GONE',
        'resources=VCPU:5&member_of=A',
    ],
)
def test_hosts_with_traits_of_their_own_are_compared_a_block_at_a_time(query: str) -> None:
    hosts = [
        provider(
            f'host{n}', VCPU={'total': 8, 'used': 4}, traits=f'FAST T{n}', aggregates=f'A Z{n % 9}'
        )
        for n in range(640)
    ]
    snapshot = cloud(*hosts)
    suits = ProviderRequest.suits
    with mock.patch.object(ProviderRequest, 'suits', autospec=True, side_effect=suits) as compared:
        assert not search(snapshot, query).candidates
    # By what all hosts of a block have and by what any of them has, for two classes and twice:
    # once the search is repeated, as if nothing were used.
    assert compared.call_count <= 2 * 2 * 2 * len(snapshot.blocks)


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
        assert result.explanation is not None
        # Hosts are looked at by the block, twice: once as if nothing were used.
        assert result.work < 640
        assert 'DISK_GB: 1 asked, most free 0, largest 9 (used)' in result.explanation.line
