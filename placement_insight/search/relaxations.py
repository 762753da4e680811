# SPDX-License-Identifier: Apache-2.0
"""Relaxations: the conditions, or pairs of them, without which more trees fit."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import Condition, GroupConditions, combined_conditions
from placement_insight.search.explanation import Relaxation
from placement_insight.search.funnel import most_of, with_amounts
from placement_insight.search.relaxation_counter import Chosen, Relaxed
from placement_insight.search.survey import Survey

# Maximum number of relaxations, the most helpful first.
MAX_LISTED = 50

# Maximum number of pairs to try: all those of 45 conditions. Pairs grow with the square of the
# conditions, which a client chooses.
MAX_PAIRS = 1_000


class Relaxations(NamedTuple):
    """The relaxations that help; `is_cut` is True if not all were tried."""

    deciding: tuple[Relaxation, ...] = ()
    is_cut: bool = False


def relaxations(survey: Survey, fitting: int) -> Relaxations:
    """Return the single conditions without which more trees fit than `fitting`.

    If nothing fits and there are none, return pairs.
    """
    every = conditions_to_give_up(survey, has_amounts=not fitting)
    deciding, is_cut = _Deciding(survey, fitting), False
    # Lazy: thousands of conditions have millions of pairs.
    pairs = _pairs(survey, every)
    try:
        for condition in every:
            deciding.try_out((condition,))
        if not (fitting or deciding.counts):
            for pair in itertools.islice(pairs, MAX_PAIRS):
                deciding.try_out(pair)
            is_cut = next(pairs, None) is not None
    except BudgetSpent:
        is_cut = True
    return Relaxations(deciding.relaxations(), is_cut)


def conditions_to_give_up(survey: Survey, has_amounts: bool) -> list[Condition]:
    """Return the conditions that can be given up, in the order of trial.

    First those on single providers, on the root, and on the combination, then amounts, and last
    whole classes.
    """
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
    """Yield the condition on each amount of a group, with the rule that refuses it."""
    group = survey.table.groups[number]
    others = sum(step.bit for step in group.steps if step.asked is None)
    for amount in group.amounts.values():
        most = most_of(survey, number, amount.resource_class, others)
        is_refused = most is not None and most.capacity.refusal(amount.asked) is not None
        bit = amount.size if is_refused else amount.free
        yield from (with_amounts(step, most) for step in group.steps if step.bit == bit)


def _classes(survey: Survey, group: GroupConditions) -> list[Condition]:
    """Return the conditions on the classes of a group, none if the request has one class alone."""
    suffix, request = group.group.suffix, survey.request
    has_others = any(other.resources for other in request.groups if other.suffix != suffix)
    is_held = any(suffix in suffixes for suffixes in request.same_subtree)
    if len(group.amounts) == 1 and (is_held or not has_others):
        return []
    return [step for step in group.steps if step.is_of_class]


class _Deciding:
    """The sets of conditions that help, with the number of trees that fit without them."""

    def __init__(self, survey: Survey, fitting: int) -> None:
        self.survey = survey
        self.fitting = fitting
        self.counts: dict[Chosen, int] = {}
        self._keys: set[frozenset[object]] = set()

    def try_out(self, chosen: Chosen) -> None:
        """Count the trees that fit without these conditions, unless fewer would do as well.

        A class is given up altogether only if no other amount of it helps.
        """
        if any(keys in self._keys for keys in _keys_with_amounts(chosen)):
            return
        count = Relaxed(self.survey, chosen).count()
        self.survey.work.check()
        if count > self.fitting:
            self.counts[chosen] = count
            self._keys.add(frozenset(map(_key, chosen)))

    def relaxations(self) -> tuple[Relaxation, ...]:
        """Return the sets that help, the most helpful first, with the amounts that fit."""
        ordered = sorted(self.counts.items(), key=lambda item: -item[1])[:MAX_LISTED]
        return tuple([self._relaxation(chosen, trees) for chosen, trees in ordered])

    def _relaxation(self, chosen: Chosen, trees: int) -> Relaxation:
        amounts: tuple[tuple[int, int], ...] = ()
        if sum(condition.is_amount for condition in chosen) == 1:
            with contextlib.suppress(BudgetSpent):
                amounts = Relaxed(self.survey, chosen).amounts()
        return Relaxation(chosen, trees, amounts)


def _pairs(survey: Survey, every: Sequence[Condition]) -> Iterator[Chosen]:
    """Yield pairs of conditions that leave a valid request.

    A pair has different subjects. Of a group whose classes are given up, and of the request, some
    class remains.
    """
    classes = Counter({group.suffix: len(group.resources) for group in survey.request.groups})
    for first, second in itertools.combinations(every, 2):
        if first.subject is not None and first.subject == second.subject:
            continue
        if first.is_of_class and second.is_of_class:
            is_same = first.suffix == second.suffix
            if (classes[first.suffix or ''] if is_same else classes.total()) <= 2:
                continue
        yield first, second


def _key(condition: Condition) -> object:
    """Return the key of a condition; those on a class and on its amount differ."""
    return condition if condition.subject is None else (condition.subject, condition.is_amount)


def _keys_with_amounts(chosen: Chosen) -> Iterator[frozenset[object]]:
    """Yield the keys of these conditions with amounts in place of classes, in every way."""
    ways = [
        [_key(condition), (condition.subject, True)]
        if condition.is_of_class
        else [_key(condition)]
        for condition in chosen
    ]
    # The first way gives up every class.
    return map(frozenset, itertools.islice(itertools.product(*ways), 1, None))
