# SPDX-License-Identifier: Apache-2.0
"""Rows by aggregate are what the query with `member_of` in addition counts."""

import dataclasses
import random

import pytest

from placement.search.insight.capacity import CapacityRow, RowPage, capacity_of
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import examples
from placement.tests.unit.search.test_oracle import AGGREGATES, choose_cloud, choose_request


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
