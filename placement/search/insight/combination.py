# SPDX-License-Identifier: Apache-2.0
"""What is left of the trees that can serve each group when the groups are served together."""

import dataclasses
from collections.abc import Iterator, Sequence

from placement.search.explanation import Condition
from placement.search.insight.explain_answer import FunnelStep
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.judges import GroupJudge
from placement.search.insight.relaxable import Relaxable, subtree_condition
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.tally import Reason

NO_NAMES: frozenset[str] = frozenset()


class Combination:
    """The steps, and the trees that are left.

    `rejected` holds by root id the condition that rejected a tree which can serve each group, as
    far as it is known. Working it out raises `BudgetSpent`; what was found out before remains.
    """

    def __init__(self, judge: GroupJudge, is_simple: bool) -> None:
        self.judge = judge
        self.steps: list[FunnelStep] = []
        self.rejected: dict[int, Condition] = {}
        self.trees: list[Tree] = []
        self.is_whole = False
        self._relaxables: list[Relaxable | None] = []
        self._is_simple = is_simple

    def work_out(self) -> None:
        """Lay one condition after the other over the trees."""
        survey, request = self.judge.survey, self.judge.request
        visible, root_bits = survey.table.visible, survey.table.root_bits
        left = [
            (outcome.root, tree)
            for outcome in survey.outcomes
            if outcome.fits(visible & ~root_bits)
            for tree in outcome.trees
        ]
        if len(request.groups) > 1:
            self._add(Condition(Reason.ONE_TREE), survey.examined, len(left))
        for one in survey.table.root_conditions:
            after = [(root, tree) for root, tree in left if not root & one.bit]
            self._reject(one.condition(), [tree for root, tree in left if root & one.bit])
            self._add(
                one.condition(),
                len(left),
                len(after),
                Relaxable(None, one.condition(), one.bit, numbered=one),
            )
            left = after
        trees = [tree for _, tree in left]
        if not self._is_simple:
            for condition, with_it, relaxable in _constraints(request):
                trees = self._constrain(condition, with_it, relaxable, trees)
        self.trees, self.is_whole = trees, True
        self._count_only()

    def _constrain(
        self,
        condition: Condition,
        with_it: CandidateRequest,
        relaxable: Relaxable | None,
        trees: Sequence[Tree],
    ) -> list[Tree]:
        survey = self.judge.survey
        test = Feasibility(survey.snapshot, with_it, survey.work)
        after = [tree for tree in trees if test.fits(tree)]
        kept = {tree.root_id for tree in after}
        self._reject(condition, [tree for tree in trees if tree.root_id not in kept])
        self._add(condition, len(trees), len(after), relaxable)
        return after

    def _reject(self, condition: Condition, trees: Sequence[Tree]) -> None:
        for tree in trees:
            self.rejected[tree.root_id] = condition

    def _add(
        self, condition: Condition, before: int, after: int, relaxable: Relaxable | None = None
    ) -> None:
        self.steps.append(FunnelStep(condition, before, after, None))
        self._relaxables.append(relaxable)

    def _count_only(self) -> None:
        """How many trees fit without each condition that can be given up, and not with it."""
        fitting = len(self.trees)
        for number, relaxable in enumerate(self._relaxables):
            if relaxable is not None:
                only = self.judge.count((relaxable,)) - fitting
                self.steps[number] = dataclasses.replace(self.steps[number], only=only)


def _constraints(
    request: CandidateRequest,
) -> Iterator[tuple[Condition, CandidateRequest, Relaxable | None]]:
    """Each condition on the combination, with the request that has it and all before it."""
    loose = dataclasses.replace(
        request,
        isolate=False,
        same_subtree=(),
        root_required=NO_NAMES,
        root_forbidden=NO_NAMES,
        single_provider_per_tree=False,
    )
    yield Condition(Reason.SUM), loose, None
    if request.isolate and sum(group.is_suffixed for group in request.groups) > 1:
        loose = dataclasses.replace(loose, isolate=True)
        condition = Condition(Reason.ISOLATE)
        yield condition, loose, Relaxable(None, condition)
    for suffixes in dict.fromkeys(request.same_subtree):
        if len(suffixes) > 1:
            loose = dataclasses.replace(loose, same_subtree=(*loose.same_subtree, suffixes))
            condition = subtree_condition(suffixes)
            yield condition, loose, Relaxable(None, condition)
    if request.single_provider_per_tree:
        yield Condition(Reason.ONE_OF_EACH_TREE), request, None
