# SPDX-License-Identifier: Apache-2.0
"""Capacities, held against claiming until refused.

What can be claimed depends on the candidate that is chosen each time, so every choice is tried: at
least so many have to be what some choices lead to, and at most so many no fewer than any do.
"""

import hypothesis
from hypothesis import strategies as st

from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.oracle import Cloud, claimed, nearly_full, solve, unused
from placement.tests.unit.search.test_oracle import chooser, examples, questions
from placement_insight.search.capacity import CapacityRow, RequestCapacity, RowPage, capacity_of
from placement_insight.search.sliced_work import SlicedWork

# With more states of usage than this a cloud is passed over.
MAX_STATES = 60
EVERYTHING = RowPage(limit=1000)


class TooManyStates(Exception):
    """There are too many ways to claim."""


@st.composite
def nearly_full_questions(draw: st.DrawFn) -> tuple[list[ProviderRow], CandidateRequest]:
    """A cloud with little left, and a request."""
    rows, request = draw(questions())
    choose = chooser(draw)
    return nearly_full(rows, lambda: choose([1, 2, 2, 3, 4])), request


def capacity(rows: list[ProviderRow], request: CandidateRequest) -> RequestCapacity:
    """The capacity with all rows, without any bound."""
    work = SlicedWork(pause=lambda: None)
    return capacity_of(Snapshot.of(rows), request, work, EVERYTHING)


class EveryChoice:
    """All numbers of claims that can be made until the request is refused, on one tree or all."""

    def __init__(self, request: CandidateRequest, anchor: str | None = None) -> None:
        self.request = request
        self.anchor = anchor
        self.known: dict[object, frozenset[int]] = {}

    def counts(self, rows: list[ProviderRow]) -> frozenset[int]:
        state = tuple(
            (row.id, name, one.used) for row in rows for name, one in row.inventories.items()
        )
        if state not in self.known:
            if len(self.known) > MAX_STATES:
                raise TooManyStates
            self.known[state] = frozenset()
            found = {
                one.allocations: one
                for one, anchors in solve(Cloud(rows), self.request).items()
                if self.anchor is None or self.anchor in anchors
            }
            after = {1 + n for one in found.values() for n in self.counts(claimed(rows, one))}
            self.known[state] = frozenset(after or {0})
        return self.known[state]


@examples(500)
@hypothesis.given(nearly_full_questions())
def test_count_is_that_of_claiming_until_refused(question: tuple) -> None:
    rows, request = question
    answer = capacity(rows, request)
    try:
        expected = EveryChoice(request).counts(rows)
        by_tree = {
            root.uuid: EveryChoice(request, root.uuid).counts(rows) for root in Cloud(rows).roots
        }
    except TooManyStates:
        return
    assert answer.now.at_least in expected
    assert answer.now.at_most >= max(expected)
    assert answer.trees is not None
    assert [row.uuid for row in answer.trees] == sorted(by_tree)
    for row in answer.trees:
        assert row.now.at_least in by_tree[row.uuid]
        assert row.now.at_most >= max(by_tree[row.uuid])


@examples(150)
@hypothesis.given(nearly_full_questions())
def test_count_is_exact_where_each_class_has_one_provider(question: tuple) -> None:
    rows, request = question
    classes = [name for group in request.groups for name in group.resources]
    owners = [{row.id for row in rows if name in row.inventories} for name in classes]
    if all(len(one) == 1 for one in owners) and not request.same_subtree and not request.isolate:
        assert capacity(rows, request).is_exact or request.single_provider_per_tree


@examples(150)
@hypothesis.given(nearly_full_questions())
def test_empty_cloud_has_the_capacity_of_one_that_nobody_uses(question: tuple) -> None:
    rows, request = question
    answer = capacity(rows, request)
    empty = capacity([unused(row) for row in rows], request)
    if empty.is_exact and answer.is_exact:
        assert answer.if_empty == empty.now
        assert answer.trees is not None
        assert empty.trees is not None
        pairs = zip(answer.trees, empty.trees, strict=True)
        assert all(one.if_empty == other.now for one, other in pairs)


@examples(150)
@hypothesis.given(nearly_full_questions(), st.integers(1, 4))
def test_pages_hold_every_row_once(question: tuple, limit: int) -> None:
    rows, request = question
    snapshot, whole = Snapshot.of(rows), capacity(rows, request)
    after, has_more, found = '', True, list[CapacityRow]()
    while has_more:
        page = capacity_of(snapshot, request, by_root=RowPage(limit, after))
        assert page.trees
        assert len(page.trees) <= limit
        assert page.now == whole.now
        found += page.trees
        after, has_more = page.trees[-1].uuid, page.has_more
    assert tuple(found) == whole.trees
