# SPDX-License-Identifier: Apache-2.0
"""The trees that are left when the groups that each can serve are served together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from placement.search.insight.condition import Condition, Reason, combined_conditions
from placement.search.insight.explanation import FunnelStep
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.relaxation_counter import Choice, RelaxationCounter
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree


class Combination:
    """The steps, and the trees that are left.

    `rejected` holds by root id the condition that rejected a tree which can serve each group, as
    far as it is known. Working it out raises `BudgetSpent`; what was found out before remains.
    """

    def __init__(self, counter: RelaxationCounter) -> None:
        self.counter = counter
        self.steps: list[FunnelStep] = []
        self.rejected: dict[int, Condition] = {}
        self.trees: list[Tree] = []
        self.is_whole = False

    def work_out(self) -> None:
        """Lay one condition after the other over the trees."""
        survey, request = self.counter.survey, self.counter.request
        visible, root_bits = survey.table.visible, survey.table.root_bits
        outcomes = [one for one in survey.outcomes if one.fits(visible & ~root_bits)]
        if len(request.groups) > 1:
            left = sum(one.size for one in outcomes)
            self._add(Condition(Reason.ONE_TREE), survey.examined, left)
        for condition in survey.table.root_conditions:
            out = [tree for one in outcomes if one.root & condition.bit for tree in one.trees]
            outcomes = [one for one in outcomes if not one.root & condition.bit]
            left = sum(one.size for one in outcomes)
            self._reject(condition, out)
            self._add(condition, left + len(out), left)
        trees = [tree for one in outcomes for tree in one.trees]
        if not self.counter.groups_decide:
            conditions = combined_conditions(request)
            loose = request
            for condition in (*survey.table.root_conditions, *conditions):
                loose = condition.without(loose)
            trees = self._lay(Condition(Reason.SUM), loose, trees)
            for number, condition in enumerate(conditions, start=1):
                trees = self._lay(condition, _without(request, conditions[number:]), trees)
        self.trees, self.is_whole = trees, True

    def _lay(
        self, condition: Condition, with_it: CandidateRequest, trees: Sequence[Tree]
    ) -> list[Tree]:
        """Leave the trees that fit a request which has this condition and those before it."""
        survey = self.counter.survey
        test = Feasibility(survey.snapshot, with_it, survey.work)
        after = [tree for tree in trees if test.fits(tree)]
        kept = {tree.root_id for tree in after}
        if condition.reason == Reason.SUM and len(after) < len(trees):
            condition = self._scarce_in_trees(trees)
        self._reject(condition, [tree for tree in trees if tree.root_id not in kept])
        self._add(condition, len(trees), len(after))
        return after

    def _scarce_in_trees(self, trees: Sequence[Tree]) -> Condition:
        """The condition on all groups together, with the classes of which more is asked for than
        any of these trees has free."""
        survey, scarce = self.counter.survey, {}
        for name, asked in survey.totals.items():
            most = max(
                sum(
                    max(capacity.ceiling - used, 0)
                    for provider in survey.slots(tree)
                    for other, capacity, used in provider.inventories
                    if other == name
                )
                for tree in survey.work.each(trees)
            )
            if most < asked:
                scarce[name] = f'{name}: {asked} asked, most free {most} in one tree'
        return Condition(Reason.SUM, tuple(scarce), detail=', '.join(scarce.values()))

    def _reject(self, condition: Condition, trees: Sequence[Tree]) -> None:
        for tree in trees:
            self.rejected[tree.root_id] = condition

    def _add(self, condition: Condition, before: int, after: int) -> None:
        self.steps.append(FunnelStep(condition, before, after, None))

    def count_only(self) -> None:
        """Count the trees that fit only without each condition that can be given up."""
        fitting = len(self.trees)
        for number, step in enumerate(self.steps):
            if step.condition.can_be_given_up:
                only = self.counter.count((Choice.of(step.condition),)) - fitting
                self.steps[number] = dataclasses.replace(step, only=only)


def _without(request: CandidateRequest, conditions: Sequence[Condition]) -> CandidateRequest:
    for condition in conditions:
        request = condition.without(request)
    return request
