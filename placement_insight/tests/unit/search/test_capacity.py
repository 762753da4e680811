# SPDX-License-Identifier: Apache-2.0
"""Capacities of clouds in which they can be worked out in the head."""

import contextlib
import itertools
from unittest import mock

import pytest

from placement.search.model.snapshot import Snapshot
from placement.search.solver.feasibility import Feasibility
from placement.search.solver.work import SETS_PER_STEP
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider
from placement_insight.search import claims, closed_form
from placement_insight.search.capacity import (
    ClassFragmentation,
    RowPage,
    capacities_of,
    capacity_of,
)
from placement_insight.search.closed_form import Count
from placement_insight.search.sliced_work import SlicedWork

HOSTS = cloud(
    provider('cn1', VCPU={'total': 8, 'used': 3}, MEMORY_MB=100),
    provider('cn2', VCPU=8, MEMORY_MB={'total': 100, 'used': 90}),
    provider('cn3', VCPU={'total': 8, 'used': 9}, MEMORY_MB=100),
    provider('odd', VCPU={'total': 8, 'min_unit': 4}, MEMORY_MB=100),
)


def numa_hosts(count: int, processors: int = 4, used: bool = False) -> Snapshot:
    """Hosts with two NUMA nodes each; with `used` they differ in what is in use."""
    return cloud(
        *[
            part
            for n in range(count)
            for part in (
                provider(f'cn{n}', MEMORY_MB={'total': 10_000, 'used': n * used}),
                provider(f'cn{n}_0', parent=f'cn{n}', VCPU=processors),
                provider(f'cn{n}_1', parent=f'cn{n}', VCPU=processors),
            )
        ]
    )


NUMA = numa_hosts(3)


def searched_for_claims() -> contextlib.AbstractContextManager[mock.Mock]:
    """Counts the searches for a candidate to be claimed."""
    candidate = Feasibility.candidate
    return mock.patch.object(Feasibility, 'candidate', autospec=True, side_effect=candidate)


def test_one_provider_is_a_division() -> None:
    answer = capacity_of(HOSTS, parse('resources=VCPU:2,MEMORY_MB:20'), by_root=RowPage(10))
    assert answer.now == Count(2 + 0 + 0, 2)
    assert answer.if_empty == Count(4 + 4 + 4, 12)
    assert answer.trees is not None
    assert [(row.uuid, row.now.at_least) for row in answer.trees] == [
        ('cn1', 2), ('cn2', 0), ('cn3', 0), ('odd', 0)
    ]  # fmt: skip
    assert answer.note is None
    assert answer.fragmentation == (
        ClassFragmentation('VCPU', 32, 12, 5 + 8 + 0 + 8, 4),
        ClassFragmentation('MEMORY_MB', 400, 90, 100 + 10 + 100 + 100, 40),
    )


UNITS = cloud(provider('cn', VCPU={'total': 100, 'max_unit': 4}))


@pytest.mark.parametrize(
    ('query', 'times'),
    [
        ('resources=VCPU:4', 25),
        ('resources=VCPU:5', 0),
        ('resources_A=VCPU:2&resources_B=VCPU:2&group_policy=none', 25),
        # One consumer takes no more than max_unit, however many groups it has.
        ('resources_A=VCPU:3&resources_B=VCPU:3&group_policy=none', 0),
        ('resources_A=VCPU:1&resources_B=VCPU:1&group_policy=isolate', 0),
        ('resources=VCPU:1&resources_B=VCPU:1&group_policy=isolate', 50),
    ],
)
def test_capacity_of_a_host_without_children(query: str, times: int) -> None:
    assert capacity_of(UNITS, parse(query)).now == Count(times, times)


def test_groups_are_claimed_on_a_copy() -> None:
    query = 'resources_A=VCPU:2&resources_B=VCPU:2&resources=MEMORY_MB:1&group_policy=isolate'
    with searched_for_claims() as searched:
        answer = capacity_of(NUMA, parse(query))
    assert answer.now == answer.if_empty == Count(6, 6)
    # Trees that are alike are claimed on once: two claims and a refusal, now and when empty.
    assert searched.call_count == 2 * (1 + 1)


def test_a_candidate_is_claimed_as_many_times_as_there_is_room() -> None:
    answer = capacity_of(
        numa_hosts(2, 400, used=True), parse('resources=VCPU:1,MEMORY_MB:1'), by_root=RowPage(9)
    )
    assert answer.now == Count(1600, 1600)
    assert answer.trees is not None
    assert [row.now for row in answer.trees] == [Count(800, 800)] * 2


def pooled(hosts: int, pools: int) -> Snapshot:
    """Hosts that all reach all of some pools."""
    aggregates = ' '.join(f'A{number}' for number in range(pools))
    return cloud(
        *[provider(f'cn{n}', VCPU=32, aggregates=aggregates) for n in range(hosts)],
        *[
            provider(f'pool{n}', DISK_GB={'total': 1000, 'used': n}, traits=SHARING,
                     aggregates=f'A{n}')
            for n in range(pools)
        ],
    )  # fmt: skip


QUERIES_OF_POOLS = [
    'resources=VCPU:1,DISK_GB:10',
    'resources=VCPU:1&resources_A=DISK_GB:10&resources_B=DISK_GB:10&group_policy=isolate',
    'resources_A=DISK_GB:10',
]


@pytest.mark.parametrize('query', QUERIES_OF_POOLS)
def test_pools_are_weighed_once_for_all_trees_that_reach_them(query: str) -> None:
    weighed = list[int]()
    for hosts in (20, 60):
        with mock.patch.object(closed_form, 'quotients', wraps=closed_form.quotients) as quotients:
            capacity_of(pooled(hosts, 40), parse(query))
        weighed.append(sum('pool' in each.args[0].uuid for each in quotients.call_args_list))
    # Each for itself and all together, now and if empty, and each pool as a tree.
    assert weighed[0] == weighed[1] <= 2 * 2 * 3 * 40


@pytest.mark.parametrize('query', QUERIES_OF_POOLS)
def test_pools_are_weighed_with_pauses(query: str) -> None:
    weighed = [0]
    with mock.patch.object(closed_form, 'quotients', wraps=closed_form.quotients) as quotients:

        def pause() -> None:
            weighed.append(quotients.call_count)

        capacity_of(pooled(20, 3_000), parse(query), SlicedWork(10_000, pause))
    assert weighed[-1] >= 3_000
    assert max(b - a for a, b in itertools.pairwise(weighed)) <= 1_500


def test_consumers_of_many_pools_are_counted() -> None:
    capacity = capacity_of(pooled(100, 20), parse(QUERIES_OF_POOLS[0]))
    assert capacity.now == Count.exactly(sum((1000 - used) // 10 for used in range(20)))
    assert capacity.if_empty == Count.exactly(2_000)


def test_the_cloud_as_it_would_be_empty_has_its_part_of_the_budget() -> None:
    capacity = capacity_of(pooled(1_000, 100), parse(QUERIES_OF_POOLS[0]), SlicedWork(60_000))
    for count in (capacity.now, capacity.if_empty):
        assert 0 < count.at_least < count.at_most


def test_root_that_alone_has_the_classes_needs_no_claim() -> None:
    host = [
        provider('host', VCPU={'total': 5000, 'used': 10}, MEMORY_MB=100_000),
        provider('card', parent='host', VGPU=4),
    ]
    with searched_for_claims() as searched:
        answer = capacity_of(cloud(*host), parse('resources=VCPU:2,MEMORY_MB:10'))
    assert (answer.now, answer.if_empty) == (Count(2495, 2495), Count(2500, 2500))
    assert searched.call_count == 0


def test_hosts_and_their_pools_are_minima_of_quotients() -> None:
    """Each pool is shared by its own hosts, of which some have room for more than it has."""
    rows = [
        part
        for n in range(50)
        for part in (
            provider(f'pool{n}', DISK_GB={'total': 1000 + n, 'used': 300}, traits=SHARING,
                     aggregates=f'A{n}'),
            *[
                provider(f'cn{n}_{m}', VCPU={'total': 40 + 40 * m, 'used': m}, aggregates=f'A{n}')
                for m in range(2)
            ],
        )
    ]  # fmt: skip
    with searched_for_claims() as searched:
        answer = capacity_of(
            cloud(*rows), parse('resources=VCPU:1,DISK_GB:10'), by_root=RowPage(3)
        )
    now = sum(min(40 + 79, (700 + n) // 10) for n in range(50))
    if_empty = sum(min(40 + 80, (1000 + n) // 10) for n in range(50))
    assert (answer.now, answer.if_empty) == (Count(now, now), Count(if_empty, if_empty))
    assert searched.call_count == 0
    assert answer.trees is not None
    assert [(row.uuid, row.now) for row in answer.trees] == [
        ('cn0_0', Count(40, 40)), ('cn0_1', Count(70, 70)), ('cn10_0', Count(40, 40))
    ]  # fmt: skip


def test_a_capacity_below_zero_takes_nothing_from_the_others() -> None:
    reserved = provider('reserved', VCPU={'total': 4, 'reserved': 10, 'used': 1})
    over = provider('over', VCPU={'total': 4, 'used': 7})
    answer = capacity_of(cloud(provider('cn', VCPU=8), reserved, over), parse('resources=VCPU:1'))
    assert answer.fragmentation == (ClassFragmentation('VCPU', 12, 8, 8, 8),)


def test_one_class_is_served_by_who_has_the_traits_itself() -> None:
    host = [
        provider('host', FPGA=8),
        provider('card', parent='host', FPGA=5, traits='T1'),
        provider('other', parent='host', FPGA=3, traits='T2'),
    ]
    request = parse('resources=FPGA:1&required=T1')
    answer = capacity_of(cloud(*host), request, by_root=RowPage(10))
    assert (answer.now, answer.if_empty) == (Count(5, 5), Count(5, 5))
    assert answer.trees is not None
    assert [row.now for row in answer.trees] == [Count(5, 5)]


def test_isolated_ports_on_cards_that_are_unevenly_full() -> None:
    """The fuller card bounds them; without that, at most would be 5 and 2."""
    ports = [('a_0', 'a', 0), ('a_1', 'a', 6), ('b_0', 'b', 4), ('b_1', 'b', 8)]
    hosts = [provider(name, VCPU=64) for name in 'ab']
    cards = [
        provider(name, parent, SRIOV_NET_VF={'total': 8, 'used': used})
        for name, parent, used in ports
    ]
    vfs = '&'.join(f'resources_{name}=SRIOV_NET_VF:1' for name in 'AB')
    answer = capacity_of(
        cloud(*hosts, *cards), parse(f'resources=VCPU:1&{vfs}&group_policy=isolate')
    )
    assert answer.now == Count(2, 2)


def test_isolated_groups_of_different_classes_do_not_compete() -> None:
    """Two consumers have the FPGA of the one and the disk of the other, and two the other way."""
    host = [
        provider('host', FPGA=4, DISK_GB=3),
        provider('card', parent='host', FPGA=4, DISK_GB=2),
    ]
    query = 'resources_a=FPGA:2&resources_b=DISK_GB:1&group_policy=isolate'
    answer = capacity_of(cloud(*host), parse(query), by_root=RowPage(10))
    assert answer.trees is not None
    for count in (answer.now, answer.trees[0].now):
        assert count.at_least <= count.at_most
        assert count.at_most >= 4


def test_spent_budget_gives_bounds() -> None:
    query = 'resources_A=VCPU:1&resources_B=VCPU:1&group_policy=isolate'
    work = SlicedWork(10, pause=lambda: None)
    answer = capacity_of(NUMA, parse(query), work)
    assert answer.now.at_least < 12
    assert answer.now.at_most == 12


def test_several_requests_share_one_budget() -> None:
    query = 'resources_A=VCPU:2&resources_B=VCPU:2&resources=MEMORY_MB:1&group_policy=isolate'
    requests = {str(number): parse(query) for number in range(100)}
    work = SlicedWork(20_000, pause=lambda: None)
    alone = capacity_of(numa_hosts(30, used=True), parse(query), SlicedWork(20_000, lambda: None))
    found = capacities_of(numa_hosts(30, used=True), requests, work)
    assert list(found) == list(requests)
    assert alone.now.is_exact
    least = SlicedWork(0, pause=lambda: None)
    capacity_of(numa_hosts(30, used=True), parse(query), least)
    # Bounds are worked out whatever was spent.
    assert work.spent < 20_000 + 100 * 1.2 * least.spent
    assert all(one.now.at_least <= 60 <= one.now.at_most for one in found.values())


def test_no_search_is_prepared_when_the_budget_is_spent() -> None:
    hosts = [provider(f'cn{n}', VCPU=2, aggregates='A') for n in range(300)]
    shared = cloud(provider('nfs', DISK_GB=30, traits=SHARING, aggregates='A'), *hosts)
    groups = '&'.join(f'resources_{number}=VCPU:1' for number in range(100))
    request = parse(f'{groups}&resources=DISK_GB:1&group_policy=none')
    work = SlicedWork(100, pause=lambda: None)
    prepared = 0

    class Counting(Feasibility):
        def __init__(self, *args: object) -> None:
            nonlocal prepared
            prepared += 1
            super().__init__(*args)  # type: ignore[arg-type]

    with mock.patch.object(claims, 'Feasibility', Counting):
        capacity_of(shared, request, work)
    # One for each of the three ways to claim, which is not prepared tree by tree.
    assert prepared <= 3 + 2


def test_conditions_that_are_compared_are_counted() -> None:
    """With each host, each of which has one of the traits."""
    hosts = cloud(*[provider(f'cn{n}', traits=f'T{n}', VCPU=8) for n in range(50)])
    spent = []
    for traits in (50, 50 + 160):
        barred = ','.join(f'!T{number}' for number in range(traits))
        work = SlicedWork(pause=lambda: None)
        capacity = capacity_of(hosts, parse(f'resources=VCPU:1&required={barred}'), work)
        assert capacity.now == Count(0, 0)
        spent.append(work.spent)
    assert spent[1] - spent[0] >= 50 * 160 // SETS_PER_STEP
