# SPDX-License-Identifier: Apache-2.0
"""The search and the oracle find the same, whatever the cloud and the request.

PLACEMENT_TEST_THOROUGH=20 tries ten times as many clouds, and other ones each time.
"""

import collections
import dataclasses
import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import hypothesis
from hypothesis import strategies as st

from placement.search.candidate import Candidate
from placement.search.candidates import find_candidates
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup, Strategy
from placement.search.model.snapshot import Snapshot
from placement.tests import thorough
from placement.tests.unit.search.cloud import contents, rows_in
from placement.tests.unit.search.oracle import SHARING, Cloud, Found, solve, summarised

CLASSES = ['VCPU', 'DISK_GB', 'FPGA']
TRAITS = ['T1', 'T2', 'T3']
AGGREGATES = ['A', 'B', 'C']

# Examples are made by choosing from tables, which is what makes thousands of them affordable. What
# is ordinary is in a table as often as it should come.

Entry = TypeVar('Entry')


class Looks(NamedTuple):
    """Members that are equal for equal providers."""

    inventories: dict[str, InventoryRow]
    traits: frozenset[str]
    aggregates: frozenset[str]


class Choose(Protocol):
    """A function that chooses from a table, such as random.choice."""

    def __call__(self, table: Sequence[Entry], /) -> Entry: ...


def subsets(names: list[str], most: int) -> list[frozenset[str]]:
    return [
        frozenset(chosen)
        for size in range(most + 1)
        for chosen in itertools.combinations(names, size)
    ]


SOME_CLASSES = subsets(CLASSES, 3) + subsets(CLASSES, 3)[4:] * 2
ODD_LIMITS = list(
    itertools.product((7, 4), (0, 2), (1, 2), (5, 2), (1, 2, 3), (1.0, 1.5, 0.3, 16.0))
)
INVENTORIES = [
    *[InventoryRow(8)] * 70,
    *[InventoryRow(total) for total in (1, 2, 3)] * 5,
    *itertools.starmap(InventoryRow, ODD_LIMITS[::5]),
]
USAGES = [(0, 0, 0)] * 90 + list(itertools.product((0, 2, 9), repeat=3))
SOME_TRAITS = [
    *subsets(TRAITS, 2) * 2,
    *[traits | {SHARING} for traits in subsets(TRAITS, 1)],
]
SOME_AGGREGATES: list[frozenset[str]] = [frozenset()] * 3 + subsets(AGGREGATES, 2)
FEW_AGGREGATES: list[frozenset[str]] = [frozenset()] * 20 + subsets(AGGREGATES, 1)
# Members of a tree: each with the number of its parent, and who is like whom.
Shape = list[tuple[int | None, int]]
TREES: list[Shape] = [
    [(None, 0)],
    [(None, 0), (0, 1)],
    [(None, 0), (0, 0)],
    [(None, 0), (0, 1), (0, 1)],
    [(None, 0), (0, 1), (0, 1), (0, 1)],
    [(None, 0), (0, 1), (0, 2)],
    [(None, 0), (0, 1), (1, 2)],
    [(None, 0), (0, 1), (0, 1), (1, 2), (2, 2)],
    [(None, 0), (0, 1), (0, 1), (2, 2), (2, 2)],
    [(None, 0), (0, 1), (1, 2), (0, 2)],
]
# How many trees are alike but for what is used of them.
FORESTS = [(1,), (1, 1), (2,), (3,), (2, 1), (1, 1, 1), (2, 1, 1), (2, 2), (1, 1, 2)]


def choose_cloud(choose: Choose, shapes: Sequence[Shape] = TREES) -> list[ProviderRow]:
    """Rows of a few trees."""
    trees = [tree for copies in choose(FORESTS) for tree in [choose_tree(choose, shapes)] * copies]
    count = sum(map(len, trees))
    # Ids say nothing about the order of parents and children; those far apart share no block.
    ids = range(1, count + 1) if choose([True, False]) else range(count * 40, 0, -40)
    rows: list[ProviderRow] = []
    for tree in trees:
        first = len(rows)
        for parent, looks in tree:
            used = choose(USAGES)
            row = ProviderRow(
                ids[len(rows)],
                f'p{ids[len(rows)]}',
                None if parent is None else ids[first + parent],
                ids[first],
                {
                    name: inventory._replace(used=used[place])
                    for place, (name, inventory) in enumerate(looks.inventories.items())
                },
                looks.traits,
                looks.aggregates | choose(FEW_AGGREGATES),
            )
            rows.append(row)
    return rows


def choose_tree(choose: Choose, shapes: Sequence[Shape]) -> list[tuple[int | None, Looks]]:
    """The providers of a tree without their names, each with the number of its parent."""
    shape = choose(shapes)
    looks = [
        Looks(
            {name: choose(INVENTORIES) for name in sorted(choose(SOME_CLASSES))},
            choose(SOME_TRAITS),
            choose(SOME_AGGREGATES),
        )
        for kind in sorted({kind for parent, kind in shape})
    ]
    return [(parent, looks[kind]) for parent, kind in shape]


def alternatives(names: list[str]) -> list[tuple[frozenset[str], ...]]:
    """Conditions of which each is met by any name of a set; as a rule none."""
    sets = subsets(names, 2)[1:]
    return [*[()] * 100, *[(one,) for one in sets], *[*itertools.combinations(sets, 2)][::3]]


def barred(names: list[str]) -> list[frozenset[str]]:
    return [frozenset()] * 60 + subsets(names, 1)[1:] + subsets(names, 2)[-1:]


WANTED_CLASSES = subsets(CLASSES, 1)[1:] * 3 + subsets(CLASSES, 3)[4:]
AMOUNTS = [(1, 1, 1)] * 30 + list(itertools.product((1, 2, 3, 6), repeat=3))
REQUIRED = alternatives(TRAITS)
ROOT_REQUIRED = barred(TRAITS)
FORBIDDEN = barred([*TRAITS, SHARING])
MEMBER_OF = alternatives(AGGREGATES)
FORBIDDEN_AGGREGATES = barred(AGGREGATES)
# Which groups there are: u the one without suffix, O without resources, like letters ask alike.
ASKED = ['u', 'a', 'ua', 'aa', 'ab', 'uaa', 'uab', 'aaa', 'aab', 'aO', 'uaO', 'aaO', 'abO', 'aOO']
SUFFIXES = ['1', '_N', '3', '-four', '5', '6', '7', '8']


def choose_request(
    choose: Choose, rows: list[ProviderRow], letters: Sequence[str] = ASKED
) -> CandidateRequest:
    """A request that is valid; what it asks for may well be out of reach."""
    asked = choose(letters)
    uuids = [None] * 60 + [row.uuid for row in rows][:5] + ['nobody']
    kinds = {letter: choose_group(choose, letter, uuids) for letter in sorted(set(asked))}
    suffixes = iter(SUFFIXES)
    groups = tuple(
        dataclasses.replace(kinds[letter], suffix='' if letter == 'u' else next(suffixes))
        for letter in choose([asked, asked[::-1]])
    )
    return CandidateRequest(
        groups,
        isolate=choose([False, True]),
        same_subtree=choose_subtrees(choose, groups),
        root_required=choose(ROOT_REQUIRED),
        root_forbidden=choose(FORBIDDEN),
        single_provider_per_tree=choose([False, False, False, True]),
        summarise_whole_trees=choose([True, False]),
    )


def choose_group(choose: Choose, letter: str, uuids: Sequence[str | None]) -> RequestGroup:
    wanted = zip(sorted(choose(WANTED_CLASSES)), choose(AMOUNTS), strict=False)
    return RequestGroup(
        resources={} if letter == 'O' else dict(wanted),
        required=choose(REQUIRED),
        forbidden=choose(FORBIDDEN),
        member_of=choose(MEMBER_OF),
        forbidden_aggregates=choose(FORBIDDEN_AGGREGATES),
        in_tree=choose(uuids),
    )


def choose_subtrees(
    choose: Choose, groups: tuple[RequestGroup, ...]
) -> tuple[frozenset[str], ...]:
    """Constraints, among which every group without resources occurs."""
    suffixes = subsets([group.suffix for group in groups if group.suffix], 4)[1:]
    count = choose([0, 0, 0, 0, 1, 2]) if suffixes else 0
    given = tuple(choose(suffixes) for _ in range(count))
    bare = frozenset(group.suffix for group in groups if not group.resources)
    return given if bare <= frozenset().union(*given) else (*given, bare)


def chooser(draw: st.DrawFn) -> Choose:
    """Choose each entry of a table as often as any other: Hypothesis would prefer a few of them,
    and so finds less in as many examples."""
    return draw(st.randoms(use_true_random=True)).choice


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[ProviderRow], CandidateRequest]:
    rows = choose_cloud(chooser(draw))
    return rows, choose_request(chooser(draw), rows)


def examples(count: int) -> hypothesis.settings:
    """Settings under which nothing depends on the time or on an earlier run."""
    return hypothesis.settings(
        max_examples=thorough.examples(count),
        derandomize=thorough.THOROUGH <= 1,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def shown(candidate: Candidate) -> Found:
    """The candidate in the words of the oracle."""
    for served_by in candidate.mappings.values():
        assert len(served_by) == len(set(served_by))
    return Found(
        frozenset(
            (provider.uuid, name, amount)
            for provider, amounts in candidate.allocations.items()
            for name, amount in amounts.items()
        ),
        frozenset(
            (suffix, frozenset(provider.uuid for provider in providers))
            for suffix, providers in candidate.mappings.items()
        ),
    )


def ask(
    snapshot: Snapshot, request: CandidateRequest, seed: int = 1, **options: Any
) -> list[Found]:
    """The candidates of a search, in its order, after a check of its summaries."""
    request = dataclasses.replace(request, **options)
    result = find_candidates(snapshot, request, random.Random(seed))
    found = [shown(candidate) for candidate in result.candidates]
    uuids = [provider.uuid for provider in result.providers]
    assert len(uuids) == len(set(uuids))
    assert set(uuids) == summarised(Cloud(rows_in(snapshot).values()), request, found)
    return found


@examples(2500)
@hypothesis.given(questions())
def test_every_candidate_is_found_once(question: tuple) -> None:
    rows, request = question
    expected = solve(Cloud(rows), request)
    found = ask(Snapshot.of(rows), request)
    assert len(found) == len(set(found))
    assert set(found) == set(expected)


@examples(400)
@hypothesis.given(questions(), st.integers(1, 9), st.sampled_from(list(Strategy)), st.booleans())
def test_a_limit_keeps_some(
    question: tuple, limit: int, strategy: Strategy, randomize: bool
) -> None:
    rows, request = question
    expected = solve(Cloud(rows), request)
    snapshot = Snapshot.of(rows)
    for options, count in (
        ({}, len(expected)),
        ({'limit': limit}, limit),
        ({'bound': limit}, limit),
        ({'limit': limit, 'bound': 3}, min(limit, 3)),
        ({'limit': 3, 'bound': limit}, min(limit, 3)),
        ({'limit': limit, 'bound': -1}, limit),
        ({'limit': limit, 'bound': 0}, 1),
        ({'limit': 10**30}, len(expected)),
    ):
        found = ask(snapshot, request, strategy=strategy, randomize=randomize, **options)
        assert len(found) == len(set(found)) == min(count, len(expected))
        assert set(found) <= set(expected)


@examples(400)
@hypothesis.given(questions(), st.integers(1, 9), st.sampled_from(['limit', 'bound']))
def test_candidates_come_from_many_anchors_or_from_few(
    question: tuple, count: int, kind: str
) -> None:
    rows, request = question
    anchors = solve(Cloud(rows), request)
    every = collections.Counter(anchor for roots in anchors.values() for anchor in roots)
    broad, deep = (
        collections.Counter(
            anchor
            for found in ask(Snapshot.of(rows), request, strategy=strategy, **{kind: count})
            for anchor in anchors[found]
        )
        for strategy in (Strategy.BREADTH_FIRST, Strategy.DEPTH_FIRST)
    )
    # What sharing providers serve alone is found under the first anchor that reaches them.
    own = {root for roots in anchors.values() if len(roots) == 1 for root in roots}
    assert len(broad) >= min(count, len(own))
    if every.total() == len(anchors):
        assert all(
            broad[anchor] >= max(broad.values()) - 1
            for anchor in every
            if broad[anchor] < every[anchor]
        )
        assert sum(deep[anchor] < every[anchor] for anchor in deep) <= 1


@examples(300)
@hypothesis.given(questions(), questions())
def test_a_changed_snapshot_answers_like_a_fresh_one(before: tuple, after: tuple) -> None:
    (old_rows, one), (new_rows, other) = before, after
    known = {row.id: row for row in old_rows}
    changed = [row for row in new_rows if known.get(row.id) != row]
    old = Snapshot.of(old_rows)
    answers = [ask(old, request) for request in (one, other)]
    new = old.with_changes(changed, known.keys() - {row.id for row in new_rows})
    fresh = Snapshot.of(new_rows)
    assert contents(new) == contents(fresh)
    for request in (one, other):
        assert ask(new, request) == ask(fresh, request)
        assert set(ask(new, request)) == set(solve(Cloud(new_rows), request))
    # Whoever still holds the old one sees nothing of the change.
    assert contents(old) == contents(Snapshot.of(old_rows))
    assert [ask(old, request) for request in (one, other)] == answers


def test_random_search_may_begin_with_every_tree() -> None:
    rows = [
        ProviderRow(number, f'p{number}', parent, parent or number, {'VCPU': InventoryRow(8)})
        for number, parent in enumerate([None, 1, 1, None, 4, None], 1)
    ]
    groups = (RequestGroup('1', {'VCPU': 1}), RequestGroup('2', {'VCPU': 1}))
    request = CandidateRequest(groups, isolate=True, randomize=True)
    snapshot = Snapshot.of(rows)
    anchors = solve(Cloud(rows), request)
    firsts = set()
    for seed in range(60):
        found = ask(snapshot, request, seed)
        assert set(found) == set(anchors)
        firsts.update(anchors[found[0]])
    assert firsts == {'p1', 'p4'}
