# SPDX-License-Identifier: Apache-2.0
"""The full explanation of a request as data: the trees of a cloud that each condition leaves.

Every number is exact for the trees that were examined; `RequestExplanation.examined` beside `of`
tells whether these are all.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from placement.search.insight.condition import Condition, Verdict
from placement.search.model.capacity import Capacity
from placement.search.model.provider import Provider
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


class Shortfall(NamedTuple):
    """A provider that lacks an amount for a group, and the condition that it fails by that."""

    provider: Provider
    condition: Condition

    @property
    def inventory(self) -> tuple[Capacity, int]:
        """The capacity of the class, and what is used of it."""
        return self.provider.inventory(self.condition.names[0])

    @property
    def free(self) -> int:
        """The capacity without what is used, below zero where more is used than there is."""
        capacity, used = self.inventory
        return capacity.ceiling - used


@dataclasses.dataclass(frozen=True, slots=True)
class SubtreeReport:
    """The provider `top` below which least is missing for a `same_subtree`, and which conditions
    the groups fail there; none where each could be served, but not all together."""

    top: str
    failed: tuple[Condition, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TreeReport:
    """The verdict on one tree, and what it misses.

    `verdict` is `fits`, `full` (it would if nothing were used) or `infeasible`. `failed` are the
    conditions that stand in the way on the provider of the tree that comes closest, group by
    group, or those on the combination; `missing` tells of amounts how much there is. A tree that
    `is_disabled` has a host to which nova sends no server. `subtree` is there where a
    `same_subtree` is what stands in the way.
    """

    root: str
    verdict: Verdict
    failed: tuple[Condition, ...] = ()
    missing: tuple[Shortfall, ...] = ()
    is_disabled: bool = False
    subtree: SubtreeReport | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class DisabledTrees:
    """How many trees have a disabled host, and the uuids of the roots of up to five of them."""

    count: int = 0
    roots: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Relaxation:
    """A condition that could be given up, or two of them, and how many trees would fit then.

    A condition on an amount is given up by asking for another amount of the class, whichever fits;
    `amounts` are, where one amount alone is given up, the largest that fits a tree, one that fits
    about half of the trees, and one that fits most, each with how many trees it fits now. A
    condition that a class is there at all is given up by not asking for the class.
    """

    conditions: tuple[Condition, ...]
    trees: int
    amounts: tuple[tuple[int, int], ...] = ()

    @property
    def largest(self) -> int | None:
        """The largest amount that fits a tree, None where it is not about one amount."""
        return self.amounts[0][0] if self.amounts else None


@dataclasses.dataclass(frozen=True, slots=True)
class RequestExplanation:
    """The reasons why a request fits, or does not, and what would help.

    `trees_fitting` is how many trees can serve it now. `relaxations` name single conditions
    without which more trees would fit, those first that help most, fifty at the most; where
    nothing fits and no single one decides, pairs of them, of which `pairs_examined` out of
    `pairs_of` were tried (0 of 0 where there was no need). `nearest` are up to five trees that
    miss least. `is_cut` says that not everything was tried that could help. `provider` is the
    report on the tree that was asked about. Numbers are of `examined` trees out of `of`.
    `disabled` are those of the fitting trees that have a disabled host; where nothing fits, all
    such trees, if that turned some away or enabling them would help.
    """

    verdict: Verdict
    trees_fitting: int
    groups: tuple[GroupFunnel, ...]
    combination: tuple[FunnelStep, ...]
    nearest: tuple[TreeReport, ...]
    relaxations: tuple[Relaxation, ...]
    pairs_examined: int
    pairs_of: int
    examined: int
    of: int
    is_cut: bool = False
    provider: TreeReport | None = None
    disabled: DisabledTrees = DisabledTrees()
