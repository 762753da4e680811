# SPDX-License-Identifier: Apache-2.0
"""The search and the oracle find the same in odd clouds, whatever the search forgets on its way.

Deep and wide trees, and many groups in little room, isolated or in overlapping subtrees. The
caches of the search are so small that they forget all the time, and the slices so short that trees
are left and taken up again. The budget is so small that it cuts anywhere.

PLACEMENT_TEST_THOROUGH=20 tries ten times as many, and other ones each time.
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import random
from collections.abc import Iterator
from unittest import mock

import pytest

from placement.search.candidates import find_candidates
from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest, Strategy
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import THOROUGH, examples
from placement.tests.unit.search.oracle import Cloud, Found, nearly_full, solutions, solve
from placement.tests.unit.search.test_oracle import Shape, ask, choose_cloud, choose_request

BATCHES, SEEDS_IN_BATCH = 8, 70
# What the oracle can try in a moment.
MOST_COMBINATIONS = 4_000
SOLVER = 'placement.search.solver'

# Chains, stars and what is between, with members that are alike and members that are not.
ODD_TREES: list[Shape] = [
    [(above(number) if number else None, number % kinds) for number in range(size)]
    for size in (1, 2, 3, 4, 5, 6, 8)
    for kinds in sorted({1, min(size, 2), size})
    for above in (lambda number: number - 1, lambda number: 0, lambda number: (number - 1) // 2)
]
ODD_ASKED = [
    unsuffixed + suffixed + bare
    for unsuffixed in ('', '', 'u')
    for suffixed in ('a', 'aa', 'ab', 'aaa', 'aab', 'abc', 'aaaa', 'aabb', 'aaabb', 'aaaaab')
    for bare in ('', '', '', '', 'O', 'OO')
]


def combinations(cloud: Cloud, request: CandidateRequest) -> int:
    """The number of combinations that the oracle would try."""
    return sum(
        math.prod(
            len(list(itertools.islice(solutions(cloud, group, anchor), MOST_COMBINATIONS)))
            for group in request.groups
        )
        for anchor in cloud.roots
    )


@contextlib.contextmanager
def forgetful(chance: random.Random) -> Iterator[None]:
    """Chooses low limits at random, so that the search forgets, defers and splits its work."""
    with contextlib.ExitStack() as stack:
        for name, values in (
            ('backtracking.SLICE', (1, 2, 7, 4000)),
            ('plan.FEW', (0, 0, 3, 64)),
            ('anchors.MAX_PLANS', (1, 2, 2048)),
            ('plan.MAX_INFEASIBLE', (1, 2, 1024)),
            ('nogoods.MAX_NOGOODS', (1, 3, 20_000)),
            ('nogoods.MAX_NUMBERS', (1, 5, 100_000)),
        ):
            stack.enter_context(mock.patch(f'{SOLVER}.{name}', chance.choice(values)))
        yield


def questions(batch: int) -> Iterator[tuple[int, list[ProviderRow], CandidateRequest]]:
    """Clouds and requests that the oracle can answer, each with the seed it is made from."""
    start = random.randrange(2**40) if THOROUGH > 1 else batch * SEEDS_IN_BATCH
    for seed in range(start, start + examples(SEEDS_IN_BATCH)):
        chance = random.Random(seed)
        rows = choose_cloud(chance.choice, ODD_TREES)
        if chance.random() < 0.3:
            rows = nearly_full(rows, functools.partial(chance.choice, [2, 3, 4, 6]))
        request = choose_request(chance.choice, rows, ODD_ASKED)
        if combinations(Cloud(rows), request) <= MOST_COMBINATIONS:
            yield seed, rows, request


@pytest.mark.parametrize('batch', range(BATCHES))
def test_odd_clouds_have_the_candidates_of_the_oracle(batch: int) -> None:
    for seed, rows, request in questions(batch):
        expected = set(solve(Cloud(rows), request))
        chance = random.Random(seed)
        with forgetful(chance):
            check(seed, rows, request, expected, chance)


def check(
    seed: int,
    rows: list[ProviderRow],
    request: CandidateRequest,
    expected: set[Found],
    chance: random.Random,
) -> None:
    snapshot = Snapshot.of(rows)
    strategy = chance.choice(list(Strategy))
    found = ask(snapshot, request, strategy=strategy)
    assert len(found) == len(set(found)), seed
    assert set(found) == expected, seed
    shuffled = Snapshot.of(chance.sample(rows, len(rows)))
    assert ask(shuffled, request, strategy=strategy) == found, seed
    drawn = ask(snapshot, request, strategy=strategy, randomize=True)
    assert len(drawn) == len(found), seed
    assert set(drawn) == expected, seed
    limit, budget = chance.randint(1, 5), chance.choice([1, 5, 20, 100, 500, 3000])
    assert ask(snapshot, request, strategy=strategy, limit=limit) == found[:limit], seed
    cut = ask(snapshot, request, strategy=strategy, budget=budget)
    assert cut == found[: len(cut)], seed
    bounded = dataclasses.replace(request, strategy=strategy, budget=budget)
    result, again = (find_candidates(one, bounded) for one in (snapshot, shuffled))
    assert (result.work, result.is_cut) == (again.work, again.is_cut), seed
    assert result.is_cut or cut == found, seed
