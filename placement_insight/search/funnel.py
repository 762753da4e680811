# SPDX-License-Identifier: Apache-2.0
"""Funnels: the trees that each condition leaves, of each group and of the combination."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence

from placement.search.model.capacity import Capacity, Refusal
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import Feasibility
from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import Condition, Reason, Scarce, combined_conditions
from placement_insight.search.explanation import FunnelStep, GroupFunnel
from placement_insight.search.relaxation_counter import Relaxed
from placement_insight.search.survey import Survey
from placement_insight.search.tree_states import Maximum


def group_funnels(survey: Survey) -> tuple[GroupFunnel, ...]:
    """Return the funnel of each group, in the order of the request."""
    return tuple(
        GroupFunnel(group.group, tuple(funnel_steps(survey, number)))
        for number, group in enumerate(survey.table.groups)
    )


def funnel_steps(survey: Survey, number: int) -> Iterator[FunnelStep]:
    """Yield the steps of a group, one for each condition."""
    group = survey.table.groups[number]
    before, kept = survey.trees_passing(number, 0), 0
    for step in group.steps:
        condition = step
        if step.asked is not None:
            condition = with_amounts(step, most_of(survey, number, step.names[0], kept))
        classes = _classes_left_out(survey, number, step, kept)
        kept |= step.bit
        after = survey.trees_passing(number, kept)
        yield FunnelStep(
            condition._replace(is_met=after == before, classes=classes),
            before,
            after,
            _only(survey, number, step.bit, kept),
        )
        before = after


def with_amounts(step: Condition, most: Maximum | None) -> Condition:
    """Return a condition on an amount with the largest amount and the largest free one.

    Its reason is the rule by which the provider with the largest amount refuses it when empty.
    """
    if most is None or step.asked is None:
        return step
    largest = most.capacity.largest
    if step.reason == Refusal.USED:
        return step._replace(largest=largest, most_free=most.free)
    reason = capacity_reason(most.capacity, step.asked) or step.reason
    return step._replace(largest=largest, reason=reason)


def capacity_reason(capacity: Capacity, amount: int, used: int = 0) -> Refusal | None:
    """Return the reason to refuse an amount with this usage, None if it fits.

    An amount beyond the whole capacity is too small a capacity, not a matter of `max_unit`.
    """
    refusal = capacity.refusal(amount, used)
    return Refusal.TOO_SMALL if refusal and amount > capacity.whole else refusal


def most_of(survey: Survey, group: int, name: str, kept: int) -> Maximum | None:
    """Return the maximum of a class among providers that meet the conditions `kept`.

    Only trees that meet them for the whole group count. None without such providers.
    """
    maxima, numbers = list[Maximum](), survey.table.asking(group, name)
    for outcome in survey.counted():
        if not outcome.passes(group, kept):
            continue
        for state in outcome.states:
            survey.work.count(1)
            for slot, elements in enumerate(state.elements):
                if any(not mask & kept for number in numbers for mask, _ in elements[number]):
                    maximum = state.maximum(slot, name, survey.work)
                    maxima += [maximum] if maximum else []
    return Maximum.of(maxima)


def _classes_left_out(survey: Survey, group: int, step: Condition, kept: int) -> tuple[str, ...]:
    """Return the classes that a condition leaves without a provider.

    They lack one in each tree that meets the conditions `kept` but not this one. Empty if these
    are all classes of the group.
    """
    if not survey.has_large_trees or step.subject is not None:
        return ()
    unserved = [
        set(outcome.unserved(group, step.bit, kept))
        for outcome in survey.counted()
        if outcome.passes(group, kept) and not outcome.passes(group, kept | step.bit)
    ]
    return survey.table.classes_of(group, set.intersection(*unserved) if unserved else set())


def _only(survey: Survey, group: int, bit: int, kept: int) -> int:
    """Count the trees that this condition turns away and no other one does."""
    others = survey.table.visible & ~bit
    return sum(
        outcome.size
        for outcome in survey.counted()
        if not outcome.passes(group, kept) and outcome.passes(group, others)
    )


class Combination:
    """The conditions on all groups together, as steps, and the trees that are left.

    `rejected` has the condition that turned away a tree that can serve each group, by root id.
    With `is_whole` False the budget was spent, and the steps so far remain.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.steps: list[FunnelStep] = []
        self.rejected: dict[int, Condition] = {}
        self.trees: list[Tree] = []
        self.is_whole = False
        with contextlib.suppress(BudgetSpent):
            self.trees = self._trees_left()
            self.is_whole = True

    def _trees_left(self) -> list[Tree]:
        """Return the trees that meet one condition after the other, and add the steps."""
        survey, request, table = self.survey, self.survey.request, self.survey.table
        kept = table.visible & ~table.root_bits
        outcomes = survey.fitting(kept)
        trees = [tree for outcome in outcomes for tree in outcome.trees]
        if len(request.groups) > 1:
            condition = Condition(Reason.ONE_TREE)
            self.steps.append(FunnelStep(condition, survey.examined, len(trees), None))
        for condition in table.root_conditions:
            outcomes = [outcome for outcome in outcomes if not outcome.root & condition.bit]
            left = [tree for outcome in outcomes for tree in outcome.trees]
            trees = self._add_step(condition, trees, left)
        if survey.groups_decide:
            return trees
        conditions = combined_conditions(request)
        loose = _without(request, (*table.root_conditions, *conditions))
        fitting = self._fitting(loose, trees)
        condition = Condition(Reason.SUM)
        if len(fitting) < len(trees):
            condition = self._scarce_in_trees(trees)
        trees = self._add_step(condition, trees, fitting)
        for number, condition in enumerate(conditions, start=1):
            with_it = _without(request, conditions[number:])
            trees = self._add_step(condition, trees, self._fitting(with_it, trees))
        return trees

    def _fitting(self, request: CandidateRequest, trees: Sequence[Tree]) -> list[Tree]:
        test = Feasibility(self.survey.snapshot, request, self.survey.work)
        return [tree for tree in trees if test.fits(tree)]

    def _add_step(self, condition: Condition, trees: list[Tree], left: list[Tree]) -> list[Tree]:
        """Add the step of a condition, and return the trees that it leaves."""
        self.steps.append(FunnelStep(condition, len(trees), len(left), None))
        kept = {tree.root_id for tree in left}
        self.rejected |= {tree.root_id: condition for tree in trees if tree.root_id not in kept}
        return left

    def _scarce_in_trees(self, trees: Sequence[Tree]) -> Condition:
        """Return the condition on sums, with the classes that are short in every tree."""
        survey, scarce = self.survey, list[Scarce]()
        for name, asked in survey.totals.items():
            most = max(
                sum(
                    max(capacity.ceiling - used, 0)
                    for provider in survey.state(tree).providers_of(tree)
                    for other, capacity, used in provider.inventories
                    if other == name
                )
                for tree in survey.work.each(trees)
            )
            if most < asked:
                scarce.append(Scarce(name, asked, most))
        names = tuple([one.resource_class for one in scarce])
        return Condition(Reason.SUM, names, scarce=tuple(scarce))

    def count_only(self) -> None:
        """Set `only` of the steps that can be given up, as far as the budget suffices."""
        with contextlib.suppress(BudgetSpent):
            for number, step in enumerate(self.steps):
                condition = step.condition
                if condition.can_be_given_up:
                    without = Relaxed(self.survey, (condition,)).trees()
                    only = sum(self.rejected.get(tree.root_id) is condition for tree in without)
                    self.steps[number] = step._replace(only=only)


def _without(request: CandidateRequest, conditions: Iterable[Condition]) -> CandidateRequest:
    return functools.reduce(lambda rest, condition: condition.without(rest), conditions, request)
