# SPDX-License-Identifier: Apache-2.0
"""The trees that each condition of a group leaves, with the amounts of those that it left."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from placement.search.insight.condition import Condition
from placement.search.insight.explanation import FunnelStep, GroupFunnel
from placement.search.insight.survey import Survey
from placement.search.insight.tree_states import Maximum
from placement.search.model.capacity import Capacity, Refusal


def group_funnels(survey: Survey) -> tuple[GroupFunnel, ...]:
    """The funnel of each group, in the order of the request."""
    return tuple(
        GroupFunnel(group.group, tuple(funnel_steps(survey, number)))
        for number, group in enumerate(survey.table.groups)
    )


def funnel_steps(survey: Survey, number: int) -> Iterator[FunnelStep]:
    """The conditions of a group, one after the other."""
    group = survey.table.groups[number]
    before, kept = survey.trees_passing(number, 0), 0
    providers_before = _providers(survey, number, 0)
    for step in group.steps:
        condition = step
        if step.asked is not None:
            condition = with_amounts(step, most_of(survey, number, step.names[0], kept))
        classes = _classes_left_out(survey, number, step, kept)
        kept |= step.bit
        after = survey.trees_passing(number, kept)
        providers = _providers(survey, number, kept & ~group.collected)
        is_about_one = survey.has_large_trees and not step.bit & group.collected
        yield FunnelStep(
            dataclasses.replace(condition, is_met=after == before, classes=classes),
            before,
            after,
            _only(survey, number, step.bit),
            providers_before if is_about_one else None,
            providers if is_about_one else None,
        )
        before, providers_before = after, providers


def with_amounts(step: Condition, most: Maximum | None) -> Condition:
    """A condition on an amount with the largest that there is, the most that is free, and the rule
    by which the provider with the largest refuses it when it is empty."""
    if most is None or step.asked is None:
        return step
    largest = most.capacity.largest
    if step.reason == Refusal.USED:
        return dataclasses.replace(step, largest=largest, most_free=most.free)
    reason = capacity_reason(most.capacity, step.asked) or step.reason
    return dataclasses.replace(step, largest=largest, reason=reason)


def capacity_reason(capacity: Capacity, amount: int, used: int = 0) -> Refusal | None:
    """The reason to refuse an amount by a capacity of which so much is used, None where it fits.

    Of what is larger than all there is, max_unit is not the reason to be told.
    """
    refusal = capacity.refusal(amount, used)
    return Refusal.TOO_SMALL if refusal and amount > capacity.whole else refusal


def most_of(survey: Survey, group: int, name: str, kept: int) -> Maximum | None:
    """The most of a class that providers have which meet these conditions in a tree that does;
    None where there is none."""
    maxima, numbers = list[Maximum](), survey.table.asking(group, name)
    for outcome in survey.outcomes:
        if not outcome.passes(group, kept):
            continue
        for state in outcome.states:
            survey.work.count(1)
            for slot, elements in enumerate(state.elements):
                if any(not mask & kept for number in numbers for mask, _ in elements[number]):
                    maximum = state.maximum(slot, name, survey.work)
                    maxima += [maximum] if maximum else []
    return Maximum.of(maxima)


def _classes_left_out(survey: Survey, group: int, step: Condition, kept: int) -> tuple[str, ...]:
    """The classes that nobody serves any more, in each of the trees that meet these conditions and
    not this one; none where these are all classes of the group."""
    if not survey.has_large_trees or step.subject is not None:
        return ()
    unserved = [
        set(outcome.unserved(group, step.bit, kept))
        for outcome in survey.outcomes
        if outcome.passes(group, kept) and not outcome.passes(group, kept | step.bit)
    ]
    return survey.table.classes_of(group, set.intersection(*unserved) if unserved else set())


def _only(survey: Survey, group: int, bit: int) -> int:
    """The trees that pass without this condition and do not pass with it."""
    every = survey.table.visible
    return survey.trees_passing(group, every & ~bit) - survey.trees_passing(group, every)


def _providers(survey: Survey, group: int, kept: int) -> int:
    """The providers that pass these conditions for some class of the group, each as a member of
    its own tree; not counted where every tree is a provider."""
    if not survey.has_large_trees:
        return 0
    numbers = survey.table.requests_of[group]
    return sum(
        times
        for elements, times in survey.providers.items()
        if any(not mask & kept for number in numbers for mask, _ in elements[number])
    )
