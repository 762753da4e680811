# SPDX-License-Identifier: Apache-2.0
"""The number and order of candidates, and the work of the search.

The tests count examined objects instead of measuring time.
"""

import random
from collections import Counter

import pytest

from placement.search.candidate import Candidate, Layout
from placement.search.candidates import Result, find_candidates
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.partial_assignment import PartialAssignment
from placement.search.solver.plan import Plan
from placement.tests.unit.search.cloud import (
    SHARING,
    cloud,
    parse,
    provider,
    search,
    who,
)

SERVER = 'resources=VCPU:1,DISK_GB:1'


def hosts(count: int, used: int = 0) -> Snapshot:
    """Hosts without children."""
    cores = {'total': 8, 'used': used}
    names = [f'cn{number}' for number in range(1, count + 1)]
    return cloud(*[provider(name, VCPU=cores, DISK_GB=8) for name in names])


def nested(count: int, children: int) -> Snapshot:
    """Hosts with children that serve one group each."""
    return cloud(
        *[
            one
            for host in range(1, count + 1)
            for one in (
                provider(f'cn{host}'),
                *[
                    provider(f'pf{host}_{child}', parent=f'cn{host}', VF=1)
                    for child in range(1, children + 1)
                ],
            )
        ]
    )


def equal_groups(count: int, policy: str = 'none') -> str:
    groups = '&'.join(f'resources{number}=VF:1' for number in range(1, count + 1))
    return f'{groups}&group_policy={policy}'


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """Every candidate that is generated, whether it is returned or not."""
    made: list[Candidate] = []

    class Counted(Candidate):
        def __init__(self, layout: Layout, providers: tuple[Provider, ...]) -> None:
            super().__init__(layout, providers)
            made.append(self)

    monkeypatch.setattr('placement.search.solver.plan.Candidate', Counted)
    return made


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every slot that is tried for a variable."""
    slots: list[int] = []
    take = PartialAssignment.take

    def counted(self: PartialAssignment, depth: int, slot: int) -> bool:
        slots.append(slot)
        return take(self, depth, slot)

    monkeypatch.setattr(PartialAssignment, 'take', counted)
    return slots


@pytest.mark.parametrize('randomize', [False, True])
def test_search_with_a_limit_generates_what_it_returns(
    generated: list[Candidate], randomize: bool
) -> None:
    result = search(hosts(1000), SERVER, limit=10, randomize=randomize)
    assert len(result.candidates) == 10
    assert result.trees_examined < 100
    assert len(generated) == 10


def test_search_of_a_wide_tree_generates_what_it_returns(
    generated: list[Candidate], tried: list[int]
) -> None:
    snapshot = nested(1, 64)
    result = search(snapshot, equal_groups(64), limit=5)
    assert len(result.candidates) == len(generated) == 5
    # Each of 64 groups passes by the places of those before it, once for each way of looking.
    assert len(tried) < 2 * 64 * 64


@pytest.mark.parametrize('policy', ['none', 'isolate'])
def test_bounds_refuse_one_group_too_many_before_any_slot_is_tried(
    tried: list[int], policy: str
) -> None:
    assert not search(nested(1, 63), equal_groups(64, policy)).candidates
    assert tried == []


def test_bounds_count_a_used_child_as_missing(tried: list[int]) -> None:
    children = [provider(f'pf{number}', parent='cn', VF=1) for number in range(63)]
    used = provider('used', parent='cn', VF={'total': 1, 'used': 1})
    snapshot = cloud(provider('cn'), *children, used)
    assert not search(snapshot, equal_groups(64)).candidates
    # The shape is tried while nothing counts as used; the tree itself is not.
    assert len(tried) < 2 * 64 * 64


def test_nogoods_cover_slots_that_mean_the_same(tried: list[int]) -> None:
    # Sums allow it: 12 children of 5 hold 60.  But 5 = 3 + 2 only, and there is one 2 too few for
    # every 3 to have its own, so 2 + 2 has to stand somewhere and wastes 1.
    children = [provider(f'pf{one}', parent='cn', VF=5) for one in range(12)]
    snapshot = cloud(provider('cn'), *children)
    sizes = [3] * 11 + [2] * 13
    groups = '&'.join(f'resources{number}=VF:{size}' for number, size in enumerate(sizes))
    search(snapshot, groups + '&group_policy=none', limit=1)
    first = len(tried)
    assert not search(snapshot, groups + '&resources_x=VF:3&group_policy=none').candidates
    assert first < 20_000
    assert len(tried) < 50_000


def test_bounds_match_groups_to_slots(tried: list[int]) -> None:
    # Each half of the groups is content with two thirds of the children, and they need them all.
    children = [
        provider(f'pf{one}', parent='cn', VF=1, traits='LEFT ' * (one < 40) + 'RIGHT' * (one > 19))
        for one in range(60)
    ]
    snapshot = cloud(provider('cn'), *children)

    def query(left: int, right: int) -> str:
        wanted = [*['LEFT'] * left, *['RIGHT'] * right]
        groups = [
            f'resources{number}=VF:1&required{number}={trait}'
            for number, trait in enumerate(wanted)
        ]
        return '&'.join(groups) + '&group_policy=isolate'

    assert search(snapshot, query(30, 30), limit=3).candidates
    assert len(tried) < 20_000
    tried.clear()
    assert not search(snapshot, query(31, 30)).candidates
    assert not search(snapshot, query(41, 10)).candidates
    # Nothing but what it takes to see that without isolation, or traits, it would fit.
    assert len(tried) < 10_000


@pytest.mark.parametrize('policy', ['none', 'isolate'])
def test_nogoods_cover_subtrees_that_mean_the_same(tried: list[int], policy: str) -> None:
    # Eight pairs, each to be served beneath one NUMA node, and one node has its port elsewhere.
    def pairs_on(ports: list[int]) -> Result:
        snapshot = cloud(
            provider('cn'),
            *[
                one
                for node, count in enumerate(ports)
                for one in (
                    provider(f'numa{node}', parent='cn', VCPU=1),
                    *[
                        provider(f'pf{node}_{port}', parent=f'numa{node}', VF=1)
                        for port in range(count)
                    ],
                )
            ],
        )
        groups = '&'.join(
            f'resources_N{pair}=VCPU:1&resources_P{pair}=VF:1&same_subtree=_N{pair},_P{pair}'
            for pair in range(8)
        )
        return search(snapshot, f'{groups}&group_policy={policy}', limit=3)

    assert len(pairs_on([1] * 8).candidates) == 3
    assert not pairs_on([2, 0, 1, 1, 1, 1, 1, 1]).candidates
    assert len(tried) < 20_000


def test_search_passes_over_full_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Tree] = []
    candidates = Plan.candidates

    def counted(self: Plan, tree: Tree, *passed: bool, **options: bool) -> object:
        opened.append(tree)
        return candidates(self, tree, *passed, **options)

    monkeypatch.setattr(Plan, 'candidates', counted)
    full = hosts(1000, used=8)
    assert not search(full, SERVER).candidates
    assert opened == []


def test_search_finds_what_sharing_providers_serve_alone_once(generated: list[Candidate]) -> None:
    snapshot = cloud(
        *[provider(f'cn{number}', VCPU=8, aggregates='A') for number in range(500)],
        provider('ss1', DISK_GB=8, aggregates='A', traits=SHARING),
    )
    assert who(search(snapshot, 'resources=DISK_GB:1')) == ['ss1']
    assert len(generated) == 1


def test_hosts_do_not_generate_again_what_sharing_providers_serve_alone(
    generated: list[Candidate],
) -> None:
    snapshot = cloud(
        *[provider(f'ss{n}', DISK_GB=8, aggregates='A', traits=SHARING) for n in range(9)],
        *[provider(f'cn{n}', DISK_GB=8, aggregates='A') for n in range(20)],
    )
    query = 'resources_1=DISK_GB:1&resources_2=DISK_GB:1&group_policy=isolate'
    result = search(snapshot, query)
    # Two pools, once, and for each host itself with a pool, in both orders.
    assert len(result.candidates) == len(generated) == 9 * 8 + 20 * 2 * 9


def test_random_search_begins_with_every_host_about_equally_often() -> None:
    snapshot, request = hosts(70), parse(SERVER, limit=1, randomize=True)
    generator = random.Random(11)
    first = Counter(who(find_candidates(snapshot, request, generator))[0] for _ in range(70 * 40))
    assert len(first) == 70
    # Forty each are expected; one in ten million differs by more than five standard deviations.
    assert all(8 < times < 72 for times in first.values())
