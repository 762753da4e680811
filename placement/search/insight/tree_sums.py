# SPDX-License-Identifier: Apache-2.0
"""One tree in sums, in which an inventory over capacity and a disabled member can be seen."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.tree import Tree


class FullestInventory(NamedTuple):
    """The inventory of which the largest part is used, and its provider, by uuid."""

    provider: str
    resource_class: str
    capacity: int
    used: int


@dataclasses.dataclass(slots=True)
class ClassSum:
    """The sums of one class; `free` has what each inventory has beyond what is used of it, so
    that one over its capacity takes nothing away from the others."""

    capacity: int = 0
    used: int = 0
    free: int = 0

    def add(self, capacity: int, used: int) -> None:
        """Add one inventory."""
        self.capacity += capacity
        self.used += used
        self.free += max(capacity - used, 0)


class TreeSums(NamedTuple):
    """A tree in sums by resource class.

    `over_capacity` is the number of inventories of which more is used than there is, `disabled`
    that of the members with `COMPUTE_STATUS_DISABLED`. `fullest` is None where nothing can be
    used.
    """

    providers: int
    disabled: int
    over_capacity: int
    resources: Mapping[str, ClassSum]
    fullest: FullestInventory | None


def sums_of(tree: Tree) -> TreeSums:
    """The sums of a tree. Of inventories that are as full, the first member's is the fullest."""
    resources: dict[str, ClassSum] = {}
    fullest, largest, over_capacity = None, -1.0, 0
    for member in tree.members:
        for name, limits, used in member.inventories:
            capacity = limits.reported_capacity
            if name not in resources:
                resources[name] = ClassSum()
            resources[name].add(capacity, used)
            over_capacity += used > limits.ceiling
            if capacity <= 0 and used == 0:
                continue
            part = used / capacity if capacity > 0 else math.inf
            if part > largest:
                largest, fullest = part, FullestInventory(member.uuid, name, capacity, used)
    disabled = sum(DISABLED_TRAIT in member.traits for member in tree.members)
    return TreeSums(len(tree.members), disabled, over_capacity, resources, fullest)
