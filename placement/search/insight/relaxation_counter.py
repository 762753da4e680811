# SPDX-License-Identifier: Apache-2.0
"""The number of examined trees that fit when conditions are given up.

Where the groups of a request do not get in each other's way, integers alone tell; elsewhere these
leave out trees, and the search is asked of the others. Each function raises `BudgetSpent`.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

from placement.search.insight.condition import Condition
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.survey import Outcome, Survey, folded
from placement.search.insight.tree_states import TreeState
from placement.search.model.capacity import Capacity
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent

# How many smallest amounts that providers take are tried for one class.
MAX_SMALLEST = 16


# Conditions that are given up together.
Chosen = tuple[Condition, ...]
# Inventories of one class, each with what is used of it.
Inventories = Sequence[tuple[Capacity, int]]


class Relaxed:
    """The examined trees without some conditions of a request."""

    def __init__(self, survey: Survey, chosen: Chosen) -> None:
        self.survey = survey
        self.chosen = chosen
        self._kept = _kept(survey, chosen)
        self._dropped = frozenset[int]().union(*[_dropped(survey, given) for given in chosen])

    def count(self) -> int:
        """Count the trees that fit."""
        survey, outcomes = self.survey, self._outcomes()
        if survey.groups_decide:
            return sum(outcome.size for outcome in outcomes)
        trees = [tree for outcome in outcomes for tree in outcome.trees]
        if not trees:
            return 0
        # Where any amount fits, the smallest that its provider takes does.
        sizes = [
            _smallest(survey, condition, trees) if condition.is_amount else [0]
            for condition in self.chosen
        ]
        tests = [self._test(amounts) for amounts in itertools.product(*sizes)]
        return sum(any(test.fits(tree) for test in tests) for tree in trees)

    def amounts(self) -> tuple[tuple[int, int], ...]:
        """The largest amount of the one that is given up that fits a tree, one that fits half of
        the trees, and one that fits all, each with how many trees it fits."""
        survey, serving = self.survey, list(self._serving())
        sizes = sorted(
            (
                max(capacity.largest_fit(used) for capacity, used in inventories)
                for inventories in survey.work.paused(serving)
            ),
            reverse=True,
        )
        trees = [tree for outcome in self._outcomes() for tree in outcome.trees]
        if not survey.groups_decide:
            largest = self._largest(serving, trees)
            # Groups that share a provider leave trees less than each of them alone would.
            sizes = [*(min(size, largest) for size in sizes), largest // 2]
        sizes = [size for size in sizes if size]
        if not sizes:
            return ()
        wanted = dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1]))
        counts = [(size, self._count_with(size, serving, trees)) for size in wanted]
        return tuple([(size, count) for size, count in counts if count])

    def _count_with(self, size: int, serving: Sequence[Inventories], trees: Sequence[Tree]) -> int:
        """Count the trees that fit with this amount."""
        if not self.survey.groups_decide:
            return sum(map(self._test_of(size).fits, trees))
        return sum(
            any(capacity.refusal(size, used) is None for capacity, used in inventories)
            for inventories in self.survey.work.paused(serving)
        )

    def _largest(self, serving: Sequence[Inventories], trees: Sequence[Tree]) -> int:
        """The largest amount with which the search finds a tree that fits; 0 for none.

        Among providers with the same steps it is so that where one amount fits, smaller ones do.
        Where other providers make a larger one fit, so much the better.
        """
        most: dict[tuple[int, int], int] = {}
        for capacity, used in itertools.chain.from_iterable(serving):
            key = (capacity.smallest_fit, max(capacity.step_size, 1))
            most[key] = max(most.get(key, 0), capacity.largest_fit(used))

        def fits_nowhere(amount: int) -> bool:
            return not any(map(self._test_of(amount).fits, trees))

        largest = 0
        for (smallest, step), size in most.items():
            amounts = range(smallest, size + 1, step)
            if fitting := bisect.bisect_left(amounts, True, key=fits_nowhere):
                largest = max(largest, amounts[fitting - 1])
        return largest

    def _outcomes(self) -> list[Outcome]:
        """The outcomes in which every group is served."""
        survey = self.survey
        survey.work.spent += len(survey.outcomes) * len(survey.table.groups)
        return [outcome for outcome in survey.outcomes if outcome.fits(self._kept, self._dropped)]

    def _serving(self) -> Iterator[Inventories]:
        """The inventories that can serve the class of the amount that is given up, of each tree of
        which every group is served and that has some."""
        survey = self.survey
        (condition,) = [condition for condition in self.chosen if condition.is_amount]
        for outcome in self._outcomes():
            for state in outcome.states:
                slots = _slots_serving(survey, state, condition, self._kept)
                survey.work.spent += len(state.elements)
                for tree in survey.work.each(state.trees if slots else ()):
                    providers = state.providers_of(tree)
                    yield [providers[slot].inventory(condition.names[0]) for slot in slots]

    def _test_of(self, amount: int) -> Feasibility:
        """A test of the request with this amount."""
        return self._test([amount] * len(self.chosen))

    def _test(self, amounts: Sequence[int]) -> Feasibility:
        """A test of the request; with amounts in place of others."""
        request = self.survey.request
        for condition, amount in zip(self.chosen, amounts, strict=True):
            request = condition.without(request, amount if condition.is_amount else 0)
        return Feasibility(self.survey.snapshot, request, self.survey.work)


def _kept(survey: Survey, chosen: Chosen) -> int:
    """The bits that count when these conditions are given up.

    One on an amount is given up by asking for another one, of which something has to be free.
    """
    kept = survey.table.visible
    for condition in chosen:
        if condition.subject is None:
            kept &= ~condition.bit
        else:
            amount = survey.table.amount_of(condition)
            kept &= ~amount.refused
            kept = kept | amount.some if condition.is_amount else kept & ~amount.present
    return kept


def _dropped(survey: Survey, condition: Condition) -> Sequence[int]:
    """The provider requests, by number, that are not asked for when a class is given up."""
    if not condition.is_of_class:
        return ()
    number = survey.table.number_of(condition)
    group = survey.table.groups[number].group
    is_alone = len(group.resources) == 1 or not group.is_suffixed
    return survey.table.asking(number, condition.names[0]) if is_alone else ()


def _slots_serving(survey: Survey, state: TreeState, amount: Condition, kept: int) -> list[int]:
    """The slots whose providers can serve a class in trees that fit."""
    table = survey.table
    number = table.number_of(amount)
    asking = table.asking(number, amount.names[0])
    slots = []
    for slot, elements in enumerate(state.elements):
        parts = [elements[n] if n in asking else state.parts[n] for n in table.requests_of[number]]
        if any(not mask & kept for mask in folded(parts, table.groups[number].collected)):
            slots.append(slot)
    return slots


def _smallest(survey: Survey, amount: Condition, trees: Sequence[Tree]) -> list[int]:
    """The smallest amounts of a class that providers of these trees take."""
    name, sizes = amount.names[0], set[int]()
    for tree in trees:
        survey.work.spent += len(tree.members)
        for provider in survey.state(tree).providers_of(tree):
            if name in provider.kind.profile.position:
                sizes.add(provider.inventory(name)[0].smallest_fit)
    if len(sizes) > MAX_SMALLEST:
        raise BudgetSpent
    return sorted(sizes)
