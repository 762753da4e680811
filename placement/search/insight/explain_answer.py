# SPDX-License-Identifier: Apache-2.0
"""The full explanation of a request as data: what each condition leaves of the trees of a cloud.

Providers are told by uuid, traits, classes and aggregates as they are spelled in the request.
Every number is exact for the trees that were examined; `RequestExplanation.examined` beside `of`
tells whether these are all.
"""

import dataclasses
from collections.abc import Mapping

from placement.search.explanation import Condition, Verdict
from placement.search.model.request import RequestGroup


@dataclasses.dataclass(frozen=True, slots=True)
class FunnelStep:
    """One condition, with what was left before it and after it.

    Trees count that pass this condition and all before it; `providers_before` and
    `providers_after` count providers in the same way, each as a member of its own tree, and are
    None of conditions that are not about one provider. `only` are the trees that are rejected by
    this condition and no other: of a group's conditions no other of the group, of those on the
    combination no other of the request; None where the condition cannot be given up.
    """

    condition: Condition
    trees_before: int
    trees_after: int
    only: int | None
    providers_before: int | None = None
    providers_after: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFunnel:
    """A request group as it was understood, and its conditions in the order of testing.

    A tree passes when one of its members does, or a sharing provider that it reaches; of the
    unsuffixed group, when each class is served by such a one.
    """

    group: RequestGroup
    steps: tuple[FunnelStep, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class GroupCondition:
    """A condition and the suffix of its group, None where it is about the whole request."""

    suffix: str | None
    condition: Condition

    @property
    def words(self) -> str:
        """The condition in words, with its group where that has a suffix."""
        if not self.suffix:
            return self.condition.words
        return f'group {self.suffix}: {self.condition.words}'


@dataclasses.dataclass(frozen=True, slots=True)
class Shortfall:
    """What one provider lacks of one class for one group.

    `free` is the capacity without what is used, below zero where more is used than there is.
    `reason` is the word of the rule that is broken: used, too small, reserved, min_unit, max_unit,
    step_size.
    """

    provider: str
    suffix: str
    resource_class: str
    asked: int
    free: int
    capacity: int
    used: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class TreeReport:
    """Whether one tree can serve the request, and what it misses.

    `verdict` is `fits`, `full` (it would if nothing were used) or `infeasible`. `failed` are the
    conditions that stand in the way on the provider of the tree that comes closest, group by
    group, or those on the combination; `missing` tells of amounts how much there is.
    """

    root: str
    verdict: Verdict
    failed: tuple[GroupCondition, ...] = ()
    missing: tuple[Shortfall, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Relaxation:
    """What could be given up, one condition or two, and how many trees would fit then.

    A condition on an amount is given up by asking for another amount of the class, whichever fits;
    `largest` is the largest amount that fits one tree, where one amount alone is given up. A
    condition that a class is there at all is given up by not asking for the class.
    """

    conditions: tuple[GroupCondition, ...]
    trees: int
    largest: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class RequestExplanation:
    """Why a request fits, or does not, and what would help.

    `trees_fitting` is how many trees can serve it now. `relaxations` name single conditions
    without which more trees would fit, those first that help most, fifty at the most; where
    nothing fits and no single one decides, pairs of them, of which `pairs_examined` out of
    `pairs_of` were tried (0 of 0 where there was no need). `nearest` are up to five trees that
    miss least. `provider` is the report on the tree that was asked about. Numbers are of
    `examined` trees out of `of`. `work` counts places looked at.
    """

    verdict: Verdict
    summary: str
    trees_fitting: int
    groups: tuple[GroupFunnel, ...]
    combination: tuple[FunnelStep, ...]
    nearest: tuple[TreeReport, ...]
    relaxations: tuple[Relaxation, ...]
    pairs_examined: int
    pairs_of: int
    examined: int
    of: int
    provider: TreeReport | None = None
    work: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether every tree was examined."""
        return self.examined == self.of

    @property
    def amounts(self) -> Mapping[str, int]:
        """All that is asked for, by class."""
        totals: dict[str, int] = {}
        for one in self.groups:
            for name, amount in one.group.resources.items():
                totals[name] = totals.get(name, 0) + amount
        return totals
