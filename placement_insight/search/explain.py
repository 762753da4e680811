# SPDX-License-Identifier: Apache-2.0
"""Explanation of a request: the reasons why it does not fit, and the changes that would help.

Read from here downwards: `survey` examines each tree once for the conditions that it fails,
`funnel` applies one condition after the other, `relaxations` finds conditions to give up, and
`named_trees` the nearest misses and the trees with a disabled host.
"""

import contextlib

from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, is_disabled
from placement.search.solver.feasibility import Feasibility, first_candidate
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import Verdict
from placement_insight.search.explanation import RequestExplanation, TreeReport
from placement_insight.search.funnel import Combination, group_funnels
from placement_insight.search.named_trees import disabled_trees, nearest_trees
from placement_insight.search.relaxations import Relaxations, relaxations
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.survey import Survey
from placement_insight.search.telling_trees import anchors_of
from placement_insight.search.tree_reports import TreeReports

# Default budget of an explanation in steps. A flat host takes six for a request of three classes,
# so that all of 100,000 hosts are examined.
EXPLAIN_BUDGET = 1_000_000

# Maximum number of steps of an explanation that shares a budget with other work.
PART_STEPS = 200_000

# The survey gets one part in `LOOKING` of the budget, and one in `LOOKING_TO_SEARCH` if each tree
# has to be searched several times afterwards.
LOOKING, LOOKING_TO_SEARCH = 2, 16

# Maximum number of steps of a search for the verdict if not all trees were examined.
SEARCH_STEPS = 200_000


def explain_request(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: SlicedWork | None = None,
    provider: str | None = None,
) -> RequestExplanation:
    """Explain a request in a snapshot.

    With the uuid of a `provider`, the explanation includes a report on its tree, unless there is
    no such provider. The limit of the request is ignored. With too small a budget, the explanation
    has the number of examined trees, and lacks parts.
    """
    work = work or SlicedWork(EXPLAIN_BUDGET)
    first_root = None if provider is None else snapshot.find_root(provider)
    survey = _survey(snapshot, request, work, first_root)
    beyond = None if survey.is_whole else _verdict_on_all(survey)
    is_needed = not survey.groups_decide
    unused = Feasibility(snapshot, request, work, ignores_usage=True) if is_needed else None
    combination = Combination(survey)
    if combination.is_whole:
        combination.count_only()
    reports = TreeReports(survey, combination, unused)
    verdict, funnels = _verdict(reports, beyond), group_funnels(survey)
    # Relaxations and nearest misses cannot be found without the trees that fit.
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
        survey.examined,
        survey.tree_count,
        relaxed.is_cut,
        None if first_root is None else _report(reports, snapshot.tree(first_root)),
    )
    disabled = disabled_trees(answer, survey, combination.trees)
    return answer._replace(disabled=disabled)


def explain_within(
    work: SlicedWork, snapshot: Snapshot, request: CandidateRequest
) -> RequestExplanation:
    """Explain a request with a part of a budget that other work shares."""
    part = work.part(PART_STEPS)
    answer = explain_request(snapshot, request, part)
    work.spent += part.spent
    return answer


def _survey(
    snapshot: Snapshot, request: CandidateRequest, work: SlicedWork, first_root: int | None
) -> Survey:
    """Survey the trees with a part of the budget."""
    resolved = ResolvedRequest.of(snapshot, request)
    part = LOOKING if resolved.groups_decide else LOOKING_TO_SEARCH
    looking = work.part(work.budget // part)
    first = () if first_root is None else (snapshot.tree(first_root),)
    survey = Survey(snapshot, resolved, looking, first)
    work.spent += looking.spent
    survey.work = work
    return survey


def _verdict(reports: TreeReports, beyond: Verdict | None) -> Verdict:
    """Return the verdict; `beyond` is that of a search, None if all trees were examined."""
    survey, combination = reports.survey, reports.combination
    if combination.trees:
        return Verdict.FITS
    if beyond is not None:
        return beyond
    if not combination.is_whole:
        return _verdict_on_all(survey)
    try:
        return Verdict.FULL if reports.any_would_fit() else Verdict.INFEASIBLE
    except BudgetSpent:
        return Verdict.UNKNOWN


def _verdict_on_all(survey: Survey) -> Verdict:
    """Return the verdict of a search, which skips blocks of trees, and examine its finding."""
    for verdict, ignores_usage in ((Verdict.FITS, False), (Verdict.FULL, True)):
        part = survey.work.part(SEARCH_STEPS)
        try:
            candidate = first_candidate(survey.snapshot, survey.request, part, ignores_usage)
        except BudgetSpent:
            return Verdict.UNKNOWN
        finally:
            survey.work.spent += part.spent
        if candidate is not None:
            survey.examine(anchors_of(survey.snapshot, candidate))
            return verdict
    return Verdict.INFEASIBLE


def _report(reports: TreeReports, tree: Tree) -> TreeReport:
    """Return the report on a tree, without details if the budget is spent."""
    try:
        return reports.report(reports.survey.outcome(tree), tree)
    except BudgetSpent:
        return TreeReport(tree.members[0].uuid, Verdict.UNKNOWN, is_disabled=is_disabled(tree))
