# SPDX-License-Identifier: Apache-2.0
"""The report on one tree: its verdict, failed conditions, and missing amounts."""

from collections.abc import Set
from typing import NamedTuple

from placement.search.model.capacity import Refusal
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree, is_disabled
from placement.search.solver.feasibility import Feasibility
from placement_insight.search.condition import Condition, Verdict
from placement_insight.search.explanation import Shortfall, SubtreeReport, TreeReport
from placement_insight.search.funnel import Combination, capacity_reason
from placement_insight.search.survey import Outcome, Survey

# A failed condition, and for an amount the shortfall.
Failure = tuple[Condition, Shortfall | None]

# The lack of a provider that fails a condition other than an amount: more than 1.0, the lack of
# one without any free amount.
OTHER_FAILURE = 2.0

# Refusals of an amount for its unit, which a smaller or larger amount may avoid.
UNIT_RULES = (Refusal.MIN_UNIT, Refusal.STEP_SIZE)


class TreeReports:
    """Reports on single trees of a survey. Each method raises `BudgetSpent`.

    `unused` is the search without usage, None if the conditions on groups and roots suffice to
    decide.
    """

    def __init__(
        self, survey: Survey, combination: Combination, unused: Feasibility | None
    ) -> None:
        self.survey = survey
        self.combination = combination
        self.unused = unused
        self.fitting = {tree.root_id for tree in combination.trees}

    def report(self, outcome: Outcome, tree: Tree) -> TreeReport:
        """Return the report on one tree."""
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
        """True if any tree would fit without usage."""
        # Without the search, all trees of an outcome are equal.
        most = 1 if self.unused is None else None
        return any(
            self.would_fit(outcome, tree)
            for outcome in self.survey.outcomes
            for tree in outcome.trees[:most]
        )

    def would_fit(self, outcome: Outcome, tree: Tree) -> bool:
        """True if a tree would fit without usage."""
        table = self.survey.table
        if not outcome.fits(table.visible & ~table.free):
            return False
        return self.unused is None or self.unused.fits(tree)

    def _with_classes(
        self, outcome: Outcome, group: int, step: Condition, failed: int
    ) -> Condition:
        """Return a failed condition with the classes that it leaves without a provider.

        Without classes if these are all classes of the group.
        """
        if step.subject is not None:
            return step
        table = self.survey.table
        unserved = set(outcome.unserved(group, step.bit, table.visible & ~failed))
        return step._replace(classes=table.classes_of(group, unserved))

    def _closest(self, tree: Tree, group: int, mask: int, step: Condition) -> Provider:
        """Return the provider that lacks least of a class, among those without other failures."""
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

    def _subtree(self, tree: Tree, suffixes: Set[str]) -> tuple[SubtreeReport, list[Shortfall]]:
        """Return the report on the closest subtree for a `same_subtree`, and its shortfalls."""
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
    """Return a failed condition on an amount, with the numbers of the provider that fails it."""
    name, asked = step.names[0], step.asked or 0
    capacity, used = provider.inventory(name)
    reason = capacity_reason(capacity, asked, used)
    assert reason is not None
    largest, most_free = capacity.largest, capacity.room(used)
    failed = step._replace(reason=reason, largest=largest, most_free=most_free)
    return failed, Shortfall(provider, failed)


def missing_part(provider: Provider, resource_class: str, amount: int) -> float:
    """Return the part of an amount that a provider lacks, from 0 to 1.

    1 if it lacks the class, or refuses the amount for its unit.
    """
    position = provider.kind.profile.position.get(resource_class)
    if position is None:
        return 1.0
    capacity = provider.kind.capacities[position]
    room = capacity.room(provider.used[position])
    if room <= 0 or (not capacity.takes_any and capacity.unit_refusal(amount) in UNIT_RULES):
        return 1.0
    return (amount - room) / amount if room < amount else 0.0


class Lack(NamedTuple):
    """The lack of a member for a group, and the conditions that it fails."""

    distance: float
    member: int
    mask: int


def closest_subtree(survey: Survey, tree: Tree, suffixes: Set[str]) -> tuple[int, dict[int, Lack]]:
    """Return the subtree that lacks least for the groups of a `same_subtree`.

    The result is the member at its top, and for each group the lack of the member that would serve
    it. The top has to serve one of the groups itself.
    """
    is_within, members = tree.shape.structure.ancestry.is_within, range(len(tree.members))
    lacks = {
        group: [_lack(survey, tree, member, number, group) for member in members]
        for number, group in enumerate(survey.table.group_of)
        if survey.table.groups[group].group.suffix in suffixes
    }
    # The lack in total and of the top, the top, and the members that serve each group.
    ways: list[tuple[float, float, int, dict[int, Lack]]] = []
    for top in members:
        survey.work.spend(len(members))
        beneath = [member for member in members if is_within(member, top)]
        closest = {group: min(lacks[group][member] for member in beneath) for group in lacks}
        for group, of_group in lacks.items():
            serving = closest | {group: of_group[top]}
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
