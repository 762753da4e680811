# SPDX-License-Identifier: Apache-2.0
"""The search and the oracle find the same in odd clouds, whatever the search forgets on its way.

Deep and wide trees, members that share, pools in several aggregates, many groups in little room,
isolated or in overlapping subtrees. The caches of the search are so small that they forget all
the time, and the slices so short that trees are left and taken up again. The budget is so small
that it cuts anywhere.

PLACEMENT_TEST_THOROUGH=20 tries twenty times as many, and other ones each time.
"""

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from unittest import mock

import pytest

from placement.search.candidates import find_candidates
from placement.search.insight.condition import Verdict
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup, Strategy
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import THOROUGH, examples
from placement.tests.unit.search.oracle import SHARING, Cloud, Found, solutions, solve
from placement.tests.unit.search.test_oracle import ask

BATCHES, SEEDS_IN_BATCH = 8, 50
# What the oracle can try in a moment.
MOST_COMBINATIONS = 4_000

CLASSES = ['A', 'B']
TRAITS = ['T1', 'T2', 'T3']
AGGREGATES = ['X', 'Y', 'Z']
SOLVER = 'placement.search.solver'


def odd_tree(chance: random.Random) -> list[int | None]:
    """The parents of the members of a tree, by number: a chain, a star, or anything else."""
    size = chance.choice([1, 2, 3, 4, 5, 6, 8])
    kind = chance.choice(['chain', 'star', 'any', 'any'])
    parents: list[int | None] = [None]
    for number in range(1, size):
        above = {'chain': number - 1, 'star': 0, 'any': chance.randrange(number)}
        parents.append(above[kind])
    return parents


def odd_rows(chance: random.Random) -> list[ProviderRow]:
    """A cloud of a few trees. Ids say nothing about who is above whom, and alike trees differ
    at most in what is used of them."""
    trees = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        parents, sharing = odd_tree(chance), chance.choice([0, 0, 0.3, 0.8])
        looks = [odd_looks(chance, sharing) for _ in range(chance.choice([1, 2, len(parents)]))]
        of_tree = [(parent, chance.choice(looks)) for parent in parents]
        trees += [of_tree] * chance.choice([1, 1, 1, 2, 3])
    count = sum(map(len, trees))
    ids = chance.sample(range(1, count * chance.choice([1, 2, 60]) + 1), count)
    is_full = chance.choice([0.0, 0.0, 0.3, 0.6, 1.0])
    rows: list[ProviderRow] = []
    for of_tree in trees:
        first = len(rows)
        for parent, (inventories, traits, aggregates) in of_tree:
            used = {
                name: inventory._replace(
                    used=chance.randint(0, inventory.total) if chance.random() < is_full else 0
                )
                for name, inventory in inventories.items()
            }
            number = ids[len(rows)]
            above = None if parent is None else ids[first + parent]
            rows.append(
                ProviderRow(number, f'p{number}', above, ids[first], used, traits, aggregates)
            )
    return rows


Looks = tuple[dict[str, InventoryRow], frozenset[str], frozenset[str]]


def odd_looks(chance: random.Random, sharing: float) -> Looks:
    """What a provider has, as alike providers have it."""
    inventories = {
        name: InventoryRow(
            chance.choice([1, 2, 3, 4, 8, 8]),
            chance.choice([0] * 9 + [1]),
            chance.choice([1] * 9 + [2]),
            chance.choice([99] * 9 + [3]),
            chance.choice([1] * 9 + [2]),
            chance.choice([1.0] * 9 + [1.5]),
        )
        for name in chance.sample(CLASSES, chance.choice([0, 1, 2, 2, 2, 2]))
    }
    traits = set(chance.sample(TRAITS, chance.choice([0, 0, 1, 2])))
    if chance.random() < sharing:
        traits.add(SHARING)
    aggregates = chance.sample(AGGREGATES, chance.choice([0, 0, 1, 1, 2]))
    return inventories, frozenset(traits), frozenset(aggregates)


def odd_request(chance: random.Random, rows: list[ProviderRow]) -> CandidateRequest:
    """A request of many groups, of which several ask alike."""
    kinds = [odd_group(chance, rows) for _ in range(chance.choice([1, 1, 2, 3]))]
    groups = [
        RequestGroup(f'_{number}', **chance.choice(kinds))
        for number in range(chance.choice([1, 1, 2, 2, 3, 3, 4, 5, 6]))
    ]
    suffixes = [group.suffix for group in groups]
    subtrees = [
        frozenset(chance.sample(suffixes, chance.randint(1, len(suffixes))))
        for _ in range(chance.choice([0, 0, 0, 0, 1, 1, 2, 3]))
    ]
    for number in range(chance.choice([0, 0, 0, 1, 2]) if subtrees else 0):
        # A group without resources has to be named in same_subtree.
        bare = odd_group(chance, rows) | {'resources': {}}
        groups.insert(chance.randint(0, len(groups)), RequestGroup(f'_bare{number}', **bare))
        subtrees[0] |= {f'_bare{number}'}
    if chance.random() < 0.4:
        kind = odd_group(chance, rows)
        groups.insert(chance.randint(0, len(groups)), RequestGroup('', **kind))
    return CandidateRequest(
        tuple(groups),
        isolate=chance.random() < 0.3,
        same_subtree=tuple(subtrees),
        root_required=frozenset(chance.sample(TRAITS, chance.choice([0] * 9 + [1]))),
        root_forbidden=frozenset(chance.sample([*TRAITS, SHARING], chance.choice([0] * 9 + [1]))),
        single_provider_per_tree=chance.random() < 0.1,
        summarise_whole_trees=chance.random() < 0.5,
    )


def odd_group(chance: random.Random, rows: list[ProviderRow]) -> dict:
    """What one group asks for."""
    classes = chance.sample(CLASSES, chance.choice([1, 1, 1, 1, 2]))
    few = [0] * 15
    return {
        'resources': {name: chance.choice([1, 1, 1, 2, 3]) for name in classes},
        'required': tuple(
            frozenset(chance.sample(TRAITS, chance.choice([1, 2])))
            for _ in range(chance.choice([*few, 1, 2]))
        ),
        'forbidden': frozenset(chance.sample([*TRAITS, SHARING], chance.choice([*few, 1]))),
        'member_of': tuple(
            frozenset(chance.sample(AGGREGATES, chance.choice([1, 2])))
            for _ in range(chance.choice([*few, 1, 2]))
        ),
        'forbidden_aggregates': frozenset(chance.sample(AGGREGATES, chance.choice([*few, 1]))),
        'in_tree': chance.choice([None] * 25 + [chance.choice(rows).uuid]),
    }


def combinations(cloud: Cloud, request: CandidateRequest) -> int:
    """How many combinations the oracle would try."""
    return sum(
        math.prod(
            len(list(itertools.islice(solutions(cloud, group, anchor), MOST_COMBINATIONS)))
            for group in request.groups
        )
        for anchor in cloud.roots
    )


@contextlib.contextmanager
def forgetful(chance: random.Random) -> Iterator[None]:
    """Lets the search forget, defer and search trees one by one as it would with many more."""
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
        rows = odd_rows(chance)
        request = odd_request(chance, rows)
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
    assert ask(Snapshot.of(rows[::-1]), request, strategy=strategy) == found, seed
    drawn = ask(snapshot, request, strategy=strategy, randomize=True)
    assert len(drawn) == len(found), seed
    assert set(drawn) == expected, seed
    limit, budget = chance.randint(1, 5), chance.choice([1, 5, 20, 100, 500, 3000])
    assert ask(snapshot, request, strategy=strategy, limit=limit) == found[:limit], seed
    cut = ask(snapshot, request, strategy=strategy, budget=budget)
    assert cut == found[: len(cut)], seed
    check_verdict(seed, rows, request, bool(found))


def check_verdict(
    seed: int, rows: list[ProviderRow], request: CandidateRequest, is_found: bool
) -> None:
    explanation = find_candidates(Snapshot.of(rows), request).explanation
    assert (explanation is None) == is_found, seed
    if explanation is None:
        return
    unused = Cloud(rows).unused()
    if combinations(unused, request) <= MOST_COMBINATIONS:
        could_fit = bool(solve(unused, request))
        assert explanation.verdict is (Verdict.FULL if could_fit else Verdict.INFEASIBLE), seed
