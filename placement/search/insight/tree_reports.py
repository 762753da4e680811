# SPDX-License-Identifier: Apache-2.0
"""What one tree misses, and which trees miss least."""

import dataclasses
import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence

from placement.search.explanation import Condition, Verdict
from placement.search.insight.combination import Combination
from placement.search.insight.conditions import AmountBits, Numbered
from placement.search.insight.explain_answer import GroupCondition, Shortfall, TreeReport
from placement.search.insight.feasibility import Feasibility
from placement.search.insight.group_funnel import capacity_reason
from placement.search.insight.missing import Missing, missing_part
from placement.search.insight.subtree_report import lacking_in_subtree
from placement.search.insight.survey import Survey
from placement.search.insight.tree_masks import Outcome
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree
from placement.search.solver.tally import Reason

# How many trees that miss least are told.
MAX_NEAREST = 5

# How many trees are remembered at a time while the nearest are looked for.
MAX_KEPT = 64


class TreeReports:
    """Reports on single trees of a survey.

    `unused` tells whether a tree would fit if nothing were used, None where the conditions on
    groups and root tell that alone.
    """

    def __init__(
        self, survey: Survey, combination: Combination, unused: Feasibility | None
    ) -> None:
        self.survey = survey
        self.combination = combination
        self._unused = unused
        self._fitting = {tree.root_id for tree in combination.trees}

    def nearest(self) -> tuple[TreeReport, ...]:
        """The trees that do not fit and miss least: those that fail the fewest conditions, and of
        these those that lack the smallest part of what is asked for."""
        if not self.combination.is_whole:
            return ()
        by_failures: dict[int, list[Outcome]] = {}
        for outcome in self.survey.outcomes:
            # A tree that fails no condition of a group or on the root fails one on all together.
            by_failures.setdefault(max(self._failures(outcome), 1), []).append(outcome)
        chosen: list[tuple[Outcome, Tree]] = []
        for failures in sorted(by_failures):
            outcomes = by_failures[failures]
            for *_, root_id, number in self._closest_of(outcomes, MAX_NEAREST - len(chosen)):
                chosen.append((outcomes[number], self.survey.snapshot.tree(root_id)))
            if len(chosen) == MAX_NEAREST:
                break
        return tuple([self.report(outcome, tree) for outcome, tree in chosen])

    def _closest_of(
        self, outcomes: Sequence[Outcome], wanted: int
    ) -> list[tuple[float, int, int, int]]:
        """So many trees of these outcomes that lack least: how much, the rank among those that
        fail the same and lack as much, the root id, and the number of the outcome.

        Of trees that lack as much, those come first that fail something else than the trees before
        them: a host that is in another zone tells less when four such hosts are told already.
        """
        found: dict[object, list[tuple[float, int, int]]] = {}
        for number, outcome in enumerate(outcomes):
            alike = found.setdefault(self._failed(outcome), [])
            self._add_closest(alike, number, outcome, wanted)
        ranked = []
        for alike in found.values():
            seen = Counter[float]()
            for distance, root_id, number in heapq.nsmallest(wanted, alike):
                ranked.append((distance, seen[distance], root_id, number))
                seen[distance] += 1
        return heapq.nsmallest(wanted, ranked)

    def _add_closest(
        self, alike: list[tuple[float, int, int]], number: int, outcome: Outcome, wanted: int
    ) -> None:
        """Add the trees of one outcome that may be among the closest of those that fail the same:
        how much a tree lacks, the root id, and the number of the outcome."""
        missing, limit, fitting = Missing(self.survey, outcome), math.inf, self._fitting
        for tree in self.survey.work.each(outcome.trees):
            if tree.root_id in fitting:
                continue
            distance = missing.distance(tree)
            if distance < limit:
                alike.append((distance, tree.root_id, number))
                if len(alike) > MAX_KEPT:
                    alike[:] = heapq.nsmallest(wanted, alike)
                    limit = alike[-1][0]

    def report(self, outcome: Outcome, tree: Tree) -> TreeReport:
        """Whether one tree fits, and what it misses.  Raises `BudgetSpent`."""
        failed, missing = list[GroupCondition](), list[Shortfall]()
        for number in range(len(self.survey.table.groups)):
            self._add_group(outcome, tree, number, failed, missing)
        for one in self.survey.table.root_conditions:
            if outcome.root & one.bit:
                failed.append(GroupCondition(None, one.condition()))
        if not failed and tree.root_id in self.combination.rejected:
            condition = self.combination.rejected[tree.root_id]
            failed.append(GroupCondition(None, condition))
            if condition.reason is Reason.SUBTREE:
                missing += self._missing_in_subtree(tree, condition)
        if tree.root_id in self._fitting:
            verdict = Verdict.FITS
        elif not failed:
            verdict = Verdict.UNKNOWN
        else:
            verdict = Verdict.FULL if self.would_fit(outcome, tree) else Verdict.INFEASIBLE
        return TreeReport(tree.members[0].uuid, verdict, tuple(failed), tuple(missing))

    def any_would_fit(self) -> bool:
        """Whether any tree would fit if nothing were used.  Raises `BudgetSpent`."""
        # Where groups and root alone tell, trees of one outcome do not differ.
        most = 1 if self._unused is None else None
        return any(
            self.would_fit(outcome, tree)
            for outcome in self.survey.outcomes
            for tree in outcome.trees[:most]
        )

    def would_fit(self, outcome: Outcome, tree: Tree) -> bool:
        """Whether a tree would fit if nothing were used.  Raises `BudgetSpent`."""
        table = self.survey.table
        if not outcome.fits(table.visible & ~table.free):
            return False
        return self._unused is None or self._unused.fits(tree)

    def _failures(self, outcome: Outcome) -> int:
        return sum(mask.bit_count() for mask in self._failed(outcome))

    def _failed(self, outcome: Outcome) -> tuple[int, ...]:
        """The conditions that the trees of an outcome fail: on the root, and by group."""
        groups = range(len(self.survey.table.groups))
        return (outcome.root, *[outcome.failed(number) for number in groups])

    def _add_group(
        self,
        outcome: Outcome,
        tree: Tree,
        number: int,
        failed: list[GroupCondition],
        missing: list[Shortfall],
    ) -> None:
        group, mask = self.survey.table.groups[number], outcome.failed(number)
        suffix = group.group.suffix
        for step in group.steps:
            if not step.bit & mask:
                continue
            if step.asked is None:
                classes = self._classes_left_out(outcome, number, step, mask)
                condition = dataclasses.replace(step.condition(), classes=classes)
                failed.append(GroupCondition(suffix, condition))
                continue
            bits = group.amounts[step.words]
            provider = self._closest(tree, number, mask, bits)
            position = provider.kind.profile.position[bits.resource_class]
            capacity, used = provider.kind.capacities[position], provider.used[position]
            shortfall = _shortfall(provider, suffix, bits)
            missing.append(shortfall)
            condition = Condition(
                Reason(shortfall.reason),
                (bits.resource_class,),
                bits.amount,
                capacity.largest,
                capacity.room(used),
            )
            failed.append(GroupCondition(suffix, condition))

    def _missing_in_subtree(self, tree: Tree, condition: Condition) -> Iterator[Shortfall]:
        """What the groups of a `same_subtree` lack in the subtree that comes closest."""
        groups = self.survey.table.groups
        suffixes = condition.names[0].split(',')
        for group, provider, name in lacking_in_subtree(self.survey, tree, suffixes):
            yield _shortfall(provider, groups[group].group.suffix, groups[group].amounts[name])

    def _classes_left_out(
        self, outcome: Outcome, group: int, step: Numbered, failed: int
    ) -> tuple[str, ...]:
        """The classes that a failed condition leaves without a provider; none where these are all
        classes of the group."""
        if step.names_class:
            return ()
        table = self.survey.table
        kept = table.visible & ~failed
        return table.classes_of(group, set(outcome.unserved(group, step.bit, kept)))

    def _closest(self, tree: Tree, group: int, mask: int, bits: AmountBits) -> Provider:
        """Who lacks least of a class among those that fail no more than these conditions."""
        return min(
            self._serving(tree, group, mask, bits),
            key=lambda one: missing_part(one, bits.resource_class, bits.amount),
        )

    def _serving(self, tree: Tree, group: int, mask: int, bits: AmountBits) -> Iterator[Provider]:
        survey, table = self.survey, self.survey.table
        others = table.visible & ~mask
        for slot, provider in enumerate(self.survey.slots(tree)):
            if bits.resource_class not in provider.kind.profile.position:
                continue
            if slot < len(tree.members):
                elements = survey.elements_of_member(tree, slot)
            else:
                elements = survey.elements_of_sharing(tree, provider)
            if any(
                failed & (bits.size | bits.free) and not failed & others
                for request, number in zip(table.requests, table.group_of, strict=True)
                if number == group and bits.resource_class in request.amounts
                for failed, _ in elements[request.number]
            ):
                yield provider


def _shortfall(provider: Provider, suffix: str, bits: AmountBits) -> Shortfall:
    position = provider.kind.profile.position[bits.resource_class]
    capacity, used = provider.kind.capacities[position], provider.used[position]
    reason = capacity_reason(capacity, bits.amount, used)
    assert reason is not None
    return Shortfall(
        provider.uuid,
        suffix,
        bits.resource_class,
        bits.amount,
        capacity.ceiling - used,
        capacity.reported_capacity,
        used,
        capacity.total,
        capacity.reserved,
        capacity.min_unit,
        capacity.max_unit,
        capacity.step_size,
        reason.value,
    )
