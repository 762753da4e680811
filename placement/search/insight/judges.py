# SPDX-License-Identifier: Apache-2.0
"""How many of the examined trees fit when conditions are given up.

`GroupJudge` is for requests whose groups do not get in each other's way: it asks integers alone.
`SearchJudge` lets these leave out trees, and asks the search of the others.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from placement.search.insight.amounts import largest_amount, smallest_amount
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.relaxable import Relaxable, without
from placement.search.insight.survey import Survey
from placement.search.insight.tree_masks import Outcome, folded
from placement.search.model.capacity import Capacity
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent

# How many smallest amounts that providers take are tried for one class.
MAX_SMALLEST = 16

Chosen = tuple[Relaxable, ...]


class GroupJudge:
    """Counts trees of which every group is served."""

    def __init__(self, survey: Survey, request: CandidateRequest) -> None:
        self.survey = survey
        self.request = request

    def count(self, chosen: Chosen) -> int:
        """How many trees fit without these conditions.  Raises `BudgetSpent`."""
        return sum(len(outcome.trees) for outcome in self.outcomes(chosen))

    def largest(self, chosen: Chosen) -> int:
        """The largest amount of the one that is given up among these with which a tree fits; 0
        where there is none.  Raises `BudgetSpent`."""
        (amount,) = [one for one in chosen if one.amount is not None]
        best, kept, name = 0, kept_without(self.survey, chosen), capacity_name(amount)
        has_large_trees = self.survey.has_large_trees
        most = self._most(chosen, amount)
        for outcome in self.outcomes(chosen):
            for tree in self.survey.work.each(outcome.trees):
                if best == most:
                    return best
                if not has_large_trees:
                    # Most hosts cannot better what was found: this is asked of ten thousand.
                    root = tree.members[0]
                    position = root.kind.profile.position[name]
                    if root.kind.capacities[position].ceiling - root.used[position] <= best:
                        continue
                for provider, capacity, slot in self.inventories(tree, amount):
                    position = provider.kind.profile.position[name]
                    size = largest_amount(capacity, provider.used[position])
                    if size > best and self._serves(outcome, tree, slot, amount, kept):
                        best = size
        return best

    def _most(self, chosen: Chosen, amount: Relaxable) -> int | None:
        """What the largest amount certainly does not exceed, None where that is not known."""
        survey = self.survey
        # A sharing provider may be of use in another tree where it is of none in its own.
        if len(chosen) > 1 or survey.has_large_trees:
            return None
        group = next(
            n for n, one in enumerate(survey.table.groups) if one.group.suffix == amount.suffix
        )
        return survey.most[group, capacity_name(amount)].free

    def outcomes(self, chosen: Chosen) -> Iterator[Outcome]:
        """The outcomes in which every group is served without these conditions."""
        kept = kept_without(self.survey, chosen)
        dropped = frozenset[int]().union(*[one.dropped for one in chosen])
        self.survey.work.spent += len(self.survey.outcomes) * len(self.survey.table.groups)
        return (one for one in self.survey.outcomes if one.fits(kept, dropped))

    def inventories(
        self, tree: Tree, amount: Relaxable
    ) -> Iterator[tuple[Provider, Capacity, int]]:
        """Everybody who has the class of an amount among those that a tree can use, with the
        number of its slot."""
        self.survey.work.spent += len(tree.members)
        name = capacity_name(amount)
        for slot, provider in enumerate(self.survey.slots(tree)):
            position = provider.kind.profile.position.get(name)
            if position is not None:
                yield provider, provider.kind.capacities[position], slot

    def _serves(
        self, outcome: Outcome, tree: Tree, slot: int, amount: Relaxable, kept: int
    ) -> bool:
        """Whether this provider can serve the class in a tree that fits."""
        survey, size = self.survey, len(tree.members)
        if not survey.has_large_trees:
            return True
        if slot < size:
            elements = survey.elements_of_member(tree, slot)
        else:
            elements = survey.elements_of_sharing(tree, self.survey.slots(tree)[slot])
        table, parts = survey.table, []
        group = next(n for n, one in enumerate(table.groups) if one.group.suffix == amount.suffix)
        for request, number in zip(table.requests, table.group_of, strict=True):
            if number == group:
                is_asked = capacity_name(amount) in request.amounts
                of_all = outcome.parts[request.number]
                parts.append(elements[request.number] if is_asked else of_all)
        masks = folded(parts, table.groups[group].collected)
        return any(not mask & kept for mask in masks)


class SearchJudge(GroupJudge):
    """Counts trees in which the search finds a candidate."""

    def count(self, chosen: Chosen) -> int:
        trees = self._trees(chosen)
        if not trees:
            return 0
        tests = [
            Feasibility(self.survey.snapshot, request, self.survey.work)
            for request in self._requests(chosen, trees)
        ]
        return sum(any(one.fits(tree) for one in tests) for tree in trees)

    def largest(self, chosen: Chosen) -> int:
        (amount,) = [one for one in chosen if one.amount is not None]
        trees = self._trees(chosen)
        most: dict[tuple[int, int], int] = {}
        for tree in trees:
            for provider, capacity, _ in self.inventories(tree, amount):
                position = provider.kind.profile.position[capacity_name(amount)]
                key = (smallest_amount(capacity), max(capacity.step_size, 1))
                size = largest_amount(capacity, provider.used[position])
                most[key] = max(most.get(key, 0), size)
        best = 0
        for (smallest, step), size in most.items():
            best = max(best, self._bisect(chosen, trees, smallest, step, size))
        return best

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
            if self._any_fits(chosen, trees, smallest + middle * step):
                fits = middle + 1
            else:
                fits_not = middle
        return smallest + (fits - 1) * step if fits else 0

    def _any_fits(self, chosen: Chosen, trees: Sequence[Tree], amount: int) -> bool:
        (one,) = [one for one in chosen if one.amount is not None]
        request = without(self.request, chosen, {one.subject: amount})
        test = Feasibility(self.survey.snapshot, request, self.survey.work)
        return any(test.fits(tree) for tree in trees)

    def _trees(self, chosen: Chosen) -> list[Tree]:
        return [tree for outcome in self.outcomes(chosen) for tree in outcome.trees]

    def _requests(self, chosen: Chosen, trees: Iterable[Tree]) -> list[CandidateRequest]:
        """The request without these conditions, with every smallest amount of the classes whose
        amounts are given up: where any amount fits, the smallest that its provider takes does."""
        amounts: Mapping[object, list[int]] = {
            one.subject: self._smallest(one, trees) for one in chosen if one.amount is not None
        }
        return [
            without(self.request, chosen, dict(zip(amounts, sizes, strict=True)))
            for sizes in itertools.product(*amounts.values())
        ]

    def _smallest(self, amount: Relaxable, trees: Iterable[Tree]) -> list[int]:
        sizes = {
            smallest_amount(capacity)
            for tree in trees
            for _, capacity, _ in self.inventories(tree, amount)
        }
        if len(sizes) > MAX_SMALLEST:
            raise BudgetSpent
        return sorted(sizes)


def kept_without(survey: Survey, chosen: Chosen) -> int:
    """The bits that count when these conditions are given up."""
    kept = survey.table.visible
    for one in chosen:
        kept &= ~one.given_up
    for one in chosen:
        kept |= one.instead
    return kept


def capacity_name(amount: Relaxable) -> str:
    """The class of an amount."""
    assert amount.amount is not None
    return amount.amount.resource_class
