# SPDX-License-Identifier: Apache-2.0
"""Proofs that trees have too little room for all consumers that need a place.

A class may be short in sum, or in whole amounts: a tree serves only as many consumers as their
amount fits into its free amount. Each set of trees that some consumers are confined to is examined
by itself, with all consumers confined to it. A proof is certain; without one, places may still be
missing.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

# Maximum number of trees and of sets of trees: with more choice, a proof is unlikely.
MAX_TREES = 100
MAX_SETS = 64

Amounts = Mapping[str, int]


class Wanted(NamedTuple):
    """Equal consumers: the minimum amounts of each by class, and the trees that fit one alone."""

    amounts: Amounts
    consumers: int
    trees: frozenset[int]


def is_short(wanted: Sequence[Wanted], free: Mapping[int, Amounts]) -> bool:
    """True if certainly not all consumers find a place.

    `free` has the free amounts of trees by root id. Classes of pools have to be left out.
    """
    for roots in _sets_of_trees(wanted):
        confined = [each for each in wanted if each.trees <= roots]
        classes = {name for each in confined for name in each.amounts}
        if any(_is_short_of(name, confined, free, roots) for name in classes):
            return True
    return False


def _sets_of_trees(wanted: Sequence[Wanted]) -> Iterator[frozenset[int]]:
    """Yield sets of trees: all, those of each kind of consumer, and those of each two kinds."""
    distinct = sorted(
        {each.trees for each in wanted}, key=lambda roots: (len(roots), sorted(roots))
    )
    pairs = (first | second for first, second in itertools.combinations(distinct, 2))
    sets = dict.fromkeys((frozenset[int]().union(*distinct), *distinct, *pairs))
    return itertools.islice(sets, MAX_SETS)


def _is_short_of(
    name: str, wanted: Sequence[Wanted], free: Mapping[int, Amounts], roots: Set[int]
) -> bool:
    """True if consumers need more of a class, in whole amounts, than a set of trees has."""
    taken = [(each.amounts.get(name, 0), each.consumers) for each in wanted]
    return any(
        sum(amount // size * consumers for amount, consumers in taken)
        > sum(free[root_id].get(name, 0) // size for root_id in roots)
        for size in {1, *[amount for amount, _ in taken if amount]}
    )
