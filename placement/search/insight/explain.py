# SPDX-License-Identifier: Apache-2.0
"""Why a request fits nowhere, or where it does not fit, and what would help.

It reads from here downwards: `survey` looks at every tree once and counts what stands in its way,
`group_funnel` and `combination` lay the conditions over what was counted, `tree_reports` tells
which trees miss least, `relaxations` what could be given up, and `summary` says it in one line.
"""

import contextlib
import sys

from placement.search.explanation import Verdict
from placement.search.insight.combination import Combination
from placement.search.insight.explain_answer import RequestExplanation, TreeReport
from placement.search.insight.feasibility import Feasibility, groups_decide
from placement.search.insight.group_funnel import group_funnels
from placement.search.insight.judges import GroupJudge, SearchJudge
from placement.search.insight.relaxations import Relaxations, relaxations
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.summary import summary
from placement.search.insight.survey import Survey
from placement.search.insight.tree_reports import TreeReports
from placement.search.insight.whole_search import could_be_found
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent

# How many places an explanation looks at, unless it is told otherwise. A flat host asked for three
# classes counts six, so 100,000 hosts are examined, all of them.
EXPLAIN_BUDGET = 1_000_000

# How many unlike trees are examined where each has to be searched, several times.
MAX_SEARCHED = 300

# How many places are looked at to tell the verdict where not all trees were examined.
SEARCH_PLACES = 200_000


def explain_request(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork | None = None,
    provider: str | None = None,
) -> RequestExplanation:
    """Everything that can be said about a request and the trees of a snapshot.

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
    verdict = explaining.verdict()
    funnels, steps = group_funnels(survey), tuple(combination.steps)
    relaxed = explaining.relaxations()
    nearest, report = explaining.nearest(), explaining.report()
    fitting = len(combination.trees)
    return RequestExplanation(
        verdict,
        summary(survey, verdict, fitting, funnels, steps, relaxed.found, relaxed.is_cut),
        fitting,
        funnels,
        steps,
        nearest,
        relaxed.found,
        relaxed.pairs_examined,
        relaxed.pairs_of,
        survey.examined,
        survey.of,
        report,
        work.spent,
    )


class _Explaining:
    """One explanation in the making.  Each step leaves out what the budget does not allow."""

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
        # Half of the budget, so that something is left for what follows.
        looking = work.part(sys.maxsize if work.budget is None else work.budget // 2)
        max_states = None if is_simple else MAX_SEARCHED
        self.survey = Survey(snapshot, resolved, looking, max_states, first_root)
        self.work.spent += looking.spent
        self.survey.work = work
        self.judge = GroupJudge(self.survey, request)
        unused = None
        if not is_simple:
            self.judge = SearchJudge(self.survey, request)
            unused = Feasibility(snapshot, request, work, ignores_usage=True)
        self.combination = Combination(self.judge, is_simple)
        with contextlib.suppress(BudgetSpent):
            self.combination.work_out()
        self.reports = TreeReports(self.survey, self.combination, unused)

    def verdict(self) -> Verdict:
        """Whether it fits, or could; of all trees, examined or not."""
        if self.combination.trees:
            return Verdict.FITS
        if self.survey.examined == self.survey.of and self.combination.is_whole:
            return self._verdict_of_examined()
        snapshot, request = self.survey.snapshot, self.judge.request
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
        """What could be given up; nothing where it is not known what fits."""
        if not self.combination.is_whole:
            return Relaxations(is_cut=True)
        return relaxations(self.judge, len(self.combination.trees))

    def nearest(self) -> tuple[TreeReport, ...]:
        """The trees that miss least."""
        try:
            return self.reports.nearest()
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
            return TreeReport(tree.members[0].uuid, Verdict.UNKNOWN)
