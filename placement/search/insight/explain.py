# SPDX-License-Identifier: Apache-2.0
"""The reasons why a request fits nowhere, or where it does not fit, and what would help.

It reads from here downwards: `survey` looks at every tree once and says what stands in its way,
`funnel` lays the conditions over the trees, `relaxations` finds what could be
given up, and `named_trees` those that miss least and those with a disabled host.
"""

from __future__ import annotations

import contextlib
import dataclasses

from placement.search.insight.condition import Verdict
from placement.search.insight.explanation import RequestExplanation, TreeReport
from placement.search.insight.feasibility import Feasibility, could_be_found
from placement.search.insight.funnel import Combination, group_funnels
from placement.search.insight.named_trees import disabled_trees, nearest_trees
from placement.search.insight.relaxations import Relaxations, relaxations
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.survey import Survey
from placement.search.insight.tree_reports import TreeReports
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, is_disabled
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent

# How many places an explanation looks at, unless it is told otherwise. A flat host asked for three
# classes counts six, so 100,000 hosts are examined, all of them.
EXPLAIN_BUDGET = 1_000_000

# How many places it looks at as one of several things that a budget is for.
PART_PLACES = 200_000

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
    first_root = None if provider is None else snapshot.find_root(provider)
    survey = _survey(snapshot, request, work, first_root)
    unused = None
    if not survey.groups_decide:
        unused = Feasibility(snapshot, request, work, ignores_usage=True)
    combination = Combination(survey)
    if combination.is_whole:
        combination.count_only()
    reports = TreeReports(survey, combination, unused)
    verdict, funnels = _verdict(reports), group_funnels(survey)
    # Nothing could help, and nothing is near, where it is not known what fits.
    relaxed, nearest = Relaxations(is_cut=True), tuple[TreeReport, ...]()
    if combination.is_whole:
        relaxed = relaxations(survey, len(combination.trees))
        with contextlib.suppress(BudgetSpent):
            nearest = nearest_trees(reports)
    answer = RequestExplanation(
        verdict,
        len(combination.trees),
        funnels,
        tuple(combination.steps),
        nearest,
        relaxed.deciding,
        relaxed.pairs_examined,
        relaxed.pairs_of,
        survey.examined,
        survey.of,
        relaxed.is_cut,
        None if first_root is None else _report(reports, snapshot.tree(first_root)),
    )
    disabled = disabled_trees(answer, survey, combination.trees)
    return dataclasses.replace(answer, disabled=disabled)


def explain_within(
    work: SlicedWork, snapshot: Snapshot, request: CandidateRequest
) -> RequestExplanation:
    """Explain a request with a part of the work, as one of several things that it is for."""
    part = work.part(PART_PLACES)
    answer = explain_request(snapshot, request, part)
    work.spent += part.spent
    return answer


def _survey(
    snapshot: Snapshot, request: CandidateRequest, work: SlicedWork, first_root: int | None
) -> Survey:
    """The first look at the trees, with a part of the budget."""
    resolved = ResolvedRequest.of(snapshot, request)
    part = LOOKING if resolved.groups_decide else LOOKING_TO_SEARCH
    looking = work.part(work.budget // part)
    survey = Survey(snapshot, resolved, looking, first_root)
    work.spent += looking.spent
    survey.work = work
    return survey


def _verdict(reports: TreeReports) -> Verdict:
    """The verdict on all trees, examined or not."""
    survey, combination = reports.survey, reports.combination
    if combination.trees:
        return Verdict.FITS
    if survey.examined == survey.of and combination.is_whole:
        try:
            return Verdict.FULL if reports.any_would_fit() else Verdict.INFEASIBLE
        except BudgetSpent:
            return Verdict.UNKNOWN
    for verdict, ignores_usage in ((Verdict.FITS, False), (Verdict.FULL, True)):
        fits = could_be_found(
            survey.snapshot, survey.request, survey.work, SEARCH_PLACES, ignores_usage
        )
        if fits is None:
            return Verdict.UNKNOWN
        if fits:
            return verdict
    return Verdict.INFEASIBLE


def _report(reports: TreeReports, tree: Tree) -> TreeReport:
    """The report on the tree that was asked about."""
    try:
        return reports.report(reports.survey.outcome(tree), tree)
    except BudgetSpent:
        return TreeReport(tree.members[0].uuid, Verdict.UNKNOWN, is_disabled=is_disabled(tree))
