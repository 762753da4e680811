# SPDX-License-Identifier: Apache-2.0
"""The trees whose host is disabled, where that matters to a request."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from placement.search.insight.condition import Condition, bits_of
from placement.search.insight.explanation import DisabledTrees, RequestExplanation
from placement.search.insight.survey import Survey
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.tree import Tree, is_disabled

# How many disabled trees are named.
MAX_NAMED = 5


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
    roots = [uuid for *_, uuid in heapq.nsmallest(MAX_NAMED, disabled)]
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
