# SPDX-License-Identifier: Apache-2.0
"""Which conditions decide: those without which more trees fit than with them."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.insight.explain_answer import Relaxation
from placement.search.insight.judges import Chosen, GroupJudge
from placement.search.insight.relaxable import Relaxable, relaxables
from placement.search.solver.work import BudgetSpent

# How many relaxations are told, those first with which most trees fit.
MAX_TOLD = 50

# How many pairs are tried out: all of 45 conditions. Without a bound, twice the conditions that a
# client sends would be four times the work.
MAX_PAIRS = 1_000


class Relaxations(NamedTuple):
    """What can be given up, and how many pairs of conditions were tried out of how many.

    `is_cut` says that not everything was tried that could be given up.
    """

    found: tuple[Relaxation, ...] = ()
    pairs_examined: int = 0
    pairs_of: int = 0
    is_cut: bool = False


def relaxations(judge: GroupJudge, fitting: int) -> Relaxations:
    """The single conditions without which more trees fit; where nothing fits and there is none,
    the pairs."""
    choices = relaxables(judge.survey, judge.request, with_amounts=not fitting)
    found = _Found(judge, fitting)
    try:
        for one in choices:
            found.try_out((one,))
        if fitting or found.counts:
            return Relaxations(found.relaxations())
    except BudgetSpent:
        return Relaxations(found.relaxations(), is_cut=True)
    # Some thousand conditions have millions of pairs, so these are made one at a time.
    all_pairs, examined = _number_of_pairs(judge, choices), 0
    try:
        for pair in itertools.islice(_pairs(judge, choices), MAX_PAIRS):
            found.try_out(pair)
            examined += 1
    except BudgetSpent:
        return Relaxations(found.relaxations(), examined, all_pairs, is_cut=True)
    is_cut = examined < all_pairs
    return Relaxations(found.relaxations(), examined, all_pairs, is_cut)


class _Found:
    """The sets of conditions that were found to decide, with the number of trees that fit."""

    def __init__(self, judge: GroupJudge, fitting: int) -> None:
        self.judge = judge
        self.fitting = fitting
        self.counts: dict[Chosen, int] = {}
        self._keys: set[frozenset[object]] = set()

    def try_out(self, chosen: Chosen) -> None:
        """Count the trees that fit without these conditions.

        A class is given up altogether only where another amount of it would not do.
        """
        if any(one.resource_class for one in chosen) and any(
            keys in self._keys for keys in _keys_with_amounts(chosen)
        ):
            return
        count = self.judge.count(chosen)
        self.judge.survey.work.check()
        if count > self.fitting:
            self.counts[chosen] = count
            self._keys.add(_keys(chosen))

    def relaxations(self) -> tuple[Relaxation, ...]:
        """What was found, with the largest amounts."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])[:MAX_TOLD]
        return tuple([self._relaxation(chosen, trees) for chosen, trees in ordered])

    def _relaxation(self, chosen: Chosen, trees: int) -> Relaxation:
        largest = None
        if sum(one.amount is not None for one in chosen) == 1:
            try:
                largest = self.judge.largest(chosen)
            except BudgetSpent:
                largest = None
        return Relaxation(tuple([one.shown for one in chosen]), trees, largest)


def _pairs(judge: GroupJudge, choices: Sequence[Relaxable]) -> Iterator[Chosen]:
    """The pairs that are not about the same amount, and leave something that is asked for of each
    group whose classes are given up, and of any."""
    classes = _classes(judge)
    of_all = sum(classes.values())
    for one, other in itertools.combinations(choices, 2):
        if one.subject is not None and one.subject == other.subject:
            continue
        if one.resource_class and other.resource_class:
            is_same = one.suffix == other.suffix
            if (classes[one.suffix or ''] if is_same else of_all) <= 2:
                continue
        yield one, other


def _number_of_pairs(judge: GroupJudge, choices: Sequence[Relaxable]) -> int:
    """How many pairs `_pairs` makes, without making them."""
    classes = _classes(judge)
    subjects = Counter(one.subject for one in choices if one.subject is not None)
    suffixes = Counter(one.suffix or '' for one in choices if one.resource_class)
    same = {suffix: math.comb(count, 2) for suffix, count in suffixes.items()}
    number = math.comb(len(choices), 2) - sum(math.comb(n, 2) for n in subjects.values())
    number -= sum(count for suffix, count in same.items() if classes[suffix] <= 2)
    if sum(classes.values()) <= 2:
        number -= math.comb(suffixes.total(), 2) - sum(same.values())
    return number


def _classes(judge: GroupJudge) -> dict[str, int]:
    """How many classes each group asks for, by its suffix."""
    return {group.suffix: len(group.resources) for group in judge.request.groups}


def _key(one: Relaxable, is_amount: bool) -> object:
    """What tells conditions apart; a class counts as its amount where that is wanted."""
    if one.subject is None:
        return (one.suffix, one.condition)
    return (one.subject, is_amount)


def _keys(chosen: Chosen) -> frozenset[object]:
    return frozenset(_key(one, one.amount is not None) for one in chosen)


def _keys_with_amounts(chosen: Chosen) -> Iterator[frozenset[object]]:
    """The keys of these conditions with amounts given up instead of classes, in every way."""
    ways = [
        [_key(one, True), _key(one, False)]
        if one.resource_class
        else [_key(one, one.amount is not None)]
        for one in chosen
    ]
    return (frozenset(way) for way in itertools.product(*ways) if frozenset(way) != _keys(chosen))
