# SPDX-License-Identifier: Apache-2.0
"""The trees that an explanation names: those that miss least, and those whose host is disabled."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from placement.search.insight.condition import Condition, bits_of
from placement.search.insight.explanation import DisabledTrees, RequestExplanation, TreeReport
from placement.search.insight.survey import Outcome, Survey
from placement.search.insight.tree_reports import TreeReports, missing_part
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.tree import Tree, is_disabled

# How many trees that miss least are listed.
MAX_NEAREST = 5

# How many are asked whether they would fit if nothing were used, where groups alone do not tell.
MAX_CONSIDERED = 20

# How many disabled trees are named.
MAX_DISABLED = 5


def nearest_trees(reports: TreeReports) -> tuple[TreeReport, ...]:
    """The trees that do not fit and miss least: first those that would fit if nothing were used,
    then those that fail the fewest conditions, and of these those that lack the smallest part of
    what is asked for. Raises `BudgetSpent`."""
    survey = reports.survey
    ranked: dict[tuple[bool, int], list[Outcome]] = {}
    for outcome in survey.outcomes:
        is_infeasible = not outcome.fits(survey.table.visible & ~survey.table.free)
        # A tree that fails no condition of a group or on the root fails one on all together.
        ranked.setdefault((is_infeasible, max(outcome.failures, 1)), []).append(outcome)
    chosen: list[tuple[int, Outcome, Tree]] = []
    wanted = MAX_NEAREST if survey.groups_decide else MAX_CONSIDERED
    for (_, failures), outcomes in sorted(ranked.items()):
        for root_id, number in _closest_of(reports, outcomes, wanted - len(chosen)):
            chosen.append((failures, outcomes[number], survey.snapshot.tree(root_id)))
        if len(chosen) == wanted:
            break
    if not survey.groups_decide:
        chosen.sort(key=lambda near: (not reports.would_fit(*near[1:]), near[0]))
    return tuple([reports.report(outcome, tree) for _, outcome, tree in chosen[:MAX_NEAREST]])


def _closest_of(
    reports: TreeReports, outcomes: Sequence[Outcome], wanted: int
) -> list[tuple[int, int]]:
    """So many trees of these outcomes that lack least, by root id and number of the outcome.

    Of trees that lack as much, those come first that fail something else than the trees before
    them: a host that is in another zone tells less when four such hosts are listed already.
    """
    alike: dict[object, list[int]] = {}
    for number, outcome in enumerate(outcomes):
        alike.setdefault((outcome.root, outcome.failed), []).append(number)
    ranked = []
    for numbers in alike.values():
        seen = Counter[float]()
        distances = [_distances(reports, outcomes[number], number) for number in numbers]
        closest = heapq.nsmallest(wanted, itertools.chain.from_iterable(distances))
        for distance, root_id, number in closest:
            ranked.append((distance, seen[distance], root_id, number))
            seen[distance] += 1
    return [(root_id, number) for *_, root_id, number in heapq.nsmallest(wanted, ranked)]


def _distances(
    reports: TreeReports, outcome: Outcome, number: int
) -> Iterator[tuple[float, int, int]]:
    """How much each tree of an outcome lacks that does not fit (one for each condition, of amounts
    the part that nobody has), its root id, and the number of the outcome."""
    survey = reports.survey
    amounts = [
        (amount.resource_class, amount.asked)
        for failed, group in zip(outcome.failed, survey.table.groups, strict=True)
        for amount in group.amounts.values()
        if failed & amount.refused
    ]
    others = float(outcome.failures - len(amounts))
    for state in outcome.states:
        places = len(state.elements)
        for tree in survey.work.each(state.trees):
            if tree.root_id not in reports.fitting:
                survey.work.spent += places
                distance = others
                providers = state.providers_of(tree)
                for name, asked in amounts:
                    distance += min([missing_part(p, name, asked) for p in providers])
                yield distance, tree.root_id, number


def disabled_trees(
    answer: RequestExplanation, survey: Survey, fitting: Sequence[Tree]
) -> DisabledTrees:
    """The disabled trees of those that fit; where none does, of all, if enabling matters.

    Those are named first that can serve each group as soon as they are enabled, then by root id.
    """
    if not survey.snapshot.has_trait(DISABLED_TRAIT):
        return DisabledTrees()
    trees = [(False, tree) for tree in fitting]
    if not fitting and _enabling_matters(answer):
        survey.work.spent += survey.examined
        steps = [step for group in survey.table.groups for step in group.steps]
        barring = (*steps, *survey.table.root_conditions)
        kept = survey.table.visible & ~bits_of(filter(_bars_disabled, barring))
        trees = [
            (not outcome.fits(kept), tree) for outcome in survey.outcomes for tree in outcome.trees
        ]
    disabled = [
        (fails, tree.root_id, tree.members[0].uuid) for fails, tree in trees if is_disabled(tree)
    ]
    roots = [uuid for *_, uuid in heapq.nsmallest(MAX_DISABLED, disabled)]
    return DisabledTrees(len(disabled), tuple(roots))


def _enabling_matters(answer: RequestExplanation) -> bool:
    """Tell if hosts were turned away for being disabled, or would help if they were enabled."""
    given_up = [c for relaxation in answer.relaxations for c in relaxation.conditions]
    steps = [*(step for funnel in answer.groups for step in funnel.steps), *answer.combination]
    failed = [step.condition for step in steps if step.trees_after < step.trees_before]
    return any(map(_bars_disabled, (*given_up, *failed)))


def _bars_disabled(condition: Condition) -> bool:
    parameter = condition.parameter
    return parameter is not None and parameter.is_barred and condition.name == DISABLED_TRAIT
