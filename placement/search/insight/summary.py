# SPDX-License-Identifier: Apache-2.0
"""An explanation in a few short sentences."""

from collections.abc import Iterator, Sequence

from placement.search.explanation import Condition, Verdict
from placement.search.insight.explain_answer import (
    FunnelStep,
    GroupCondition,
    GroupFunnel,
    Relaxation,
)
from placement.search.insight.survey import Survey
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.solver.tally import Reason

# How many relaxations the line tells, those first that help most trees: what one reader cannot
# give up, such as a zone, another can.
MAX_RELAXATIONS = 3

BEGINNINGS = {
    Verdict.FULL: 'Fits nowhere now, but would if nothing were used',
    Verdict.INFEASIBLE: 'Fits nowhere as the cloud is configured, even if nothing were used',
    Verdict.UNKNOWN: 'Unknown whether it fits: the budget was spent',
}


def summary(
    survey: Survey,
    verdict: Verdict,
    fitting: int,
    groups: Sequence[GroupFunnel],
    combination: Sequence[FunnelStep],
    relaxations: Sequence[Relaxation],
    is_cut: bool,
) -> str:
    """One line: the verdict, the condition that leaves nothing, the relaxations that help most,
    how many hosts are disabled if that matters, and what was not found out."""
    if not survey.of:
        return 'There are no resource providers.'
    sentences = []
    if verdict is Verdict.FITS:
        sentences.append(f'Fits {_trees(fitting)} of {survey.examined}' if fitting else 'Fits')
    elif verdict is Verdict.UNKNOWN:
        sentences.append(BEGINNINGS[verdict])
    else:
        cause = next(_causes(groups, combination), None)
        sentences.append(f'{BEGINNINGS[verdict]}{f": {cause}" if cause else ""}')
    if not fitting:
        sentences += [_helpful(one) for one in relaxations[:MAX_RELAXATIONS]]
        steps = [*(step for funnel in groups for step in funnel.steps), *combination]
        disabled = disabled_trees(survey) if _enabling_matters(steps, relaxations) else 0
        if disabled:
            are = 'is' if disabled == 1 else 'are'
            sentences.append(
                f'{_trees(disabled)} of {survey.examined} {are} disabled ({DISABLED_TRAIT})'
            )
    if survey.examined < survey.of:
        sentences.append(f'Examined {survey.examined} of {_trees(survey.of)}')
    if is_cut and verdict is not Verdict.UNKNOWN:
        sentences.append('Not everything that could help was tried')
    return ''.join(f'{sentence}. ' for sentence in sentences).rstrip()


def _enabling_matters(steps: Sequence[FunnelStep], relaxations: Sequence[Relaxation]) -> bool:
    """Whether hosts were turned away for being disabled, or would help if they were enabled."""
    given_up = (one.condition for relaxation in relaxations for one in relaxation.conditions)
    return any(map(_bars_disabled, given_up)) or any(
        step.trees_after < step.trees_before and _bars_disabled(step.condition) for step in steps
    )


def _bars_disabled(condition: Condition) -> bool:
    if condition.reason is Reason.FORBIDDEN_TRAIT:
        return condition.names == (DISABLED_TRAIT,)
    return condition.reason is Reason.ROOT and condition.names == (f'!{DISABLED_TRAIT}',)


def disabled_trees(survey: Survey) -> int:
    """How many of the examined trees have a disabled host."""
    if not survey.snapshot.has_trait(DISABLED_TRAIT):
        return 0
    survey.work.spent += survey.examined
    return sum(
        any(DISABLED_TRAIT in profile.traits for profile in tree.shape.structure.profiles)
        for outcome in survey.outcomes
        for tree in outcome.trees
    )


def _causes(groups: Sequence[GroupFunnel], combination: Sequence[FunnelStep]) -> Iterator[str]:
    """The conditions that leave no tree, with what left these trees before."""
    left = ''
    for funnel in groups:
        suffix, left = funnel.group.suffix, ''
        for step in funnel.steps:
            if step.trees_before and not step.trees_after:
                before = f'group {suffix}: ' if suffix else ''
                yield f'{before}{_ruling_out(step, left)}'
            if step.trees_after < step.trees_before:
                left = f' left {_with(step.condition)}'
    # Of several groups the first step here begins with all trees again.
    left = left if len(groups) == 1 else ''
    for step in combination:
        if step.trees_before and not step.trees_after:
            yield _ruling_out(step, left)
        if step.trees_after < step.trees_before:
            left = ' left'


def _ruling_out(step: FunnelStep, left: str) -> str:
    trees = {1: 'the only tree', 2: 'both trees'}.get(
        step.trees_before, f'all {_trees(step.trees_before)}'
    )
    return f'{step.condition.words} rules out {trees}{left}'


def _with(condition: Condition) -> str:
    """What the trees have in common that a condition left."""
    name = ', '.join(condition.names)
    match condition.reason:
        case Reason.REQUIRED_TRAIT:
            return f'with trait {name}'
        case Reason.FORBIDDEN_TRAIT:
            return f'without trait {name}'
        case Reason.AGGREGATE if name.startswith('!'):
            return f'outside of aggregate {name.removeprefix("!")}'
        case Reason.AGGREGATE:
            return f'in aggregate {name}'
        case Reason.TREE:
            return f'in the tree of {name}'
        case _:
            return f'with {name}' if condition.asked is None else f'with enough {name}'


def _helpful(relaxation: Relaxation) -> str:
    amounts = [one for one in relaxation.conditions if one.condition.asked is not None]
    others = [one for one in relaxation.conditions if one not in amounts]
    trees, parts = _trees(relaxation.trees), []
    if others:
        parts.append(f'without {" and ".join(_given_up(one) for one in others)}')
    if amounts:
        parts.append(f'with another amount of {" and ".join(_subject(one) for one in amounts)}')
    text = f'{trees} would fit {" and ".join(parts)}'
    if relaxation.largest is not None:
        text += f': {relaxation.largest} is the largest that fits one tree'
    return text


def _given_up(one: GroupCondition) -> str:
    """A condition that is given up; of a class that it is asked for."""
    if one.condition.reason is Reason.CLASS_MISSING:
        return f'asking for {_subject(one)}'
    return one.words


def _subject(one: GroupCondition) -> str:
    """The class that a condition is about, with its group where that has a suffix."""
    (name,) = one.condition.names
    return f'{name} in group {one.suffix}' if one.suffix else name


def _trees(count: int) -> str:
    return '1 tree' if count == 1 else f'{count} trees'
