# SPDX-License-Identifier: Apache-2.0
"""The conditions that decide: those without which more trees fit than with them."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.insight.condition import Condition, GroupConditions, combined_conditions
from placement.search.insight.explanation import Relaxation
from placement.search.insight.funnel import most_of, with_amounts
from placement.search.insight.relaxation_counter import Chosen, Relaxed
from placement.search.insight.survey import Survey
from placement.search.solver.work import BudgetSpent

# How many relaxations are listed, those first with which most trees fit.
MAX_LISTED = 50

# How many pairs are tried out: all of 45 conditions. Without a bound, twice the conditions that a
# client sends would be four times the work.
MAX_PAIRS = 1_000


class Relaxations(NamedTuple):
    """The conditions that can be given up, and the number of pairs that were tried, of all.

    `is_cut` says that not everything was tried that could be given up.
    """

    deciding: tuple[Relaxation, ...] = ()
    pairs_examined: int = 0
    pairs_of: int = 0
    is_cut: bool = False


def relaxations(survey: Survey, fitting: int) -> Relaxations:
    """The single conditions without which more trees fit; where nothing fits and there is none,
    the pairs."""
    every = conditions_to_give_up(survey, has_amounts=not fitting)
    deciding = _Deciding(survey, fitting)
    try:
        for condition in every:
            deciding.try_out((condition,))
        if fitting or deciding.counts:
            return Relaxations(deciding.relaxations())
    except BudgetSpent:
        return Relaxations(deciding.relaxations(), is_cut=True)
    # Some thousand conditions have millions of pairs, so these are made one at a time.
    all_pairs, examined = _number_of_pairs(survey, every), 0
    with contextlib.suppress(BudgetSpent):
        for pair in itertools.islice(_pairs(survey, every), MAX_PAIRS):
            deciding.try_out(pair)
            examined += 1
    return Relaxations(deciding.relaxations(), examined, all_pairs, examined < all_pairs)


def conditions_to_give_up(survey: Survey, has_amounts: bool) -> list[Condition]:
    """Everything that can be given up: conditions on single providers, on the root, and on the
    combination, then amounts, and at last whole classes."""
    groups = survey.table.groups
    conditions = [step for group in groups for step in group.steps if step.subject is None]
    conditions += [*survey.table.root_conditions, *combined_conditions(survey.request)]
    single = [condition for condition in conditions if condition.can_be_given_up]
    if not has_amounts:
        return single
    amounts = [amount for number in range(len(groups)) for amount in _amounts(survey, number)]
    classes = [step for group in groups for step in _classes(survey, group)]
    return [*single, *amounts, *classes]


def _amounts(survey: Survey, number: int) -> Iterator[Condition]:
    """The amount of each class of a group, in the words of the rule that refuses it."""
    group = survey.table.groups[number]
    others = sum(step.bit for step in group.steps if step.asked is None)
    for amount in group.amounts.values():
        most = most_of(survey, number, amount.resource_class, others)
        is_refused = most is not None and most.capacity.refusal(amount.asked) is not None
        bit = amount.size if is_refused else amount.free
        yield from (with_amounts(step, most) for step in group.steps if step.bit == bit)


def _classes(survey: Survey, group: GroupConditions) -> list[Condition]:
    """That each class of a group is there, unless nothing would be asked for without it."""
    suffix, request = group.group.suffix, survey.request
    has_others = any(other.resources for other in request.groups if other.suffix != suffix)
    is_held = any(suffix in suffixes for suffixes in request.same_subtree)
    if len(group.amounts) == 1 and (is_held or not has_others):
        return []
    return [step for step in group.steps if step.is_of_class]


class _Deciding:
    """The sets of conditions that decide, with the number of trees that fit without them."""

    def __init__(self, survey: Survey, fitting: int) -> None:
        self.survey = survey
        self.fitting = fitting
        self.counts: dict[Chosen, int] = {}
        self._keys: set[frozenset[object]] = set()

    def try_out(self, chosen: Chosen) -> None:
        """Count the trees that fit without these conditions.

        A class is given up altogether only where another amount of it would not do.
        """
        if any(keys in self._keys for keys in _keys_with_amounts(chosen)):
            return
        count = Relaxed(self.survey, chosen).count()
        self.survey.work.check()
        if count > self.fitting:
            self.counts[chosen] = count
            self._keys.add(frozenset(map(_key, chosen)))

    def relaxations(self) -> tuple[Relaxation, ...]:
        """The sets that decide, those first that help most, with the largest amounts."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])[:MAX_LISTED]
        return tuple([self._relaxation(chosen, trees) for chosen, trees in ordered])

    def _relaxation(self, chosen: Chosen, trees: int) -> Relaxation:
        amounts: tuple[tuple[int, int], ...] = ()
        if sum(condition.is_amount for condition in chosen) == 1:
            with contextlib.suppress(BudgetSpent):
                amounts = Relaxed(self.survey, chosen).amounts()
        return Relaxation(chosen, trees, amounts)


def _pairs(survey: Survey, every: Sequence[Condition]) -> Iterator[Chosen]:
    """The pairs that are not about the same amount, and leave something that is asked for of each
    group whose classes are given up, and of any."""
    classes = _classes_asked(survey)
    for first, second in itertools.combinations(every, 2):
        if first.subject is not None and first.subject == second.subject:
            continue
        if first.is_of_class and second.is_of_class:
            is_same = first.suffix == second.suffix
            if (classes[first.suffix or ''] if is_same else classes.total()) <= 2:
                continue
        yield first, second


def _number_of_pairs(survey: Survey, every: Sequence[Condition]) -> int:
    """The number of pairs that `_pairs` makes, without making them."""
    classes = _classes_asked(survey)
    subjects = Counter(c.subject for c in every if c.subject is not None)
    suffixes = Counter(c.suffix or '' for c in every if c.is_of_class)
    same = {suffix: math.comb(count, 2) for suffix, count in suffixes.items()}
    number = math.comb(len(every), 2) - sum(math.comb(n, 2) for n in subjects.values())
    number -= sum(count for suffix, count in same.items() if classes[suffix] <= 2)
    if classes.total() <= 2:
        number -= math.comb(suffixes.total(), 2) - sum(same.values())
    return number


def _classes_asked(survey: Survey) -> Counter[str]:
    """The number of classes that each group asks for, by its suffix."""
    return Counter({group.suffix: len(group.resources) for group in survey.request.groups})


def _key(condition: Condition) -> object:
    """The identity of a condition; those on a class and its amount differ in `is_amount`."""
    return condition if condition.subject is None else (condition.subject, condition.is_amount)


def _keys_with_amounts(chosen: Chosen) -> Iterator[frozenset[object]]:
    """The keys of these conditions with amounts given up instead of classes, in every way."""
    ways = [
        [_key(condition), (condition.subject, True)]
        if condition.is_of_class
        else [_key(condition)]
        for condition in chosen
    ]
    # The first way gives up every class.
    return map(frozenset, itertools.islice(itertools.product(*ways), 1, None))
