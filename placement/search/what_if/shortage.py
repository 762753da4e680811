# SPDX-License-Identifier: Apache-2.0
"""Proofs that trees have too little room for all who need a place.

A class may be short in sum, or in whole amounts: a tree takes no more consumers than its free
amount is a multiple of theirs. As those who fit few trees share these, each such set of trees is
looked at by itself, with all who fit no others. A proof is certain; without one there may be no
way all the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

# Only few trees are looked at in this way: where there is more choice, it proves nothing.
MAX_TREES = 100
MAX_SETS = 64

Amounts = Mapping[str, int]


class Wanted(NamedTuple):
    """What each of so many consumers takes at least, by class, and the trees it fits alone."""

    amounts: Amounts
    consumers: int
    trees: frozenset[int]


def is_short(wanted: Sequence[Wanted], free: Mapping[int, Amounts]) -> bool:
    """Tell if certainly not all find a place in trees that have so much free, by root id.

    `free` and the amounts are of such classes only as no pool has.
    """
    for roots in _sets_of_trees(wanted):
        confined = [each for each in wanted if each.trees <= roots]
        if any(_is_short_of(*weighed) for weighed in _weighed(confined, free, roots)):
            return True
    return False


def _sets_of_trees(wanted: Sequence[Wanted]) -> Iterator[frozenset[int]]:
    """All trees, those that some consumers fit, and those that either of two fit."""
    distinct = sorted(
        {each.trees for each in wanted}, key=lambda roots: (len(roots), sorted(roots))
    )
    pairs = (first | second for first, second in itertools.combinations(distinct, 2))
    sets = dict.fromkeys((frozenset[int]().union(*distinct), *distinct, *pairs))
    return itertools.islice(sets, MAX_SETS)


Weights = list[tuple[int, int]]


def _weighed(
    wanted: Sequence[Wanted], free: Mapping[int, Amounts], roots: frozenset[int]
) -> Iterator[tuple[Weights, list[int]]]:
    """What consumers take, and how many do, and what each tree has: of each class, and of each
    two classes together."""
    classes = sorted({name for each in wanted for name in each.amounts})
    units = {n: math.gcd(*[each.amounts.get(n, 0) for each in wanted]) or 1 for n in classes}
    for names in (*itertools.combinations(classes, 1), *itertools.combinations(classes, 2)):
        taken = [
            (sum(each.amounts.get(n, 0) // units[n] for n in names), each.consumers)
            for each in wanted
        ]
        yield taken, [sum(free[r].get(n, 0) // units[n] for n in names) for r in roots]


def _is_short_of(taken: Weights, free: Sequence[int]) -> bool:
    """Tell if more whole amounts of some size are taken than trees have."""
    sizes = {-(-amount // part) for amount, _ in taken for part in (1, 2, 3) if amount} | {1}
    return any(
        sum(amount // size * consumers for amount, consumers in taken)
        > sum(amount // size for amount in free)
        for size in sizes
    )
