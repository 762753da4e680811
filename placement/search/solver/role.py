# SPDX-License-Identifier: Apache-2.0
"""Roles: the conditions of a request that providers of a profile fail, as bits.

Every condition of a request has one bit, in the order of testing: for each group its tree, its
classes, its traits and aggregates, and its amounts; then the conditions on the root. So a set of
conditions is an integer, and so are the conditions that a provider fails. The search needs to know
if there are any, insight which ones they are. Specification:
allocation_candidates, "What can satisfy one group".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.model.kind import Profile
from placement.search.model.request import (
    GROUP_PARAMETERS,
    ROOT_PARAMETERS,
    CandidateRequest,
    Parameter,
    RequestGroup,
    alternatives,
)


class Role(NamedTuple):
    """The parts of a profile that matter to a request."""

    # The failed conditions on classes and names, as bits.
    failed: int
    # The position of each requested class in the profile, -1 for a missing class.
    positions: tuple[int, ...]


class GroupBits(NamedTuple):
    """The bits of the conditions of one group."""

    # `in_tree`; 0 without one.
    tree: int
    # The presence of each class.
    present: Mapping[str, int]
    # The names in `GROUP_PARAMETERS`, in that order.
    named: tuple[int, ...]
    # Traits that several providers may have between them.
    collected: int
    # Wanted and barred names for which the root of a tree counts as well.
    wanted: int
    barred: int
    # Conditions that each provider has to meet by itself.
    own: int

    def of_amount(self, name: str) -> tuple[int, int, int]:
        """The bits of one amount: an empty provider can serve it, it is free now, and the smallest
        amount is free."""
        # The bits of sizes follow those of names, then come the two of free amounts.
        classes = len(self.present)
        size = self.present[name] << (classes + len(self.named))
        return size, size << classes, size << 2 * classes


class RequestBits:
    """The bits of all conditions of a request.

    `groups` holds the bits of each group by suffix, `root` those on the root in the order of
    `ROOT_PARAMETERS`, and `of_root` their union. `member` is the condition that some provider does
    not share. `barred` is the union of the conditions on absent names, `classes` are all requested
    classes, and `comparisons` is the number of comparisons for one profile.
    """

    def __init__(self, request: CandidateRequest) -> None:
        self._count = 0
        self.barred = 0
        # The conditions on each class, and on each name by attribute of the profile.
        self._of_classes: dict[str, int] = {}
        self._of_names: dict[str, dict[str, int]] = {}
        # The conditions that a provider without any class or name fails.
        self._wanted = 0
        self.groups = {group.suffix: self._group(group) for group in request.groups}
        self.root = tuple([bit for _, bit in self._named(ROOT_PARAMETERS, request)])
        self.of_root = sum(self.root)
        self.member = self._next_bit()
        self.classes = tuple(self._of_classes)
        self.comparisons = len(request.groups) + sum(map(len, self._of_names.values()))
        self._compared = [
            (attribute, frozenset(of_names), of_names)
            for attribute, of_names in self._of_names.items()
        ]

    def _next_bit(self) -> int:
        """A new bit."""
        self._count += 1
        return 1 << (self._count - 1)

    def _group(self, group: RequestGroup) -> GroupBits:
        tree, present = self._next_bit() if group.in_tree is not None else 0, {}
        for name in group.resources:
            bit = present[name] = self._next_bit()
            self._of_classes[name] = self._of_classes.get(name, 0) | bit
            self._wanted |= bit
        named = self._named(GROUP_PARAMETERS, group)
        # The bits of amounts, which a profile does not determine.
        self._count += 3 * len(present)
        if not named:
            return GroupBits(tree, present, (), 0, 0, 0, 0)
        bits = tuple([bit for _, bit in named])
        collected = wanted = barred = 0
        if not group.is_suffixed:
            spanning = [(one, bit) for one, bit in named if one.spans_tree]
            wanted = sum([bit for one, bit in spanning if not one.is_barred])
            barred = sum([bit for one, bit in spanning if one.is_barred])
            if len(present) != 1:
                collected = sum([bit for one, bit in named if one.is_collected])
        own = sum(bits) & ~(collected | wanted)
        return GroupBits(tree, present, bits, collected, wanted, barred, own)

    def _named(
        self, parameters: Iterable[Parameter], holder: CandidateRequest | RequestGroup
    ) -> list[tuple[Parameter, int]]:
        """Give each condition of some parameters a bit; each parameter with its bit."""
        numbered: list[tuple[Parameter, int]] = []
        for parameter in parameters:
            if not getattr(holder, parameter.field):
                continue
            of_names = self._of_names.setdefault(parameter.attribute, {})
            for condition in parameter.names(holder):
                bit = self._next_bit()
                numbered.append((parameter, bit))
                for name in alternatives(condition):
                    of_names[name] = of_names.get(name, 0) | bit
                if parameter.is_barred:
                    self.barred |= bit
                else:
                    self._wanted |= bit
        return numbered

    def role(self, profile: Profile) -> Role:
        """The role of providers of a profile."""
        position, has = profile.position, 0
        for name, bit in self._of_classes.items():
            if name in position:
                has |= bit
        for attribute, names, bits in self._compared:
            for name in names & getattr(profile, attribute):
                has |= bits[name]
        # A name meets the conditions that want it, and fails those that bar it.
        return Role(self._wanted ^ has, tuple([position.get(name, -1) for name in self.classes]))
