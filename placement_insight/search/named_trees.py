# SPDX-License-Identifier: Apache-2.0
"""The trees that an explanation names: the nearest misses, and trees with a disabled host."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.tree import Tree, is_disabled
from placement_insight.search.condition import Condition, bits_of
from placement_insight.search.explanation import DisabledTrees, RequestExplanation, TreeReport
from placement_insight.search.survey import Outcome, Survey
from placement_insight.search.tree_reports import TreeReports, missing_part

# Maximum number of nearest misses.
MAX_NEAREST = 5

# Maximum number of trees that are searched without usage to rank them.
MAX_CONSIDERED = 20

# Maximum number of disabled trees with a name.
MAX_DISABLED = 5


def nearest_trees(reports: TreeReports) -> tuple[TreeReport, ...]:
    """Return the trees that miss least.

    Trees that would fit without usage come first, then those that fail the fewest conditions, and
    among these those that lack the smallest part of the amounts.

    :raises BudgetSpent: the budget is spent
    """
    survey = reports.survey
    ranked: dict[tuple[bool, int], list[Outcome]] = {}
    for outcome in survey.outcomes:
        is_infeasible = not outcome.fits(survey.table.visible & ~survey.table.free)
        # A tree without a failure of a group or the root fails a condition on all groups together.
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
    """Return the root ids of the `wanted` trees that lack least, each with its outcome's number.

    Among equals, trees that fail other conditions than the trees before them come first: a fifth
    host in another zone is less informative.
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
    """Yield the lack of each tree of an outcome that does not fit, its root id, and the number.

    A failed condition adds 1 to the lack, or for an amount the part that no provider has.
    """
    survey = reports.survey
    amounts = [
        (amount.resource_class, amount.asked)
        for failed, group in zip(outcome.failed, survey.table.groups, strict=True)
        for amount in group.amounts.values()
        if failed & amount.refused
    ]
    others = float(outcome.failures - len(amounts))
    for state in outcome.states:
        steps = len(state.elements)
        for tree in survey.work.each(state.trees):
            if tree.root_id not in reports.fitting:
                survey.work.spent += steps
                distance = others
                providers = state.providers_of(tree)
                for name, asked in amounts:
                    distance += min([missing_part(p, name, asked) for p in providers])
                yield distance, tree.root_id, number


def disabled_trees(
    answer: RequestExplanation, survey: Survey, fitting: Sequence[Tree]
) -> DisabledTrees:
    """Return the disabled trees among those that fit, or among all if none fits.

    In the second case only if enabling them could help. Trees that could serve each group once
    enabled come first, then by root id.
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
    """True if disabled hosts were turned away, or would help if enabled."""
    given_up = [c for relaxation in answer.relaxations for c in relaxation.conditions]
    steps = [*(step for funnel in answer.groups for step in funnel.steps), *answer.combination]
    failed = [step.condition for step in steps if step.trees_after < step.trees_before]
    return any(map(_bars_disabled, (*given_up, *failed)))


def _bars_disabled(condition: Condition) -> bool:
    parameter = condition.parameter
    return parameter is not None and parameter.is_barred and condition.name == DISABLED_TRAIT
