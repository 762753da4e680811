# SPDX-License-Identifier: Apache-2.0
"""An explanation in a few short sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from placement.search.insight.condition import Condition, Verdict
from placement.search.insight.explanation import FunnelStep, Relaxation, RequestExplanation
from placement.search.model.kind import DISABLED_TRAIT

# How many relaxations the line tells, those first that help most trees: what one reader cannot
# give up, such as a zone, another can.
MAX_RELAXATIONS = 3

BEGINNINGS = {
    Verdict.FULL: 'Fits nowhere now, but would if nothing were used',
    Verdict.INFEASIBLE: 'Fits nowhere as the cloud is configured, even if nothing were used',
    Verdict.UNKNOWN: 'Unknown whether it fits: the budget was spent',
}


def summary(answer: RequestExplanation, names: Mapping[str, str]) -> str:
    """One line: the verdict, the condition that leaves nothing, the relaxations that help most,
    the disabled hosts if they matter, and what was not found out.

    `names` are those of providers by uuid.
    """
    if not answer.of:
        return 'There are no resource providers.'
    verdict, fitting, disabled = answer.verdict, answer.trees_fitting, answer.disabled.count
    sentences = []
    if verdict is Verdict.FITS:
        fits = f'Fits {_trees(fitting)} of {answer.examined}' if fitting else 'Fits'
        if fitting and disabled:
            fits += f', {disabled} of them {_disabled(answer, names)}'
        sentences.append(fits)
    else:
        cause = None if verdict is Verdict.UNKNOWN else next(_causes(answer), None)
        sentences.append(f'{BEGINNINGS[verdict]}{f": {cause}" if cause else ""}')
    if not fitting:
        sentences += map(_helpful, _merged(answer.relaxations)[:MAX_RELAXATIONS])
        if disabled:
            are = 'is' if disabled == 1 else 'are'
            sentences.append(
                f'{_trees(disabled)} of {answer.examined} {are} {_disabled(answer, names)}'
            )
    if answer.examined < answer.of:
        sentences.append(f'Examined {answer.examined} of {_trees(answer.of)}')
    if answer.is_cut and verdict is not Verdict.UNKNOWN:
        sentences.append('Not everything that could help was tried')
    return ''.join(f'{sentence}. ' for sentence in sentences).rstrip()


def _disabled(answer: RequestExplanation, names: Mapping[str, str]) -> str:
    roots = answer.disabled.roots
    others = answer.disabled.count - len(roots)
    named = ', '.join(names.get(uuid, uuid) for uuid in roots)
    return f'disabled ({DISABLED_TRAIT}): {named}' + (f' and {others} more' if others else '')


def _causes(answer: RequestExplanation) -> Iterator[str]:
    """The conditions that leave no tree, with what left these trees before."""
    left = ''
    for funnel in answer.groups:
        suffix, left = funnel.group.suffix, ''
        for step in funnel.steps:
            if step.trees_before and not step.trees_after:
                before = f'group {suffix}: ' if suffix else ''
                yield f'{before}{_ruling_out(step, left)}'
            if step.trees_after < step.trees_before:
                left = f' left {step.condition.left}'
    # Of several groups the first step here begins with all trees again.
    left = left if len(answer.groups) == 1 else ''
    for step in answer.combination:
        if step.trees_before and not step.trees_after:
            yield _ruling_out(step, left)
        if step.trees_after < step.trees_before:
            left = ' left'


def _ruling_out(step: FunnelStep, left: str) -> str:
    trees = {1: 'the only tree', 2: 'both trees'}.get(
        step.trees_before, f'all {_trees(step.trees_before)}'
    )
    return f'{step.condition.words} rules out {trees}{left}'


def _merged(relaxations: Sequence[Relaxation]) -> Sequence[Relaxation]:
    """The relaxations, those of groups that ask for the same once."""
    merged: dict[object, Relaxation] = {}
    for relaxation in relaxations:
        first, *others = relaxation.conditions
        key = relaxation if others else (first.words, relaxation.trees, relaxation.amounts)
        if key in merged:
            suffix = f'{merged[key].conditions[0].suffix} or {first.suffix}'
            both = dataclasses.replace(first, suffix=suffix)
            merged[key] = dataclasses.replace(relaxation, conditions=(both,))
        else:
            merged[key] = relaxation
    return list(merged.values())


def _helpful(relaxation: Relaxation) -> str:
    amounts = [condition for condition in relaxation.conditions if condition.is_amount]
    others = [condition for condition in relaxation.conditions if not condition.is_amount]
    trees, parts = _trees(relaxation.trees), []
    if others:
        parts.append(f'without {" and ".join(map(_given_up, others))}')
    if amounts:
        parts.append(f'with another amount of {" and ".join(map(_class, amounts))}')
    text = f'{trees} would fit {" and ".join(parts)}'
    if relaxation.amounts:
        largest, fitting = relaxation.amounts[0]
        text += f': {largest} is the largest now, on {_trees(fitting)}'
    return text


def _given_up(condition: Condition) -> str:
    """A condition that is given up; of a class that it is asked for."""
    return f'asking for {_class(condition)}' if condition.is_of_class else condition.full_words


def _class(condition: Condition) -> str:
    """The class that a condition is about, with its group where that has a suffix."""
    (name,) = condition.names
    return f'{name} in group {condition.suffix}' if condition.suffix else name


def _trees(count: int) -> str:
    return '1 tree' if count == 1 else f'{count} trees'
