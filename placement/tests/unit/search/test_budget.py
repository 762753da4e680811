# SPDX-License-Identifier: Apache-2.0
"""Budgets of work.

No test here takes the time; work is counted, and the count is the same on every run.
`test_odd_clouds` holds what budgets and slices of work leave against the oracle.
"""

import random
from unittest import mock

from placement.search.candidates import find_candidates
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, provider, search, who

BACKTRACKING = 'placement.search.solver.backtracking'


def packing(host: int, children: int, size: int, wanted: list[int]) -> tuple[list[dict], str]:
    """A host with children of equal size, and groups to be packed into them."""
    rows = [provider(f'cn{host}')]
    rows += [provider(f'pf{host}_{one}', parent=f'cn{host}', VF=size) for one in range(children)]
    groups = '&'.join(f'resources_{number}=VF:{amount}' for number, amount in enumerate(wanted))
    return rows, f'{groups}&group_policy=none'


# Six children of 10 have room for 60, and 59 are asked for.  But a child holds 4 + 3 + 3, or
# 4 + 4, or 3 + 3 + 3, and whichever way they are filled one group is left over.
HARD = [4] * 8 + [3] * 9


def hard_host(host: int) -> tuple[list[dict], str]:
    return packing(host, 6, 10, HARD)


def test_hard_host_holds_nobody_up() -> None:
    rows, query = hard_host(1)
    for host in range(2, 52):
        rows += packing(host, 6, 30, HARD)[0]
    # Serving 17 groups takes some 100 steps if there is room for all of them.
    with mock.patch(f'{BACKTRACKING}.SLICE', 200):
        result = search(cloud(*rows), query, limit=10)
    assert len(result.candidates) == 10
    # Its search is put off, and ten others have been found by then.
    assert result.work < search(cloud(*rows), query, limit=10).work
    hosts = {name.split('+')[0].split('_')[0] for name in who(result)}
    assert len(hosts) == 10
    assert 'pf1' not in hosts


def test_alike_hosts_are_searched_once() -> None:
    one, query = hard_host(1)
    hundred = [row for host in range(1, 101) for row in hard_host(host)[0]]
    alone = search(cloud(*one), query)
    together = search(cloud(*hundred), query)
    assert not alone.candidates
    assert not together.candidates
    # A look at each of seven providers of the other trees, at each for each group, and at what
    # they have in common; what was found out about the first is not found out again.
    assert together.work < alone.work + 100 * 7 * 3 * 17


def test_cut_search_says_so() -> None:
    rows, query = hard_host(1)
    with mock.patch(f'{BACKTRACKING}.SLICE', 50):
        result = search(cloud(*rows), query, budget=100)
    assert result.is_cut


def test_budget_cuts_an_answer_that_is_too_long() -> None:
    rows = [provider('cn'), *[provider(f'pf{one}', parent='cn', VF=8) for one in range(8)]]
    groups = '&'.join(f'resources{number}=VF:1' for number in range(6))
    result = search(cloud(*rows), f'{groups}&group_policy=none', budget=3000)
    assert result.is_cut
    assert 500 <= len(result.candidates) <= 750


def test_large_groups_of_which_each_needs_a_slot_are_counted() -> None:
    functions = [provider(f'pf{number}', parent='cn', VF=8) for number in range(50)]
    groups = '&'.join(f'resources_{number}=VF:{5 + number % 2}' for number in range(51))
    snapshot, query = cloud(provider('cn'), *functions), f'{groups}&group_policy=none'
    result = search(snapshot, query)
    assert not result.candidates
    # No more than a look at each slot for each group.
    assert result.work < 2 * 50 * 51


def test_one_provider_has_to_bring_all_traits_that_a_single_class_collects() -> None:
    nodes = [
        provider(f'numa{number}', parent='cn', VCPU=8, traits='SSD' if number % 2 else 'AVX')
        for number in range(16)
    ]
    groups = '&'.join(f'resources_{number}=VCPU:1' for number in range(9))
    snapshot = cloud(provider('cn'), *nodes)
    query = f'{groups}&group_policy=isolate&resources=VCPU:1&required=SSD'
    apart = search(snapshot, f'{query},AVX')
    assert not apart.candidates
    assert not apart.is_cut
    assert apart.work < 2_000
    assert len(search(snapshot, query, limit=10).candidates) == 10


def work_of(query: str, *hosts: dict, **options: object) -> int:
    """The number of steps of a search."""
    return search(cloud(*hosts), query, **options).work


def test_work_grows_with_the_alternatives_that_a_profile_is_compared_with() -> None:
    hosts = [provider(f'cn{n}', VCPU=8, traits=f'A B C{n}') for n in range(100)]
    one, many = (
        work_of(
            'resources_1=VCPU:1' + ''.join(f'&required_1=in:A,B{n}' for n in range(sets)), *hosts
        )
        for sets in (1, 401)
    )
    assert many - one >= 100 * 400 // 10


def test_work_grows_with_the_groups_that_a_plan_is_made_for() -> None:
    functions = [provider(f'pf{number}', parent='cn', VF=99) for number in range(40)]
    few, many = (
        work_of(
            '&'.join(
                f'resources_{n}=VF:1&required_{n}=!T{n}' for n in range(groups)
            ) + '&group_policy=none',
            provider('cn'), *functions, limit=1,
        )
        for groups in (10, 90)
    )  # fmt: skip
    assert many - few >= 40 * 80


def test_work_grows_with_the_length_of_candidates() -> None:
    functions = [provider(f'pf{number}', parent='cn', VF=99) for number in range(9)]
    short, long = (
        work_of(
            '&'.join(f'resources_{n}=VF:1' for n in range(groups)) + '&group_policy=none',
            provider('cn'), *functions, limit=1000,
        )
        for groups in (4, 40)
    )  # fmt: skip
    assert long - short >= 1000 * 18


def test_random_answers_of_unlike_hosts_look_at_what_they_return() -> None:
    rows = [
        ProviderRow(number, f'cn{number}', None, number, {'VCPU': InventoryRow(8 + number)})
        for number in range(1, 3001)
    ]
    request = CandidateRequest((RequestGroup('', {'VCPU': 2}),), limit=10, randomize=True)
    samples = set()
    for seed in range(5):
        result = find_candidates(Snapshot.of(rows), request, random.Random(seed))
        samples.add(tuple(who(result)))
        assert result.trees_examined == 10
    assert len(samples) == 5
