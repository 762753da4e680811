# SPDX-License-Identifier: Apache-2.0
"""The trees that do not fit and miss least."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence

from placement.search.insight.explanation import TreeReport
from placement.search.insight.survey import Outcome, Survey
from placement.search.insight.tree_reports import TreeReports, missing_part
from placement.search.model.tree import Tree

# How many trees that miss least are told.
MAX_NEAREST = 5

# How many are asked whether they would fit if nothing were used, where groups alone do not tell.
MAX_CONSIDERED = 20

# How many trees are remembered at a time while the nearest are looked for.
MAX_KEPT = 64

# How much a tree lacks, its root id, and the number of its outcome.
Close = tuple[float, int, int]


def nearest_trees(reports: TreeReports) -> tuple[TreeReport, ...]:
    """The trees that do not fit and miss least: first those that would fit if nothing were used,
    then those that fail the fewest conditions, and of these those that lack the smallest part of
    what is asked for. Raises `BudgetSpent`."""
    survey = reports.survey
    ranked: dict[tuple[bool, int], list[Outcome]] = {}
    for outcome in survey.outcomes:
        is_infeasible = not outcome.fits(survey.table.visible & ~survey.table.free)
        # A tree that fails no condition of a group or on the root fails one on all together.
        failures = sum(mask.bit_count() for mask in _failed(survey, outcome))
        ranked.setdefault((is_infeasible, max(failures, 1)), []).append(outcome)
    chosen: list[tuple[int, Outcome, Tree]] = []
    wanted = MAX_NEAREST if reports.unused is None else MAX_CONSIDERED
    for (_, failures), outcomes in sorted(ranked.items()):
        for root_id, number in _closest_of(reports, outcomes, wanted - len(chosen)):
            chosen.append((failures, outcomes[number], survey.snapshot.tree(root_id)))
        if len(chosen) == wanted:
            break
    if reports.unused is not None:
        chosen.sort(key=lambda one: (not reports.would_fit(*one[1:]), one[0]))
    return tuple([reports.report(outcome, tree) for _, outcome, tree in chosen[:MAX_NEAREST]])


def _failed(survey: Survey, outcome: Outcome) -> tuple[int, ...]:
    """The conditions that the trees of an outcome fail: on the root, and by group."""
    groups = range(len(survey.table.groups))
    return (outcome.root, *[outcome.failed(number) for number in groups])


def _closest_of(
    reports: TreeReports, outcomes: Sequence[Outcome], wanted: int
) -> list[tuple[int, int]]:
    """So many trees of these outcomes that lack least, by root id and number of the outcome.

    Of trees that lack as much, those come first that fail something else than the trees before
    them: a host that is in another zone tells less when four such hosts are told already.
    """
    by_failure: dict[object, list[Close]] = {}
    for number, outcome in enumerate(outcomes):
        alike = by_failure.setdefault(_failed(reports.survey, outcome), [])
        _add_closest(reports, alike, number, outcome, wanted)
    ranked = []
    for alike in by_failure.values():
        seen = Counter[float]()
        for distance, root_id, number in heapq.nsmallest(wanted, alike):
            ranked.append((distance, seen[distance], root_id, number))
            seen[distance] += 1
    return [(root_id, number) for *_, root_id, number in heapq.nsmallest(wanted, ranked)]


def _add_closest(
    reports: TreeReports, alike: list[Close], number: int, outcome: Outcome, wanted: int
) -> None:
    """Add the trees of one outcome that may be among the closest of those that fail the same."""
    survey, limit = reports.survey, math.inf
    amounts = [
        (amount.resource_class, amount.asked)
        for group, of_group in enumerate(survey.table.groups)
        for amount in of_group.amounts.values()
        if outcome.failed(group) & amount.refused
    ]
    others = sum(mask.bit_count() for mask in _failed(survey, outcome)) - len(amounts)
    for state in outcome.states:
        for tree in survey.work.each(state.trees):
            if tree.root_id in reports.fitting:
                continue
            slots = (*tree.members, *state.arrangement.sharing)
            survey.work.spent += len(slots)
            # One for each condition, of amounts the part that nobody has.
            distance = float(others)
            for name, asked in amounts:
                distance += min([missing_part(one, name, asked) for one in slots])
            if distance < limit:
                alike.append((distance, tree.root_id, number))
                if len(alike) > MAX_KEPT:
                    alike[:] = heapq.nsmallest(wanted, alike)
                    limit = alike[-1][0]
