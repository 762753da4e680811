# SPDX-License-Identifier: Apache-2.0
"""The trees that each condition leaves: of each group, with the amounts of those that it left, and
when the groups that a tree can serve are served together."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

from placement.search.insight.condition import Condition, Reason, combined_conditions
from placement.search.insight.explanation import FunnelStep, GroupFunnel
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.relaxation_counter import Relaxed
from placement.search.insight.survey import Survey
from placement.search.insight.tree_states import Maximum
from placement.search.model.capacity import Capacity, Refusal
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent


def group_funnels(survey: Survey) -> tuple[GroupFunnel, ...]:
    """The funnel of each group, in the order of the request."""
    return tuple(
        GroupFunnel(group.group, tuple(funnel_steps(survey, number)))
        for number, group in enumerate(survey.table.groups)
    )


def funnel_steps(survey: Survey, number: int) -> Iterator[FunnelStep]:
    """The conditions of a group, one after the other."""
    group = survey.table.groups[number]
    before, kept = survey.trees_passing(number, 0), 0
    providers_before = _providers(survey, number, 0)
    for step in group.steps:
        condition = step
        if step.asked is not None:
            condition = with_amounts(step, most_of(survey, number, step.names[0], kept))
        classes = _classes_left_out(survey, number, step, kept)
        kept |= step.bit
        after = survey.trees_passing(number, kept)
        providers = _providers(survey, number, kept & ~group.collected)
        is_about_one = survey.has_large_trees and not step.bit & group.collected
        yield FunnelStep(
            dataclasses.replace(condition, is_met=after == before, classes=classes),
            before,
            after,
            _only(survey, number, step.bit),
            providers_before if is_about_one else None,
            providers if is_about_one else None,
        )
        before, providers_before = after, providers


def with_amounts(step: Condition, most: Maximum | None) -> Condition:
    """A condition on an amount with the largest that there is, the most that is free, and the rule
    by which the provider with the largest refuses it when it is empty."""
    if most is None or step.asked is None:
        return step
    largest = most.capacity.largest
    if step.reason == Refusal.USED:
        return dataclasses.replace(step, largest=largest, most_free=most.free)
    reason = capacity_reason(most.capacity, step.asked) or step.reason
    return dataclasses.replace(step, largest=largest, reason=reason)


def capacity_reason(capacity: Capacity, amount: int, used: int = 0) -> Refusal | None:
    """The reason to refuse an amount by a capacity of which so much is used, None where it fits.

    Of what is larger than all there is, max_unit is not the reason to be told.
    """
    refusal = capacity.refusal(amount, used)
    return Refusal.TOO_SMALL if refusal and amount > capacity.whole else refusal


def most_of(survey: Survey, group: int, name: str, kept: int) -> Maximum | None:
    """The most of a class that providers have which meet these conditions in a tree that does;
    None where there is none."""
    maxima, numbers = list[Maximum](), survey.table.asking(group, name)
    for outcome in survey.outcomes:
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
    """The classes that nobody serves any more, in each of the trees that meet these conditions and
    not this one; none where these are all classes of the group."""
    if not survey.has_large_trees or step.subject is not None:
        return ()
    unserved = [
        set(outcome.unserved(group, step.bit, kept))
        for outcome in survey.outcomes
        if outcome.passes(group, kept) and not outcome.passes(group, kept | step.bit)
    ]
    return survey.table.classes_of(group, set.intersection(*unserved) if unserved else set())


def _only(survey: Survey, group: int, bit: int) -> int:
    """The trees that pass without this condition and do not pass with it."""
    every = survey.table.visible
    return survey.trees_passing(group, every & ~bit) - survey.trees_passing(group, every)


def _providers(survey: Survey, group: int, kept: int) -> int:
    """The providers that pass these conditions for some class of the group, each as a member of
    its own tree; not counted where every tree is a provider."""
    if not survey.has_large_trees:
        return 0
    numbers = survey.table.requests_of[group]
    return sum(
        times
        for elements, times in survey.providers.items()
        if any(not mask & kept for number in numbers for mask, _ in elements[number])
    )


class Combination:
    """The conditions on all groups together, as steps, and the trees that are left.

    `rejected` holds by root id the condition that rejected a tree which can serve each group, as
    far as it is known. `is_whole` says that the work sufficed; what was known before remains.
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
        """Lay one condition after the other over the trees."""
        survey, request, table = self.survey, self.survey.request, self.survey.table
        kept = table.visible & ~table.root_bits
        outcomes = [outcome for outcome in survey.outcomes if outcome.fits(kept)]
        trees = [tree for outcome in outcomes for tree in outcome.trees]
        if len(request.groups) > 1:
            condition = Condition(Reason.ONE_TREE)
            self.steps.append(FunnelStep(condition, survey.examined, len(trees), None))
        for condition in table.root_conditions:
            outcomes = [outcome for outcome in outcomes if not outcome.root & condition.bit]
            left = [tree for outcome in outcomes for tree in outcome.trees]
            trees = self._leave(condition, trees, left)
        if survey.groups_decide:
            return trees
        conditions = combined_conditions(request)
        loose = _without(request, (*table.root_conditions, *conditions))
        fitting = self._fitting(loose, trees)
        condition = Condition(Reason.SUM)
        if len(fitting) < len(trees):
            condition = self._scarce_in_trees(trees)
        trees = self._leave(condition, trees, fitting)
        for number, condition in enumerate(conditions, start=1):
            with_it = _without(request, conditions[number:])
            trees = self._leave(condition, trees, self._fitting(with_it, trees))
        return trees

    def _fitting(self, request: CandidateRequest, trees: Sequence[Tree]) -> list[Tree]:
        test = Feasibility(self.survey.snapshot, request, self.survey.work)
        return [tree for tree in trees if test.fits(tree)]

    def _leave(self, condition: Condition, trees: list[Tree], left: list[Tree]) -> list[Tree]:
        """Add the step of a condition that leaves these trees of those; the trees left."""
        self.steps.append(FunnelStep(condition, len(trees), len(left), None))
        kept = {tree.root_id for tree in left}
        self.rejected |= {tree.root_id: condition for tree in trees if tree.root_id not in kept}
        return left

    def _scarce_in_trees(self, trees: Sequence[Tree]) -> Condition:
        """The condition on all groups together, with the classes of which more is asked for than
        any of these trees has free."""
        survey, scarce = self.survey, {}
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
                scarce[name] = f'{name}: {asked} asked, most free {most} in one tree'
        return Condition(Reason.SUM, tuple(scarce), detail=', '.join(scarce.values()))

    def count_only(self) -> None:
        """Count the trees that fit only without each condition that can be given up, as far as
        the work suffices."""
        with contextlib.suppress(BudgetSpent):
            for number, step in enumerate(self.steps):
                if step.condition.can_be_given_up:
                    without = Relaxed(self.survey, (step.condition,)).count()
                    only = without - len(self.trees)
                    self.steps[number] = dataclasses.replace(step, only=only)


def _without(request: CandidateRequest, conditions: Iterable[Condition]) -> CandidateRequest:
    return functools.reduce(lambda rest, condition: condition.without(rest), conditions, request)
