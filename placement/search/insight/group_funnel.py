# SPDX-License-Identifier: Apache-2.0
"""What each condition of a group leaves of the trees that were examined."""

import dataclasses
from collections.abc import Iterator

from placement.search.explanation import Condition
from placement.search.insight.conditions import GroupConditions, Numbered
from placement.search.insight.explain_answer import FunnelStep, GroupFunnel
from placement.search.insight.survey import Survey
from placement.search.model.capacity import Capacity
from placement.search.solver.tally import Reason


def group_funnels(survey: Survey) -> tuple[GroupFunnel, ...]:
    """The funnel of each group, in the order of the request."""
    return tuple(
        [
            GroupFunnel(group.group, tuple(_steps(survey, number, group)))
            for number, group in enumerate(survey.table.groups)
        ]
    )


def _steps(survey: Survey, number: int, group: GroupConditions) -> Iterator[FunnelStep]:
    before, kept = _trees(survey, number, 0), 0
    providers_before = _providers(survey, number, 0)
    for step in group.steps:
        condition = condition_with_amounts(survey, number, step)
        if condition.asked is None:
            classes = _classes_left_out(survey, number, step, kept)
            condition = dataclasses.replace(condition, classes=classes)
        kept |= step.bit
        after = _trees(survey, number, kept)
        providers = _providers(survey, number, kept & ~group.collected)
        is_about_one = providers is not None and not step.bit & group.collected
        yield FunnelStep(
            condition,
            before,
            after,
            _only(survey, number, step.bit),
            providers_before if is_about_one else None,
            providers if is_about_one else None,
        )
        before, providers_before = after, providers


def condition_with_amounts(survey: Survey, group: int, step: Numbered) -> Condition:
    """A condition for people; of an amount with the largest there is, the most that is free, and
    the rule by which the provider with the largest refuses it when it is empty."""
    if step.asked is None:
        return step.condition()
    most = survey.most[group, step.words]
    if most.capacity is None:
        return step.condition()
    if step.reason is Reason.USED:
        return step.condition(most.largest, most.free)
    reason = capacity_reason(most.capacity, step.asked)
    return step._replace(reason=reason or step.reason).condition(most.largest)


def capacity_reason(capacity: Capacity, amount: int, used: int = 0) -> Reason | None:
    """Why an amount is refused by a capacity of which so much is used, None where it is not. Of
    what is larger than all there is, max_unit is not the reason to be told."""
    refusal = capacity.refusal(amount, used)
    if refusal is None:
        return None
    return Reason.TOO_SMALL if amount > capacity.whole else Reason(refusal.value)


def _classes_left_out(survey: Survey, group: int, step: Numbered, kept: int) -> tuple[str, ...]:
    """The classes that nobody serves any more, in each of the trees that meet these conditions and
    not this one; none where these are all classes of the group."""
    if not survey.has_large_trees or step.names_class:
        return ()
    unserved = [
        set(outcome.unserved(group, step.bit, kept))
        for outcome in survey.outcomes
        if outcome.passes(group, kept) and not outcome.passes(group, kept | step.bit)
    ]
    return survey.table.classes_of(group, set.intersection(*unserved) if unserved else set())


def _trees(survey: Survey, group: int, kept: int) -> int:
    return sum(len(one.trees) for one in survey.outcomes if one.passes(group, kept))


def _only(survey: Survey, group: int, bit: int) -> int:
    """The trees that pass without this condition and do not pass with it."""
    every = survey.table.visible
    return sum(
        len(one.trees)
        for one in survey.outcomes
        if one.passes(group, every & ~bit) and not one.passes(group, every)
    )


def _providers(survey: Survey, group: int, kept: int) -> int | None:
    """The providers that pass these conditions for some class of the group, each as a member of
    its own tree; None where every tree is a provider."""
    if not survey.has_large_trees:
        return None
    numbers = [n for n, of_request in enumerate(survey.table.group_of) if of_request == group]
    count = 0
    for key, times in survey.providers.items():
        if any(not mask & kept for number in numbers for mask, _ in key[number]):
            count += times
    return count
