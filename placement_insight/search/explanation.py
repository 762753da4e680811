# SPDX-License-Identifier: Apache-2.0
"""The explanation of a request as data.

Every number is exact for the examined trees: `RequestExplanation.examined` out of `of`.
"""

from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.request import RequestGroup
from placement_insight.search.condition import Condition, Verdict


class FunnelStep(NamedTuple):
    """One condition, with the number of trees left before and after it.

    `only` is the number of trees that fail this condition alone: no other of the group, or for a
    condition on the combination no other of the request. None if it cannot be given up.
    """

    condition: Condition
    trees_before: int
    trees_after: int
    only: int | None


class TurnedAway(NamedTuple):
    """The reason for no candidates: the condition that turned away the last trees.

    `step` has the condition; `examined` of `of` trees were looked at. `group` is the group with
    the condition, None for a condition on all groups or on roots. `before` has the conditions that
    turned away other trees before, with their numbers.
    """

    step: FunnelStep
    examined: int
    of: int
    group: RequestGroup | None = None
    before: tuple[tuple[Condition, int], ...] = ()


class GroupFunnel(NamedTuple):
    """A request group with its conditions in the order of testing.

    A tree passes if one of its members does, or a sharing provider that it reaches; for the
    unsuffixed group, if for each class such a provider does.
    """

    group: RequestGroup
    steps: tuple[FunnelStep, ...]


class Shortfall(NamedTuple):
    """A provider that lacks an amount for a group, and the condition on that amount."""

    provider: Provider
    condition: Condition


class SubtreeReport(NamedTuple):
    """The subtree that misses least for a `same_subtree`, given by its `top`.

    `failed` are the conditions that the groups fail there; empty if each could be served, but not
    all together.
    """

    top: str
    failed: tuple[Condition, ...]


class TreeReport(NamedTuple):
    """The verdict on one tree, and the conditions that it fails.

    `verdict` is `fits`, `full` (it would fit without usage) or `infeasible`. `failed` has the
    conditions that the closest provider of the tree fails, group by group, or those on the
    combination; `missing` has the amounts for those on amounts. Nova sends no server to the host
    of a tree that `is_disabled`. `subtree` is set if the tree fails a `same_subtree`.
    """

    root: str
    verdict: Verdict
    failed: tuple[Condition, ...] = ()
    missing: tuple[Shortfall, ...] = ()
    is_disabled: bool = False
    subtree: SubtreeReport | None = None


class DisabledTrees(NamedTuple):
    """The number of trees with a disabled host, and the root uuids of the first five."""

    trees: int = 0
    roots: tuple[str, ...] = ()


class Relaxation(NamedTuple):
    """One condition to give up, or two, and the number of trees that would fit then.

    A condition on an amount is given up by asking for another amount of the class, and a condition
    on the class itself by not asking for it. If one amount is given up, `amounts` has the largest
    that fits a tree, one that fits about half of the trees, and one that fits most, each with the
    number of trees that it fits now.
    """

    conditions: tuple[Condition, ...]
    trees: int
    amounts: tuple[tuple[int, int], ...] = ()

    @property
    def largest(self) -> int | None:
        """The largest amount that fits a tree, None unless one amount is given up."""
        return self.amounts[0][0] if self.amounts else None


class RequestExplanation(NamedTuple):
    """The reasons why a request fits, or does not, and the changes that would help."""

    verdict: Verdict
    #: Number of trees that can serve it now.
    trees_fitting: int
    #: The conditions of each group, and those on all groups together.
    groups: tuple[GroupFunnel, ...]
    combination: tuple[FunnelStep, ...]
    #: Up to five trees that miss least.
    nearest: tuple[TreeReport, ...]
    #: Up to fifty single conditions without which more trees would fit, the most helpful first; if
    #: nothing fits and no single one helps, pairs of them.
    relaxations: tuple[Relaxation, ...]
    #: The numbers are those of `examined` trees out of `of`.
    examined: int
    of: int
    #: True if not all relaxations were tried, such as all pairs.
    is_cut: bool = False
    #: The report on the tree of the provider in question.
    provider: TreeReport | None = None
    #: The fitting trees with a disabled host; if nothing fits, all such trees, provided that a
    #: condition turned them away for it, or that giving it up would help.
    disabled: DisabledTrees = DisabledTrees()
