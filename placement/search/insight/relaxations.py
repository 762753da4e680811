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
from placement.search.insight.relaxation_counter import Choice, Chosen, RelaxationCounter
from placement.search.insight.survey import Survey
from placement.search.model.request import CandidateRequest
from placement.search.solver.work import BudgetSpent

# How many relaxations are told, those first with which most trees fit.
MAX_TOLD = 50

# How many pairs are tried out: all of 45 conditions. Without a bound, twice the conditions that a
# client sends would be four times the work.
MAX_PAIRS = 1_000


class Relaxations(NamedTuple):
    """The conditions that can be given up, and the number of pairs that were tried, of all.

    `is_cut` says that not everything was tried that could be given up.
    """

    found: tuple[Relaxation, ...] = ()
    pairs_examined: int = 0
    pairs_of: int = 0
    is_cut: bool = False


def relaxations(counter: RelaxationCounter, fitting: int) -> Relaxations:
    """The single conditions without which more trees fit; where nothing fits and there is none,
    the pairs."""
    all_choices = choices(counter.survey, counter.request, has_amounts=not fitting)
    found = _Found(counter, fitting)
    try:
        for one in all_choices:
            found.try_out((one,))
        if fitting or found.counts:
            return Relaxations(found.relaxations())
    except BudgetSpent:
        return Relaxations(found.relaxations(), is_cut=True)
    # Some thousand conditions have millions of pairs, so these are made one at a time.
    all_pairs, examined = _number_of_pairs(counter, all_choices), 0
    with contextlib.suppress(BudgetSpent):
        for pair in itertools.islice(_pairs(counter, all_choices), MAX_PAIRS):
            found.try_out(pair)
            examined += 1
    return Relaxations(found.relaxations(), examined, all_pairs, examined < all_pairs)


def choices(survey: Survey, request: CandidateRequest, has_amounts: bool) -> list[Choice]:
    """Everything that can be given up: conditions on single providers, on the root, and on the
    combination, then amounts, and at last whole classes."""
    conditions = [
        step for group in survey.table.groups for step in group.steps if step.subject is None
    ]
    conditions += [*survey.table.root_conditions, *combined_conditions(request)]
    found = [Choice.of(one) for one in conditions if one.can_be_given_up]
    if has_amounts:
        numbers = range(len(request.groups))
        found += [choice for number in numbers for choice in _amounts(survey, number)]
        found += [choice for number in numbers for choice in _classes(survey, number, request)]
    return found


def _amounts(survey: Survey, number: int) -> Iterator[Choice]:
    """Another amount of each class of a group, in the words of the rule that refuses this one."""
    group = survey.table.groups[number]
    others = sum(one.bit for one in group.steps if one.asked is None)
    for amount in group.amounts.values():
        most = most_of(survey, number, amount.resource_class, others)
        is_refused = most is not None and most.capacity.refusal(amount.asked) is not None
        step = group.amount_steps[amount.size if is_refused else amount.free]
        yield Choice(with_amounts(step, most), amount.refused, amount.some)


def _classes(survey: Survey, number: int, request: CandidateRequest) -> Iterator[Choice]:
    """Each class of a group, unless nothing would be asked for without it."""
    group, table = survey.table.groups[number], survey.table
    suffix, is_last = group.group.suffix, len(group.amounts) == 1
    has_others = any(one.resources for one in request.groups if one.suffix != suffix)
    if is_last and not (has_others and not any(suffix in one for one in request.same_subtree)):
        return
    is_alone = is_last or not group.group.is_suffixed
    for step in group.steps:
        if step.is_of_class:
            amount = group.amounts[step.names[0]]
            dropped = frozenset(table.asking(number, step.names[0]) if is_alone else ())
            yield Choice(step, amount.present | amount.refused, 0, dropped)


class _Found:
    """The sets of conditions that were found to decide, with the number of trees that fit."""

    def __init__(self, counter: RelaxationCounter, fitting: int) -> None:
        self.counter = counter
        self.fitting = fitting
        self.counts: dict[Chosen, int] = {}
        self._keys: set[frozenset[object]] = set()

    def try_out(self, chosen: Chosen) -> None:
        """Count the trees that fit without these conditions.

        A class is given up altogether only where another amount of it would not do.
        """
        if any(keys in self._keys for keys in _keys_with_amounts(chosen)):
            return
        count = self.counter.count(chosen)
        self.counter.survey.work.check()
        if count > self.fitting:
            self.counts[chosen] = count
            self._keys.add(frozenset(_key(one, one.is_amount) for one in chosen))

    def relaxations(self) -> tuple[Relaxation, ...]:
        """The sets that decide, those first that help most, with the largest amounts."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])[:MAX_TOLD]
        return tuple([self._relaxation(chosen, trees) for chosen, trees in ordered])

    def _relaxation(self, chosen: Chosen, trees: int) -> Relaxation:
        amounts: tuple[tuple[int, int], ...] = ()
        if sum(one.is_amount for one in chosen) == 1:
            with contextlib.suppress(BudgetSpent):
                amounts = self.counter.amounts(chosen)
        return Relaxation(tuple([one.condition for one in chosen]), trees, amounts)


def _pairs(counter: RelaxationCounter, all_choices: Sequence[Choice]) -> Iterator[Chosen]:
    """The pairs that are not about the same amount, and leave something that is asked for of each
    group whose classes are given up, and of any."""
    classes = _classes_asked(counter)
    of_all = sum(classes.values())
    for one, other in itertools.combinations(all_choices, 2):
        first, second = one.condition, other.condition
        if first.subject is not None and first.subject == second.subject:
            continue
        if first.is_of_class and second.is_of_class:
            is_same = first.suffix == second.suffix
            if (classes[first.suffix or ''] if is_same else of_all) <= 2:
                continue
        yield one, other


def _number_of_pairs(counter: RelaxationCounter, all_choices: Sequence[Choice]) -> int:
    """The number of pairs that `_pairs` makes, without making them."""
    classes = _classes_asked(counter)
    conditions = [one.condition for one in all_choices]
    subjects = Counter(one.subject for one in conditions if one.subject is not None)
    suffixes = Counter(one.suffix or '' for one in conditions if one.is_of_class)
    same = {suffix: math.comb(count, 2) for suffix, count in suffixes.items()}
    number = math.comb(len(conditions), 2) - sum(math.comb(n, 2) for n in subjects.values())
    number -= sum(count for suffix, count in same.items() if classes[suffix] <= 2)
    if sum(classes.values()) <= 2:
        number -= math.comb(suffixes.total(), 2) - sum(same.values())
    return number


def _classes_asked(counter: RelaxationCounter) -> dict[str, int]:
    """The number of classes that each group asks for, by its suffix."""
    return {group.suffix: len(group.resources) for group in counter.request.groups}


def _key(one: Choice, is_amount: bool) -> object:
    """The identity of a choice; a class counts as its amount where that is wanted."""
    condition = one.condition
    return condition if condition.subject is None else (condition.subject, is_amount)


def _keys_with_amounts(chosen: Chosen) -> Iterator[frozenset[object]]:
    """The keys of these conditions with amounts given up instead of classes, in every way."""
    ways = [
        [_key(one, is_amount=True), _key(one, is_amount=False)]
        if one.condition.is_of_class
        else [_key(one, one.is_amount)]
        for one in chosen
    ]
    own = frozenset(_key(one, one.is_amount) for one in chosen)
    return (frozenset(way) for way in itertools.product(*ways) if frozenset(way) != own)
