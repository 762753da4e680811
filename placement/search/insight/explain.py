# SPDX-License-Identifier: Apache-2.0
"""The reasons why a request fits nowhere, or where it does not fit, and what would help.

It reads from here downwards: `survey` looks at every tree once and says what stands in its way,
`funnel` and `combination` lay the conditions over the trees, `nearest` finds those that miss
least, `relaxations` what could be given up, and `disabled_trees` those with a disabled host.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys

from placement.search.insight.combination import Combination
from placement.search.insight.condition import Verdict
from placement.search.insight.disabled_trees import disabled_trees
from placement.search.insight.explanation import RequestExplanation, TreeReport
from placement.search.insight.feasibility import Feasibility, could_be_found, groups_decide
from placement.search.insight.funnel import group_funnels
from placement.search.insight.nearest import nearest_trees
from placement.search.insight.relaxation_counter import RelaxationCounter
from placement.search.insight.relaxations import Relaxations, relaxations
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.survey import Survey
from placement.search.insight.tree_reports import TreeReports
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import is_disabled
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent

# How many places an explanation looks at, unless it is told otherwise. A flat host asked for three
# classes counts six, so 100,000 hosts are examined, all of them.
EXPLAIN_BUDGET = 1_000_000

# Which part of the budget is for the first look at the trees, and which where each of them has to
# be searched afterwards, several times.
LOOKING, LOOKING_TO_SEARCH = 2, 16

# How many places are looked at to tell the verdict where not all trees were examined.
SEARCH_PLACES = 200_000


def explain_request(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork | None = None,
    provider: str | None = None,
) -> RequestExplanation:
    """Explain what a snapshot has for a request.

    With the uuid of a `provider` its tree is reported on; where there is no such provider, there
    is no report. The request's limit makes no difference. Where the budget does not suffice, the
    answer says how many trees were examined, and leaves out what could not be found out.
    """
    work = work or SlicedWork(EXPLAIN_BUDGET)
    asked_about = None if provider is None else snapshot.find_by_uuid(provider)
    explaining = _Explaining(
        snapshot, request, work, None if asked_about is None else asked_about.root_id
    )
    survey, combination = explaining.survey, explaining.combination
    verdict, funnels = explaining.verdict(), group_funnels(survey)
    relaxed = explaining.relaxations()
    answer = RequestExplanation(
        verdict,
        len(combination.trees),
        funnels,
        tuple(combination.steps),
        explaining.nearest(),
        relaxed.found,
        relaxed.pairs_examined,
        relaxed.pairs_of,
        survey.examined,
        survey.of,
        relaxed.is_cut,
        explaining.report(),
    )
    disabled = disabled_trees(answer, survey, combination.trees)
    return dataclasses.replace(answer, disabled=disabled, work=work.spent)


class _Explaining:
    """One explanation in the making. Each step leaves out what the budget does not allow."""

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: SlicedWork,
        first_root: int | None,
    ) -> None:
        self.work = work
        self.first_root = first_root
        resolved = ResolvedRequest.of(snapshot, request)
        is_simple = groups_decide(resolved)
        part = LOOKING if is_simple else LOOKING_TO_SEARCH
        looking = work.part(sys.maxsize if work.budget is None else work.budget // part)
        self.survey = Survey(snapshot, resolved, looking, first_root)
        self.work.spent += looking.spent
        self.survey.work = work
        self.counter = RelaxationCounter(self.survey, request, is_simple)
        unused = None
        if not is_simple:
            unused = Feasibility(snapshot, request, work, ignores_usage=True)
        self.combination = Combination(self.counter)
        with contextlib.suppress(BudgetSpent):
            self.combination.work_out()
            self.combination.count_only()
        self.reports = TreeReports(self.survey, self.combination, unused)

    def verdict(self) -> Verdict:
        """The verdict on all trees, examined or not."""
        if self.combination.trees:
            return Verdict.FITS
        if self.survey.examined == self.survey.of and self.combination.is_whole:
            return self._verdict_of_examined()
        snapshot, request = self.survey.snapshot, self.counter.request
        for verdict, ignores_usage in ((Verdict.FITS, False), (Verdict.FULL, True)):
            fits = could_be_found(snapshot, request, self.work, SEARCH_PLACES, ignores_usage)
            if fits is None:
                return Verdict.UNKNOWN
            if fits:
                return verdict
        return Verdict.INFEASIBLE

    def _verdict_of_examined(self) -> Verdict:
        try:
            is_full = self.reports.any_would_fit()
        except BudgetSpent:
            return Verdict.UNKNOWN
        return Verdict.FULL if is_full else Verdict.INFEASIBLE

    def relaxations(self) -> Relaxations:
        """The conditions that could be given up; none where it is not known what fits."""
        if not self.combination.is_whole:
            return Relaxations(is_cut=True)
        return relaxations(self.counter, len(self.combination.trees))

    def nearest(self) -> tuple[TreeReport, ...]:
        """The trees that miss least; none where it is not known what fits."""
        try:
            return nearest_trees(self.reports) if self.combination.is_whole else ()
        except BudgetSpent:
            return ()

    def report(self) -> TreeReport | None:
        """The report on the tree that was asked about."""
        if self.first_root is None:
            return None
        tree = self.survey.snapshot.tree(self.first_root)
        try:
            return self.reports.report(self.survey.outcome(tree), tree)
        except BudgetSpent:
            return TreeReport(tree.members[0].uuid, Verdict.UNKNOWN, is_disabled=is_disabled(tree))
