# SPDX-License-Identifier: Apache-2.0
"""Providers as they are wanted (specification: resource_providers; inventories)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

# The largest integer that the API takes.
UNLIMITED = 2147483647

# MySQL keeps six digits of a ratio. What differs less is the same, or it would be sent for ever.
RATIO_TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What a provider has of one resource class; what is left out has the API's default."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = UNLIMITED
    step_size: int = 1
    allocation_ratio: float = 1.0

    def is_like(self, other: Inventory) -> bool:
        """Whether there is no difference that a database would keep."""
        return dataclasses.replace(self, allocation_ratio=other.allocation_ratio) == other and (
            math.isclose(self.allocation_ratio, other.allocation_ratio, rel_tol=RATIO_TOLERANCE)
        )


@dataclasses.dataclass(frozen=True)
class Provider:
    """A provider and what is below it, as somebody wants them to be.

    What is None is another one's matter and left alone: an agent that looks after inventories
    need not know who sets the traits.  Children that are there and not named are left alone, too.
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
