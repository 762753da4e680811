# SPDX-License-Identifier: Apache-2.0
"""The reason why a search found nothing, in one line for the log.

It is the explanation with a small budget: the verdict of all trees, by a search that passes over
whole blocks of them, and the condition that leaves none of those that are examined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from placement.search.insight.condition import Condition, Reason, Verdict
from placement.search.insight.feasibility import could_be_found
from placement.search.insight.funnel import Combination, funnel_steps
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.survey import Survey
from placement.search.model.capacity import Refusal
from placement.search.model.request import RequestGroup
from placement.search.solver.search import Search

# How many places are looked at to find a candidate in the cloud as it would be if nothing were
# used, to examine single trees, and to find out what groups lose together.
UNUSED_PLACES = 200_000
EXAMINED_PLACES = 1_000
COMBINED_PLACES = 20_000

ENDINGS = {
    Verdict.FULL: 'full at present (it would fit if nothing were used)',
    Verdict.INFEASIBLE: 'infeasible as the cloud is configured',
    Verdict.UNKNOWN: 'unknown whether it could fit',
}


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """The reason why nothing was found: `cause` is the condition that left nothing, in words."""

    verdict: Verdict
    cause: str

    @property
    def line(self) -> str:
        """The explanation in one line."""
        return f'No candidates: {self.cause}; {ENDINGS[self.verdict]}.'


def explain_empty(search: Search, is_cut: bool) -> Explanation:
    """Explain a search that found nothing; what it has spent of its budget is not spent again."""
    if not len(search.snapshot):
        return Explanation(Verdict.INFEASIBLE, 'there are no resource providers')
    if is_cut:
        spent = f'the search budget was spent after {search.work.spent} steps'
        return Explanation(Verdict.UNKNOWN, spent)
    missing = [uuid for uuid, root in search.resolved.tree_ids.items() if root is None]
    if missing:
        condition = Condition(Reason.TREE_UNKNOWN, tuple(missing))
        return Explanation(Verdict.INFEASIBLE, condition.words)
    fits_unused = could_be_found(
        search.snapshot, search.request, search.work, UNUSED_PLACES, ignores_usage=True
    )
    verdict = {True: Verdict.FULL, False: Verdict.INFEASIBLE, None: Verdict.UNKNOWN}[fits_unused]
    causes = _causes(search, verdict)
    return Explanation(verdict, next(causes, 'no tree has all that is asked for together'))


def _causes(search: Search, verdict: Verdict) -> Iterator[str]:
    """The conditions that leave none of the trees examined, those on single groups first."""
    work = SlicedWork(EXAMINED_PLACES, pause=lambda: None)
    survey = Survey(search.snapshot, search.resolved, work)
    groups = _unlike_groups(survey)
    if verdict is Verdict.INFEASIBLE:
        yield from (cause for n in groups for cause in _causes_of_group(survey, n, is_empty=True))
    yield from (cause for n in groups for cause in _causes_of_group(survey, n, is_empty=False))
    yield from _causes_together(survey)


def _unlike_groups(survey: Survey) -> list[int]:
    """The groups by number, of those that ask for the same only the first."""
    return [
        number
        for number, requests in enumerate(survey.table.requests_of)
        if not requests or any(survey.table.requests[n].alike == n for n in requests)
    ]


def _causes_of_group(survey: Survey, number: int, is_empty: bool) -> Iterator[str]:
    """The condition of a group that leaves no tree; `is_empty` as if nothing were used."""
    before = list[str]()
    for step in funnel_steps(survey, number):
        condition, lost = step.condition, step.trees_before - step.trees_after
        if is_empty and condition.reason == Refusal.USED:
            return
        if step.trees_before and not step.trees_after:
            earlier = f' (before that: {", ".join(before)})' if before else ''
            group = _described(survey.table.groups[number].group)
            yield f'{group}: {_turned_away(condition, lost, survey)}{earlier}'
        elif lost:
            before.append(f'{condition.words} {lost}')


def _turned_away(condition: Condition, left: int, survey: Survey) -> str:
    of = '' if survey.examined == survey.of else f' examined, of {survey.of}'
    return f'{condition.words} turned away the last {left} of {survey.examined} trees{of}'


def _causes_together(survey: Survey) -> Iterator[str]:
    """The conditions on all groups, and on the root, that leave no tree."""
    survey.work = SlicedWork(COMBINED_PLACES, pause=lambda: None)
    for step in Combination(survey).steps:
        if step.trees_before and not step.trees_after:
            yield _turned_away(step.condition, step.trees_before, survey)


def _described(group: RequestGroup) -> str:
    name = f'group {group.suffix!r}' if group.suffix else 'the unsuffixed group'
    amounts = ','.join(f'{name}:{amount}' for name, amount in group.resources.items())
    return f'{name} ({amounts})' if amounts else name
