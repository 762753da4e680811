# SPDX-License-Identifier: Apache-2.0
"""Sums of trees by resource class."""

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.tree import Tree


class FullestInventory(NamedTuple):
    """The inventory with the largest used part, and the uuid of its provider."""

    provider: str
    resource_class: str
    capacity: int
    used: int


@dataclasses.dataclass(slots=True)
class ClassSum:
    """The sums of one class.

    `free` adds up the free amounts of inventories, where one over capacity counts as 0.
    """

    capacity: int = 0
    used: int = 0
    free: int = 0

    def add(self, capacity: int, used: int) -> None:
        """Add one inventory."""
        self.capacity += capacity
        self.used += used
        self.free += max(capacity - used, 0)


class TreeSums(NamedTuple):
    """The sums of a tree by resource class.

    `over_capacity` is the number of inventories over capacity, `disabled` that of members with
    `COMPUTE_STATUS_DISABLED`. `fullest` is None if no inventory has any capacity.
    """

    providers: int
    disabled: int
    over_capacity: int
    resources: Mapping[str, ClassSum]
    fullest: FullestInventory | None


def sums_of(tree: Tree) -> TreeSums:
    """Return the sums of a tree; of equally full inventories, the first one is the fullest."""
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
