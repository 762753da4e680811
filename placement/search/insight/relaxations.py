# SPDX-License-Identifier: Apache-2.0
"""The conditions that decide: those without which more trees fit than with them."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.insight.condition import combined_conditions
from placement.search.insight.explanation import Relaxation
from placement.search.insight.funnel import most_of, with_amounts
from placement.search.insight.relaxation_counter import (
    Choice,
    Chosen,
    amounts_without,
    count_without,
)
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
    all_choices = choices(survey, has_amounts=not fitting)
    deciding = _Deciding(survey, fitting)
    try:
        for choice in all_choices:
            deciding.try_out((choice,))
        if fitting or deciding.counts:
            return Relaxations(deciding.relaxations())
    except BudgetSpent:
        return Relaxations(deciding.relaxations(), is_cut=True)
    # Some thousand conditions have millions of pairs, so these are made one at a time.
    all_pairs, examined = _number_of_pairs(survey, all_choices), 0
    with contextlib.suppress(BudgetSpent):
        for pair in itertools.islice(_pairs(survey, all_choices), MAX_PAIRS):
            deciding.try_out(pair)
            examined += 1
    return Relaxations(deciding.relaxations(), examined, all_pairs, examined < all_pairs)


def choices(survey: Survey, has_amounts: bool) -> list[Choice]:
    """Everything that can be given up: conditions on single providers, on the root, and on the
    combination, then amounts, and at last whole classes."""
    groups = survey.table.groups
    conditions = [step for group in groups for step in group.steps if step.subject is None]
    conditions += [*survey.table.root_conditions, *combined_conditions(survey.request)]
    single = [Choice.of(condition) for condition in conditions if condition.can_be_given_up]
    if not has_amounts:
        return single
    numbers = range(len(groups))
    amounts = [choice for number in numbers for choice in _amounts(survey, number)]
    classes = [choice for number in numbers for choice in _classes(survey, number)]
    return [*single, *amounts, *classes]


def _amounts(survey: Survey, number: int) -> Iterator[Choice]:
    """Another amount of each class of a group, in the words of the rule that refuses this one."""
    group = survey.table.groups[number]
    others = sum(step.bit for step in group.steps if step.asked is None)
    for amount in group.amounts.values():
        most = most_of(survey, number, amount.resource_class, others)
        is_refused = most is not None and most.capacity.refusal(amount.asked) is not None
        step = group.amount_steps[amount.size if is_refused else amount.free]
        yield Choice(with_amounts(step, most), amount.refused, amount.some)


def _classes(survey: Survey, number: int) -> Iterator[Choice]:
    """Each class of a group, unless nothing would be asked for without it."""
    table, request = survey.table, survey.request
    group = table.groups[number]
    suffix, is_last = group.group.suffix, len(group.amounts) == 1
    has_others = any(other.resources for other in request.groups if other.suffix != suffix)
    if is_last and not (has_others and not any(suffix in held for held in request.same_subtree)):
        return
    is_alone = is_last or not group.group.is_suffixed
    for step in group.steps:
        if step.is_of_class:
            amount = group.amounts[step.names[0]]
            dropped = frozenset(table.asking(number, step.names[0]) if is_alone else ())
            yield Choice(step, amount.present | amount.refused, 0, dropped)


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
        count = count_without(self.survey, chosen)
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
        if sum(choice.is_amount for choice in chosen) == 1:
            with contextlib.suppress(BudgetSpent):
                amounts = amounts_without(self.survey, chosen)
        return Relaxation(tuple([choice.condition for choice in chosen]), trees, amounts)


def _pairs(survey: Survey, all_choices: Sequence[Choice]) -> Iterator[Chosen]:
    """The pairs that are not about the same amount, and leave something that is asked for of each
    group whose classes are given up, and of any."""
    classes = _classes_asked(survey)
    for pair in itertools.combinations(all_choices, 2):
        first, second = (choice.condition for choice in pair)
        if first.subject is not None and first.subject == second.subject:
            continue
        if first.is_of_class and second.is_of_class:
            is_same = first.suffix == second.suffix
            if (classes[first.suffix or ''] if is_same else classes.total()) <= 2:
                continue
        yield pair


def _number_of_pairs(survey: Survey, all_choices: Sequence[Choice]) -> int:
    """The number of pairs that `_pairs` makes, without making them."""
    classes = _classes_asked(survey)
    conditions = [choice.condition for choice in all_choices]
    subjects = Counter(one.subject for one in conditions if one.subject is not None)
    suffixes = Counter(one.suffix or '' for one in conditions if one.is_of_class)
    same = {suffix: math.comb(count, 2) for suffix, count in suffixes.items()}
    number = math.comb(len(conditions), 2) - sum(math.comb(n, 2) for n in subjects.values())
    number -= sum(count for suffix, count in same.items() if classes[suffix] <= 2)
    if classes.total() <= 2:
        number -= math.comb(suffixes.total(), 2) - sum(same.values())
    return number


def _classes_asked(survey: Survey) -> Counter[str]:
    """The number of classes that each group asks for, by its suffix."""
    return Counter({group.suffix: len(group.resources) for group in survey.request.groups})


def _key(choice: Choice) -> object:
    """The identity of a choice; a class and its amount differ in whether it is an amount."""
    condition = choice.condition
    return condition if condition.subject is None else (condition.subject, choice.is_amount)


def _keys_with_amounts(chosen: Chosen) -> Iterator[frozenset[object]]:
    """The keys of these conditions with amounts given up instead of classes, in every way."""
    ways = [
        [_key(choice), (choice.condition.subject, True)]
        if choice.condition.is_of_class
        else [_key(choice)]
        for choice in chosen
    ]
    # The first way gives up every class.
    return map(frozenset, itertools.islice(itertools.product(*ways), 1, None))
