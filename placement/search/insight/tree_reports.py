# SPDX-License-Identifier: Apache-2.0
"""The report on one tree: its verdict, what it fails, and what is missing in numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import NamedTuple

from placement.search.insight.condition import Condition, Verdict
from placement.search.insight.explanation import Shortfall, SubtreeReport, TreeReport
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.funnel import Combination, capacity_reason
from placement.search.insight.survey import Outcome, Survey
from placement.search.model.capacity import Refusal
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree, is_disabled

# A failed condition, and of an amount how much there is.
Failure = tuple[Condition, Shortfall | None]

# How much a provider lacks that fails a condition which is not about an amount: more than one
# that has nothing left of an amount.
OTHER_FAILURE = 2.0

# What refuses an amount though less might do, or more.
UNIT_RULES = (Refusal.MIN_UNIT, Refusal.STEP_SIZE)


class TreeReports:
    """Reports on single trees of a survey.

    `unused` tells if a tree would fit if nothing were used, None where the conditions on groups
    and root tell that alone. Each method raises `BudgetSpent`.
    """

    def __init__(
        self, survey: Survey, combination: Combination, unused: Feasibility | None
    ) -> None:
        self.survey = survey
        self.combination = combination
        self.unused = unused
        self.fitting = {tree.root_id for tree in combination.trees}

    def report(self, outcome: Outcome, tree: Tree) -> TreeReport:
        """The report on one tree."""
        table = self.survey.table
        failures = list[Failure]()
        for number, (group, mask) in enumerate(zip(table.groups, outcome.failed, strict=True)):
            for step in group.steps:
                if step.bit & mask and step.asked is None:
                    failures.append((self._with_classes(outcome, number, step, mask), None))
                elif step.bit & mask:
                    failures.append(_shortage(self._closest(tree, number, mask, step), step))
        failures += [(step, None) for step in table.root_conditions if outcome.root & step.bit]
        missing = [shortfall for _, shortfall in failures if shortfall]
        subtree: SubtreeReport | None = None
        if not failures and tree.root_id in self.combination.rejected:
            condition = self.combination.rejected[tree.root_id]
            failures.append((condition, None))
            if isinstance(condition.name, frozenset):
                subtree, missing = self._subtree(tree, condition.name)
        failed = tuple([condition for condition, _ in failures])
        root, verdict = tree.members[0], self._verdict(outcome, tree, bool(failed))
        return TreeReport(root.uuid, verdict, failed, tuple(missing), is_disabled(tree), subtree)

    def _verdict(self, outcome: Outcome, tree: Tree, fails: bool) -> Verdict:
        if tree.root_id in self.fitting:
            return Verdict.FITS
        if not fails:
            return Verdict.UNKNOWN
        return Verdict.FULL if self.would_fit(outcome, tree) else Verdict.INFEASIBLE

    def any_would_fit(self) -> bool:
        """Tell if any tree would fit if nothing were used."""
        # Where groups and root alone tell, trees of one outcome do not differ.
        most = 1 if self.unused is None else None
        return any(
            self.would_fit(outcome, tree)
            for outcome in self.survey.outcomes
            for tree in outcome.trees[:most]
        )

    def would_fit(self, outcome: Outcome, tree: Tree) -> bool:
        """Tell if a tree would fit if nothing were used."""
        table = self.survey.table
        if not outcome.fits(table.visible & ~table.free):
            return False
        return self.unused is None or self.unused.fits(tree)

    def _with_classes(
        self, outcome: Outcome, group: int, step: Condition, failed: int
    ) -> Condition:
        """A failed condition with the classes that it leaves without a provider; with none where
        these are all classes of the group."""
        if step.subject is not None:
            return step
        table = self.survey.table
        unserved = set(outcome.unserved(group, step.bit, table.visible & ~failed))
        return dataclasses.replace(step, classes=table.classes_of(group, unserved))

    def _closest(self, tree: Tree, group: int, mask: int, step: Condition) -> Provider:
        """The provider that lacks least of a class among those that fail no more than these."""
        table, name, state = self.survey.table, step.names[0], self.survey.state(tree)
        refused = table.groups[group].amounts[name].refused
        others, asking = table.visible & ~mask, table.asking(group, name)
        serving = [
            provider
            for elements, provider in zip(state.elements, state.providers_of(tree), strict=True)
            if any(
                failed & refused and not failed & others
                for number in asking
                for failed, _ in elements[number]
            )
        ]
        return min(serving, key=lambda provider: missing_part(provider, name, step.asked or 0))

    def _subtree(
        self, tree: Tree, suffixes: Collection[str]
    ) -> tuple[SubtreeReport, list[Shortfall]]:
        """The subtree that comes closest to a `same_subtree`, and what is missing there."""
        top, lacks = closest_subtree(self.survey, tree, suffixes)
        failures = [
            (step, None) if step.asked is None else _shortage(tree.members[lack.member], step)
            for number, lack in lacks.items()
            for step in self.survey.table.groups[number].steps
            if step.bit & lack.mask
        ]
        report = SubtreeReport(tree.members[top].uuid, tuple([failed for failed, _ in failures]))
        return report, [shortfall for _, shortfall in failures if shortfall]


def _shortage(provider: Provider, step: Condition) -> Failure:
    """An amount that a provider does not have, with what it has of it."""
    name, asked = step.names[0], step.asked or 0
    capacity, used = provider.inventory(name)
    reason = capacity_reason(capacity, asked, used)
    assert reason is not None
    largest, most_free = capacity.largest, capacity.room(used)
    failed = dataclasses.replace(step, reason=reason, largest=largest, most_free=most_free)
    return failed, Shortfall(provider, failed)


def missing_part(provider: Provider, resource_class: str, amount: int) -> float:
    """The part of an amount that a provider lacks; all of it where it has no such inventory, or
    does not give such amounts."""
    position = provider.kind.profile.position.get(resource_class)
    if position is None:
        return 1.0
    capacity = provider.kind.capacities[position]
    room = capacity.room(provider.used[position])
    if room <= 0 or (not capacity.takes_any and capacity.unit_refusal(amount) in UNIT_RULES):
        return 1.0
    return (amount - room) / amount if room < amount else 0.0


class Lack(NamedTuple):
    """The shortage of a member for a group, and the conditions it fails."""

    distance: float
    member: int
    mask: int


def closest_subtree(
    survey: Survey, tree: Tree, suffixes: Collection[str]
) -> tuple[int, dict[int, Lack]]:
    """The subtree that lacks least for the groups of a `same_subtree`: the member at its top, and
    by group who would serve it there. The top has to serve one of them itself."""
    is_within, members = tree.shape.structure.ancestry.is_within, range(len(tree.members))
    lacks = {
        group: [_lack(survey, tree, member, number, group) for member in members]
        for number, group in enumerate(survey.table.group_of)
        if survey.table.groups[group].group.suffix in suffixes
    }
    # How much is lacking in all, how much of it the top lacks, the top, and who serves each group.
    ways: list[tuple[float, float, int, dict[int, Lack]]] = []
    for top in members:
        survey.work.spend(len(members))
        beneath = [member for member in members if is_within(member, top)]
        least = {group: min(lacks[group][member] for member in beneath) for group in lacks}
        for group, of_group in lacks.items():
            serving = least | {group: of_group[top]}
            distance = sum(lack.distance for lack in serving.values())
            ways.append((distance, of_group[top].distance, top, serving))
    *_, top, serving = min(ways, key=lambda way: way[:3])
    return top, serving


def _lack(survey: Survey, tree: Tree, member: int, request: int, group: int) -> Lack:
    provider, lacks = tree.members[member], []
    for mask, _ in survey.state(tree).elements[member][request]:
        failed = mask & survey.table.visible
        distance = OTHER_FAILURE * failed.bit_count()
        for amount in survey.table.groups[group].amounts.values():
            if failed & amount.refused:
                part = missing_part(provider, amount.resource_class, amount.asked)
                distance += part - OTHER_FAILURE
        lacks.append(Lack(distance, member, failed))
    return min(lacks)
