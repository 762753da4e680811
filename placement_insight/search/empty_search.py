# SPDX-License-Identifier: Apache-2.0
"""The reason why a search found no candidates, in one line for the log.

This is an explanation with a small budget: the verdict on all trees, by a search that skips whole
blocks of them, and the condition that leaves none of the examined trees.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from placement.search.candidates import SearchDone, withheld_words
from placement.search.model.capacity import Refusal
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import first_candidate
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import Condition, Reason, Verdict
from placement_insight.search.explanation import TurnedAway
from placement_insight.search.funnel import Combination, funnel_steps
from placement_insight.search.sentences import ENDINGS, cause_words, words_of
from placement_insight.search.sliced_work import SlicedWork, give_way
from placement_insight.search.survey import Survey
from placement_insight.search.telling_trees import anchors_of

# Maximum number of steps to search the cloud without usage, to examine single trees, and to
# combine groups.
UNUSED_STEPS = 200_000
EXAMINED_STEPS = 1_000
COMBINED_STEPS = 20_000


class Explanation(NamedTuple):
    """The reason for no candidates; the `cause` is data, or a sentence that names no groups."""

    verdict: Verdict
    cause: TurnedAway | str
    # In place of the sentence about the verdict.
    ending: str | None = None

    def reason(self, names: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return cause and verdict as a sentence; `names` has other names for suffixes."""
        cause = self.cause if isinstance(self.cause, str) else cause_words(self.cause, names)
        return f'{cause}; {self.ending or ENDINGS[self.verdict]}.'

    @property
    def line(self) -> str:
        """The explanation in one line, with the suffixes of the request."""
        return f'No candidates: {self.reason()}'


def explain_empty(done: SearchDone, pause: Callable[[], None] = give_way) -> Explanation:
    """Explain a search without candidates, within budgets of its own."""
    if not len(done.snapshot):
        return Explanation(Verdict.INFEASIBLE, 'there are no resource providers')
    reasons = [withheld_words(done.withheld)] if done.withheld else []
    if done.result.is_cut:
        reasons.append(f'the search budget was spent after {done.result.work} steps')
        return Explanation(Verdict.UNKNOWN, ', '.join(reasons))
    if reasons:
        return Explanation(Verdict.FULL, reasons[0], 'full now but for promised room')
    resolved = ResolvedRequest.of(done.snapshot, done.request)
    missing = [uuid for uuid, root in resolved.tree_ids.items() if root is None]
    if missing:
        return Explanation(
            Verdict.INFEASIBLE, words_of(Condition(Reason.TREE_UNKNOWN, tuple(missing)))
        )
    verdict, telling = _verdict(done, SlicedWork(UNUSED_STEPS, pause))
    survey = Survey(done.snapshot, resolved, SlicedWork(EXAMINED_STEPS, pause), telling)
    causes = _causes(survey, verdict, SlicedWork(COMBINED_STEPS, pause))
    return Explanation(verdict, next(causes, 'no tree has all that is asked for together'))


def _verdict(done: SearchDone, work: SlicedWork) -> tuple[Verdict, Sequence[Tree]]:
    """Return the verdict on a request without candidates, and the trees that prove it."""
    snapshot = done.snapshot
    try:
        candidate = first_candidate(snapshot, done.request, work, ignores_usage=True)
    except BudgetSpent:
        return Verdict.UNKNOWN, ()
    if candidate is None:
        return Verdict.INFEASIBLE, ()
    return Verdict.FULL, anchors_of(snapshot, candidate)


def _causes(survey: Survey, verdict: Verdict, work: SlicedWork) -> Iterator[TurnedAway]:
    """Yield the conditions that leave no examined tree, first those of single groups.

    `work` is the budget for the conditions of groups together.
    """
    groups = _unlike_groups(survey)
    if verdict is Verdict.INFEASIBLE:
        yield from (cause for n in groups for cause in _causes_of_group(survey, n, is_empty=True))
    yield from (cause for n in groups for cause in _causes_of_group(survey, n, is_empty=False))
    survey.work = work
    yield from _causes_together(survey)


def _unlike_groups(survey: Survey) -> list[int]:
    """Return the numbers of groups, without those that repeat an earlier group's conditions."""
    return [
        number
        for number, requests in enumerate(survey.table.requests_of)
        if not requests or any(survey.table.requests[n].alike == n for n in requests)
    ]


def _causes_of_group(survey: Survey, number: int, is_empty: bool) -> Iterator[TurnedAway]:
    """Yield the condition of a group that leaves no tree, with `is_empty` as if without usage."""
    before = list[tuple[Condition, int]]()
    group = survey.table.groups[number].group
    for step in funnel_steps(survey, number):
        lost = step.trees_before - step.trees_after
        if is_empty and step.condition.reason == Refusal.USED:
            return
        if step.trees_before and not step.trees_after:
            yield TurnedAway(step, survey.examined, survey.tree_count, group, tuple(before))
        elif lost:
            before.append((step.condition, lost))


def _causes_together(survey: Survey) -> Iterator[TurnedAway]:
    """Yield the conditions on all groups together, and on the root, that leave no tree."""
    for step in Combination(survey).steps:
        if step.trees_before and not step.trees_after:
            yield TurnedAway(step, survey.examined, survey.tree_count)
