# SPDX-License-Identifier: Apache-2.0
"""Rows by aggregate are what the query with `member_of` in addition counts."""

import dataclasses
import random

import pytest

from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import examples
from placement.tests.unit.search.cloud import cloud, parse, provider
from placement.tests.unit.search.test_oracle import AGGREGATES, choose_cloud, choose_request
from placement_insight.search.capacity import CapacityRow, RowPage, capacity_of
from placement_insight.search.sliced_work import STEPS_IN_SLICE, SlicedWork


def within(request: CandidateRequest, aggregate: str | None) -> CandidateRequest:
    """The request for providers of an aggregate, or of none."""
    bare = [group for group in request.groups if not group.suffix]
    groups = []
    for group in request.groups:
        if group in (bare or request.groups):
            if aggregate is None:
                barred = group.forbidden_aggregates | set(AGGREGATES)
                group = dataclasses.replace(group, forbidden_aggregates=barred)
            else:
                wanted = (*group.member_of, frozenset([aggregate]))
                group = dataclasses.replace(group, member_of=wanted)
        groups.append(group)
    return dataclasses.replace(request, groups=tuple(groups))


def work() -> SlicedWork:
    return SlicedWork(pause=lambda: None)


@pytest.mark.parametrize('block', range(10))
def test_a_row_is_the_count_of_the_query_with_member_of(block: int) -> None:
    claimable = 0
    for number in range(examples(100)):
        chance = random.Random(100 * block + number)
        rows = choose_cloud(chance.choice)
        request, snapshot = choose_request(chance.choice, rows), Snapshot.of(rows)
        known = sorted({aggregate for row in rows for aggregate in row.aggregates})
        expected = []
        for aggregate in [*known, None]:
            counted = capacity_of(snapshot, within(request, aggregate), work())
            expected.append(CapacityRow(aggregate or '', counted.now, counted.if_empty))
            claimable += bool(counted.if_empty.at_most)

        answer = capacity_of(snapshot, request, work(), by_aggregate=RowPage(100))
        assert list(answer.aggregates or ()) == expected
        assert answer.trees is None
    assert claimable


def test_aggregates_take_no_steps_for_trees_that_are_outside_of_them() -> None:
    hosts = [provider(f'cn{n}', VCPU=8, aggregates=f'A{n // 10:02}') for n in range(1_000)]
    pauses: list[None] = []
    plain, by_each = work(), SlicedWork(pause=lambda: pauses.append(None))
    snapshot, request = cloud(*hosts), parse('resources=VCPU:1')
    capacity_of(snapshot, request, plain)
    answer = capacity_of(snapshot, request, by_each, by_aggregate=RowPage(100))
    assert [row.now.at_least for row in answer.aggregates or ()] == [80] * 100
    assert by_each.spent < plain.spent + 5 * len(hosts)
    assert len(pauses) > by_each.spent / STEPS_IN_SLICE / 2
