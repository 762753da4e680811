# SPDX-License-Identifier: Apache-2.0
"""The number of examined trees that fit without some conditions.

If the groups of a request are independent, bits decide; otherwise they exclude trees, and the
others are searched. Each function raises `BudgetSpent`.
"""

import bisect
import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from placement.search.model.capacity import Capacity
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import Feasibility
from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import Condition
from placement_insight.search.survey import Outcome, Survey, folded
from placement_insight.search.tree_states import TreeState

# Maximum number of different smallest amounts that are tried for one class.
MAX_SMALLEST = 16


# Conditions that are given up together.
Chosen = tuple[Condition, ...]
# Inventories of one class, each with its usage.
Inventories = Sequence[tuple[Capacity, int]]


class Relaxed:
    """The examined trees without some conditions of a request."""

    def __init__(self, survey: Survey, chosen: Chosen) -> None:
        self.survey = survey
        self.chosen = chosen
        self._kept = _kept(survey, chosen)
        self._dropped = _dropped(survey, self._request([1] * len(chosen)))

    def count(self) -> int:
        """Count the trees that fit."""
        if self.survey.groups_decide:
            return sum(outcome.size for outcome in self._outcomes())
        return len(self.trees())

    def trees(self) -> list[Tree]:
        """Return the trees that fit."""
        survey = self.survey
        trees = [tree for outcome in self._outcomes() for tree in outcome.trees]
        if survey.groups_decide or not trees:
            return trees
        # If any amount fits, the smallest that its provider accepts does.
        sizes = [
            _smallest(survey, condition, trees) if condition.is_amount else [0]
            for condition in self.chosen
        ]
        tests = [self._test(amounts) for amounts in itertools.product(*sizes)]
        return [tree for tree in trees if any(test.fits(tree) for test in tests)]

    def amounts(self) -> tuple[tuple[int, int], ...]:
        """Return up to three amounts that fit, each with the number of trees that it fits.

        The given-up amount is replaced by the largest that fits a tree, by one that fits half of
        the trees, and by one that fits all.
        """
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
            # Groups that share a provider have room for smaller amounts than each by itself.
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
        """Return the largest amount with which the search finds a tree, 0 for none.

        A binary search for each combination of `min_unit` and `step_size`: among such providers
        smaller amounts fit where larger ones do. Other providers can only raise the result.
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
        """Return the outcomes in which every group is served."""
        return self.survey.fitting(self._kept, self._dropped)

    def _serving(self) -> Iterator[Inventories]:
        """Yield the inventories that can serve the given-up amount, for each tree that has some.

        Only trees in which every group is served are considered.
        """
        survey = self.survey
        (condition,) = [condition for condition in self.chosen if condition.is_amount]
        for outcome in self._outcomes():
            for state in outcome.states:
                slots = self._slots_serving(state, condition)
                survey.work.spent += len(state.elements)
                for tree in survey.work.each(state.trees if slots else ()):
                    providers = state.providers_of(tree)
                    yield [providers[slot].inventory(condition.names[0]) for slot in slots]

    def _slots_serving(self, state: TreeState, amount: Condition) -> list[int]:
        """Return the slots with providers that can serve a class while every group is served."""
        table = self.survey.table
        number = table.number_of(amount)
        asking, collected = (
            table.asking(number, amount.names[0]),
            table.groups[number].bits.collected,
        )
        asked = [n for n in table.requests_of[number] if n not in self._dropped]
        slots = []
        for slot, elements in enumerate(state.elements):
            parts = [elements[n] if n in asking else state.parts[n] for n in asked]
            if any(not mask & self._kept for mask in folded(parts, collected)):
                slots.append(slot)
        return slots

    def _test_of(self, amount: int) -> Feasibility:
        """Return the search of the request with this amount."""
        return self._test([amount] * len(self.chosen))

    def _test(self, amounts: Sequence[int]) -> Feasibility:
        """Return the search of the relaxed request with these amounts."""
        request = self._request(amounts)
        return Feasibility(self.survey.snapshot, request, self.survey.work)

    def _request(self, amounts: Sequence[int]) -> CandidateRequest:
        """Return the relaxed request with these amounts, as a client can send it."""
        request = self.survey.request
        for condition, amount in zip(self.chosen, amounts, strict=True):
            request = condition.without(request, amount if condition.is_amount else 0)
        return _without_empty_groups(request)


def _without_empty_groups(request: CandidateRequest) -> CandidateRequest:
    """Return the request without groups that no query can have.

    A group without resources needs another parameter, and its suffix in a `same_subtree`.
    """
    in_subtrees = frozenset[str]().union(*request.same_subtree)
    groups = tuple(
        group
        for group in request.groups
        if group.resources or (group.suffix in in_subtrees and group.is_restricted)
    )
    left = {group.suffix for group in groups}
    subtrees = (suffixes & left for suffixes in request.same_subtree)
    return dataclasses.replace(request, groups=groups, same_subtree=tuple(filter(None, subtrees)))


def _kept(survey: Survey, chosen: Chosen) -> int:
    """Return the bits that remain when these conditions are given up.

    An amount is given up for another one, of which the smallest has to be free.
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


def _dropped(survey: Survey, relaxed: CandidateRequest) -> frozenset[int]:
    """Return the numbers of the provider requests that a relaxed request no longer has."""
    left = {group.suffix: group.resources for group in relaxed.groups}
    return frozenset(
        asking.number
        for asking in survey.table.requests
        if (resources := left.get(asking.group.suffix)) is None
        or (asking.amounts and asking.amounts.keys().isdisjoint(resources))
    )


def _smallest(survey: Survey, amount: Condition, trees: Sequence[Tree]) -> list[int]:
    """Return the smallest amounts of a class that providers of these trees accept.

    :raises BudgetSpent: there are more than `MAX_SMALLEST`
    """
    name, sizes = amount.names[0], set[int]()
    for tree in trees:
        survey.work.spent += len(tree.members)
        for provider in survey.state(tree).providers_of(tree):
            if name in provider.kind.profile.position:
                sizes.add(provider.inventory(name)[0].smallest_fit)
    if len(sizes) > MAX_SMALLEST:
        raise BudgetSpent
    return sorted(sizes)
