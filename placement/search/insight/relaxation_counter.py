# SPDX-License-Identifier: Apache-2.0
"""The number of examined trees that fit when conditions are given up.

Where the groups of a request do not get in each other's way, integers alone tell; elsewhere these
leave out trees, and the search is asked of the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.insight.condition import Condition
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.survey import Outcome, Survey, folded
from placement.search.insight.tree_states import State
from placement.search.model.capacity import Capacity
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent

# How many smallest amounts that providers take are tried for one class.
MAX_SMALLEST = 16


class Choice(NamedTuple):
    """A condition that can be given up.

    Without it the bits of `given_up` do not count, nor the provider requests `dropped`, and those
    of `instead` do. One on an amount is given up by asking for another one.
    """

    condition: Condition
    given_up: int = 0
    instead: int = 0
    dropped: frozenset[int] = frozenset()

    @classmethod
    def of(cls, condition: Condition) -> Choice:
        """The choice to do without a condition that has no other one beside it."""
        return cls(condition, condition.bit)

    @property
    def is_amount(self) -> bool:
        """True where another amount is asked for."""
        return self.condition.asked is not None


Chosen = tuple[Choice, ...]
# Inventories of one class, each with what is used of it.
Inventories = Sequence[tuple[Capacity, int]]


class RelaxationCounter:
    """Counts trees that fit without some conditions; with `groups_decide` no search is asked.

    Each method raises `BudgetSpent`.
    """

    def __init__(self, survey: Survey, request: CandidateRequest, groups_decide: bool) -> None:
        self.survey = survey
        self.request = request
        self.groups_decide = groups_decide

    def count(self, chosen: Chosen) -> int:
        """Count the trees that fit without these conditions."""
        outcomes = self._outcomes(chosen)
        if self.groups_decide:
            return sum(outcome.size for outcome in outcomes)
        trees = [tree for outcome in outcomes for tree in outcome.trees]
        if not trees:
            return 0
        # Where any amount fits, the smallest that its provider takes does.
        sizes = [self._smallest(one, trees) if one.is_amount else [0] for one in chosen]
        tests = [self._test(chosen, amounts) for amounts in itertools.product(*sizes)]
        return sum(any(test.fits(tree) for test in tests) for tree in trees)

    def amounts(self, chosen: Chosen) -> tuple[tuple[int, int], ...]:
        """The largest amount of the one that is given up among these that fits a tree, one that
        fits half of the trees, and one that fits all, each with how many trees it fits."""
        serving = list(self._serving(chosen))
        sizes = sorted(
            (
                max(capacity.largest_fit(used) for capacity, used in inventories)
                for inventories in self.survey.work.paused(serving)
            ),
            reverse=True,
        )
        trees = [tree for outcome in self._outcomes(chosen) for tree in outcome.trees]
        if not self.groups_decide:
            largest = self._largest(chosen, serving, trees)
            # Groups that share a provider leave trees less than each of them alone would.
            sizes = [*(min(size, largest) for size in sizes), largest // 2]
        sizes = [size for size in sizes if size]
        if not sizes:
            return ()
        wanted = dict.fromkeys((sizes[0], sizes[len(sizes) // 2], sizes[-1]))
        counts = [(size, self._count_with(chosen, serving, trees, size)) for size in wanted]
        return tuple([(size, count) for size, count in counts if count])

    def _count_with(
        self, chosen: Chosen, serving: Sequence[Inventories], trees: Sequence[Tree], size: int
    ) -> int:
        """Count the trees that fit with this amount."""
        if not self.groups_decide:
            test = self._test(chosen, [size] * len(chosen))
            return sum(test.fits(tree) for tree in trees)
        return sum(
            any(capacity.refusal(size, used) is None for capacity, used in inventories)
            for inventories in self.survey.work.paused(serving)
        )

    def _largest(
        self, chosen: Chosen, serving: Sequence[Inventories], trees: Sequence[Tree]
    ) -> int:
        """The largest amount with which the search finds a tree that fits; 0 for none."""
        most: dict[tuple[int, int], int] = {}
        for capacity, used in itertools.chain.from_iterable(serving):
            key = (capacity.smallest_fit, max(capacity.step_size, 1))
            most[key] = max(most.get(key, 0), capacity.largest_fit(used))
        return max(
            (self._bisect(chosen, trees, *grid, size) for grid, size in most.items()), default=0
        )

    def _bisect(
        self, chosen: Chosen, trees: Sequence[Tree], smallest: int, step: int, largest: int
    ) -> int:
        """The largest amount on a grid that fits some tree.

        Among providers with this grid it is so that where one amount fits, smaller ones do. Where
        other providers make a larger one fit, so much the better.
        """
        fits, fits_not = 0, (largest - smallest) // step + 1
        while fits_not - fits > 0:
            middle = (fits + fits_not) // 2
            test = self._test(chosen, [smallest + middle * step] * len(chosen))
            if any(test.fits(tree) for tree in trees):
                fits = middle + 1
            else:
                fits_not = middle
        return smallest + (fits - 1) * step if fits else 0

    def _outcomes(self, chosen: Chosen) -> list[Outcome]:
        """The outcomes in which every group is served without these conditions."""
        survey, kept = self.survey, self._kept(chosen)
        dropped = frozenset[int]().union(*[one.dropped for one in chosen])
        survey.work.spent += len(survey.outcomes) * len(survey.table.groups)
        return [one for one in survey.outcomes if one.fits(kept, dropped)]

    def _kept(self, chosen: Chosen) -> int:
        """The bits that count when these conditions are given up."""
        kept = self.survey.table.visible
        for one in chosen:
            kept &= ~one.given_up
        for one in chosen:
            kept |= one.instead
        return kept

    def _serving(self, chosen: Chosen) -> Iterator[Inventories]:
        """The inventories that can serve the class of the amount that is given up, of each tree of
        which every group is served and that has some."""
        survey, kept = self.survey, self._kept(chosen)
        (condition,) = [one.condition for one in chosen if one.is_amount]
        name = condition.names[0]
        for outcome in self._outcomes(chosen):
            for state in outcome.states:
                slots = self._slots_serving(state, condition, kept)
                survey.work.spent += len(state.elements)
                for tree in survey.work.each(state.trees if slots else ()):
                    providers = (*tree.members, *state.arrangement.sharing)
                    yield [providers[slot].inventory(name) for slot in slots]

    def _slots_serving(self, state: State, amount: Condition, kept: int) -> list[int]:
        """The slots whose providers can serve a class in trees that fit."""
        table = self.survey.table
        number = next(n for n, one in enumerate(table.groups) if one.group.suffix == amount.suffix)
        asking = table.asking(number, amount.names[0])
        slots = []
        for slot, elements in enumerate(state.elements):
            parts = [
                elements[n] if n in asking else state.parts[n] for n in table.requests_of[number]
            ]
            if any(not mask & kept for mask in folded(parts, table.groups[number].collected)):
                slots.append(slot)
        return slots

    def _test(self, chosen: Chosen, amounts: Sequence[int]) -> Feasibility:
        """A test of the request without these conditions; with amounts in place of others."""
        request = self.request
        for one, amount in zip(chosen, amounts, strict=True):
            request = one.condition.without(request, amount if one.is_amount else 0)
        return Feasibility(self.survey.snapshot, request, self.survey.work)

    def _smallest(self, amount: Choice, trees: Sequence[Tree]) -> list[int]:
        """The smallest amounts of a class that providers of these trees take."""
        name, sizes = amount.condition.names[0], set[int]()
        for tree in trees:
            self.survey.work.spent += len(tree.members)
            for provider in self.survey.slots(tree):
                if name in provider.kind.profile.position:
                    sizes.add(provider.inventory(name)[0].smallest_fit)
        if len(sizes) > MAX_SMALLEST:
            raise BudgetSpent
        return sorted(sizes)
