# SPDX-License-Identifier: Apache-2.0
"""Capacities of clouds in which they can be told in the head."""

import contextlib
from unittest import mock

import pytest

from placement.search.insight import feasibility
from placement.search.insight.capacity import (
    ClassFragmentation,
    RowPage,
    capacities_of,
    capacity_of,
)
from placement.search.insight.closed_form import Count
from placement.search.insight.feasibility import MAX_CLAIMS, Feasibility
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider

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
    assert searched.call_count == 2 * (2 + 1)


def test_bounds_are_told_after_so_many_claims() -> None:
    answer = capacity_of(
        numa_hosts(2, 400, used=True), parse('resources=VCPU:1,MEMORY_MB:1'), by_root=RowPage(9)
    )
    assert answer.now == Count(MAX_CLAIMS, 1600)
    assert not answer.is_exact
    assert answer.trees is not None
    assert [row.now for row in answer.trees] == [Count(800, 800), Count(200, 800)]


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
    assert work.spent < 3 * 20_000
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

    with mock.patch.object(feasibility, 'Feasibility', Counting):
        capacity_of(shared, request, work)
    # One for each of the three ways to claim, which is not prepared tree by tree.
    assert prepared <= 3 + 2
