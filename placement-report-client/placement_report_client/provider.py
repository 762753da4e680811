# SPDX-License-Identifier: Apache-2.0
"""The desired state of providers (specification: resource_providers; inventories)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

# The largest integer that the API accepts.
UNLIMITED = 2147483647

# MySQL stores six digits of a ratio. Smaller differences are ignored, or they would be sent
# forever.
RATIO_TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True)
class Inventory:
    """The inventory of one resource class, with the defaults of the API."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = UNLIMITED
    step_size: int = 1
    allocation_ratio: float = 1.0

    def matches(self, other: Inventory) -> bool:
        """Return True if both are equal in the digits that databases store."""
        return dataclasses.replace(self, allocation_ratio=other.allocation_ratio) == other and (
            math.isclose(self.allocation_ratio, other.allocation_ratio, rel_tol=RATIO_TOLERANCE)
        )


@dataclasses.dataclass(frozen=True)
class Provider:
    """The desired state of a provider and its descendants.

    Members that are None are left unchanged: an agent that reports inventories need not know who
    sets the traits.  Existing children that are not listed are left unchanged, too.
    """

    uuid: str
    name: str
    inventories: Mapping[str, Inventory] | None = None
    traits: Collection[str] | None = None
    aggregates: Collection[str] | None = None
    children: tuple[Provider, ...] = ()

    def with_parents(self, parent: str | None = None) -> Iterator[tuple[Provider, str | None]]:
        """Every provider of the tree with the uuid of its parent, parents first."""
        yield self, parent
        for child in self.children:
            yield from child.with_parents(self.uuid)
