# SPDX-License-Identifier: Apache-2.0
"""Ancestors, compared with a walk along the parents."""

import itertools
import random
from collections.abc import Sequence

import pytest

from placement.search.model.tree import Ancestry


def is_above(top: int, position: int, parents: Sequence[int]) -> bool:
    while position >= 0:
        if position == top:
            return True
        position = parents[position]
    return False


@pytest.mark.parametrize('seed', range(50))
def test_ancestry_is_that_of_a_walk_along_the_parents(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 12)
    # Positions in any order: a parent may come after its child.
    names = chance.sample(range(count), count)
    parents = [-1] * count
    for number in range(1, count):
        parents[names[number]] = chance.choice([-1, *(names[n] for n in range(number))])
    ancestry = Ancestry(parents)
    for position, top in itertools.product(range(count), repeat=2):
        assert ancestry.is_within(position, top) is is_above(top, position, parents)


@pytest.mark.parametrize('seed', range(20))
def test_upwards_is_each_position_before_its_parent(seed: int) -> None:
    chance = random.Random(seed)
    parents = [-1, *(chance.randrange(-1, number) for number in range(1, 30))]
    upwards = Ancestry(parents).upwards
    assert sorted(upwards) == list(range(30))
    for position, parent in enumerate(parents):
        assert parent < 0 or upwards.index(position) < upwards.index(parent)


def test_circle_of_parents_is_cut_open() -> None:
    ancestry = Ancestry([1, 2, 0, 0, -1])
    assert sorted(ancestry.upwards) == [0, 1, 2, 3, 4]
    assert ancestry.parents == [-1, 2, 0, 0, -1]
    assert ancestry.is_within(3, 0)
    assert not ancestry.is_within(0, 4)


def test_chain_may_be_deep() -> None:
    ancestry = Ancestry(range(-1, 100_000))
    assert ancestry.is_within(100_000, 0)
    assert not ancestry.is_within(0, 100_000)
