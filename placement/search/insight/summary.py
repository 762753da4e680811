# SPDX-License-Identifier: Apache-2.0
"""An explanation in a few short sentences."""

from collections.abc import Iterator, Sequence

from placement.search.explanation import Verdict
from placement.search.insight.explain_answer import (
    FunnelStep,
    GroupCondition,
    GroupFunnel,
    Relaxation,
)
from placement.search.insight.survey import Survey

DISABLED = 'COMPUTE_STATUS_DISABLED'

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
    """One line: the verdict, the condition that leaves nothing, the relaxation that helps most,
    how many hosts are disabled, and what the budget did not allow to find out."""
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
        sentences += [_helpful(one) for one in relaxations[:1]]
        disabled = disabled_trees(survey)
        if disabled:
            are = 'is' if disabled == 1 else 'are'
            sentences.append(
                f'{_trees(disabled)} of {survey.examined} {are} disabled ({DISABLED})'
            )
    if survey.examined < survey.of:
        sentences.append(f'Examined {survey.examined} of {_trees(survey.of)}')
    if is_cut and verdict is not Verdict.UNKNOWN:
        sentences.append('The budget was spent before everything that could help was tried')
    return ''.join(f'{sentence}. ' for sentence in sentences).rstrip()


def disabled_trees(survey: Survey) -> int:
    """How many of the examined trees have a disabled host."""
    if not survey.snapshot.has_trait(DISABLED):
        return 0
    survey.work.spent += survey.examined
    return sum(
        any(DISABLED in profile.traits for profile in tree.shape.structure.profiles)
        for outcome in survey.outcomes
        for tree in outcome.trees
    )


def _causes(groups: Sequence[GroupFunnel], combination: Sequence[FunnelStep]) -> Iterator[str]:
    """The conditions that leave no tree."""
    for funnel in groups:
        suffix = funnel.group.suffix
        for step in funnel.steps:
            if step.trees_before and not step.trees_after:
                before = f'group {suffix}: ' if suffix else ''
                yield f'{before}{step.condition.words} leaves none of {_trees(step.trees_before)}'
    for step in combination:
        if step.trees_before and not step.trees_after:
            yield f'{step.condition.words} leaves none of {_trees(step.trees_before)}'


def _helpful(relaxation: Relaxation) -> str:
    amounts = [one for one in relaxation.conditions if one.condition.asked is not None]
    others = [one for one in relaxation.conditions if one not in amounts]
    trees, parts = _trees(relaxation.trees), []
    if others:
        parts.append(f'without {" and ".join(one.words for one in others)}')
    if amounts:
        parts.append(f'with another amount of {" and ".join(_subject(one) for one in amounts)}')
    text = f'{trees} would fit {" and ".join(parts)}'
    if relaxation.largest is not None:
        text += f': {relaxation.largest} is the largest that fits one tree'
    return text


def _subject(amount: GroupCondition) -> str:
    """The class of an amount, with its group where that has a suffix."""
    (name,) = amount.condition.names
    return f'{name} in group {amount.suffix}' if amount.suffix else name


def _trees(count: int) -> str:
    return '1 tree' if count == 1 else f'{count} trees'
