# SPDX-License-Identifier: Apache-2.0
"""Explanations of searches whose work has bounds, and the bounds of their own work."""

from unittest import mock

import pytest

from placement.search.model.tree import Ancestry
from placement.search.solver import slots
from placement.search.solver.role import RequestBits
from placement.search.solver.search import Search
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search
from placement.tests.unit.search.test_budget import BACKTRACKING, hard_host
from placement.tests.unit.search.test_linear_work import POOLS, roles_made
from placement_insight.search.condition import Verdict
from placement_insight.tests.unit.search.explained import explained


def test_cut_search_says_so() -> None:
    rows, query = hard_host(1)
    with mock.patch(f'{BACKTRACKING}.SLICE', 50):
        result = search(cloud(*rows), query, budget=100)
        explanation = explained(cloud(*rows), query, budget=100)

    assert explanation.verdict is Verdict.UNKNOWN
    assert explanation.line == (
        f'No candidates: the search budget was spent after {result.work} steps; '
        'not decided if it could fit.'
    )


def test_large_groups_of_which_each_needs_a_slot_never_fit() -> None:
    functions = [provider(f'pf{number}', parent='cn', VF=8) for number in range(50)]
    groups = '&'.join(f'resources_{number}=VF:{5 + number % 2}' for number in range(51))
    snapshot = cloud(provider('cn'), *functions)

    assert explained(snapshot, f'{groups}&group_policy=none').verdict is Verdict.INFEASIBLE


def test_alike_trees_have_their_ancestry_worked_out_once() -> None:
    hosts = [provider(f'host{n}', VCPU=8, aggregates='A') for n in range(30)]
    query = 'resources_D=DISK_GB:1&resources_C=VCPU:1&same_subtree=_C,_D&group_policy=none'
    with mock.patch.object(slots, 'Ancestry', side_effect=Ancestry) as worked_out:
        explained(cloud(*POOLS, *hosts), query)
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
    with roles_made(RequestBits) as made:
        explained(snapshot, 'resources=VCPU:1&member_of=A')
    assert 0 < made.call_count < 3 * len(snapshot)


def test_alike_groups_are_compared_with_a_profile_once() -> None:
    ports = [provider(f'pf{n}', parent='host', VF=8, traits=f'T{n}') for n in range(20)]
    query = '&'.join(f'resources_{n}=VF:1' for n in range(21)) + '&group_policy=isolate'
    with roles_made(RequestBits) as made:
        explained(cloud(provider('host'), *ports), query)
    # In the search, and in each search that explains it.
    assert 0 < made.call_count < 10 * len(ports)


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
    with roles_made(Search) as made:
        explained(snapshot, query)
    # By what all hosts of a block have and by what any of them has, and twice: once the search is
    # repeated, as if nothing were used.
    assert made.call_count <= 2 * 2 * len(snapshot.blocks)


@pytest.mark.parametrize('full', [{0}, {0, 4, 5}])
def test_wanted_hosts_that_are_full_are_told_beside_others_with_room(full: set[int]) -> None:
    hosts = [
        provider(
            f'host{n}',
            aggregates=f'Z{n % 6}',
            VCPU={'total': 8, 'used': 4 if n % 6 in full else 0},
        )
        for n in range(640)
    ]
    zones = ','.join(f'Z{n}' for n in full)

    explanation = explained(cloud(*hosts), f'resources=VCPU:5&member_of=in:{zones}')

    assert explanation.verdict is Verdict.FULL
    assert 'has 5 VCPU free; the most is 4 (' in explanation.line


def test_a_trait_that_all_lack_is_told() -> None:
    hosts = [provider(f'host{n}', VCPU=8, traits='A') for n in range(300)]

    assert explained(cloud(*hosts), 'resources=VCPU:1&required=A,B').line == (
        'No candidates: the unsuffixed group (VCPU:1): no tree has trait B (of 300 trees); '
        'never fits, even if nothing were used.'
    )


@pytest.mark.parametrize(
    'query',
    [
        'resources=VCPU:1,DISK_GB:1',
        'resources_C=VCPU:1&resources_D=DISK_GB:1&group_policy=none',
    ],
)
def test_full_pools_that_hosts_share_are_told(query: str) -> None:
    pools = [
        provider(f'pool{n}', DISK_GB={'total': 9, 'used': 9}, traits=SHARING, aggregates=f'Z{n}')
        for n in range(9)
    ]
    hosts = [provider(f'host{n}', VCPU=8 + n, aggregates=f'Z{n % 9}') for n in range(640)]

    line = explained(cloud(*hosts, *pools), query).line

    assert 'has 1 DISK_GB free; the most is 0 (' in line
