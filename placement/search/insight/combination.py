# SPDX-License-Identifier: Apache-2.0
"""The trees that are left when the groups that each can serve are served together."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Sequence

from placement.search.insight.condition import Condition, Reason, combined_conditions
from placement.search.insight.explanation import FunnelStep
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.relaxation_counter import Relaxed
from placement.search.insight.survey import Survey
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent


class Combination:
    """The steps, and the trees that are left.

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
