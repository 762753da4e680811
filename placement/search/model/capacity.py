# SPDX-License-Identifier: Apache-2.0
"""The rule by which an amount fits an inventory.

Search, claims and inventory updates share it, so a claim accepts what a search offers.
"""

import dataclasses
import enum
import math
import sys


class Refusal(enum.StrEnum):
    """Why an amount does not fit an inventory."""

    MIN_UNIT = 'min_unit'
    MAX_UNIT = 'max_unit'
    STEP_SIZE = 'step_size'
    TOO_SMALL = 'too small'
    RESERVED = 'reserved'
    USED = 'used'


# Not frozen, which would slow down the load of many different hosts. Instances never change.
@dataclasses.dataclass(slots=True, weakref_slot=True, unsafe_hash=True)
class Capacity:
    """One inventory without its usage: a value that alike providers share.

    The derived fields are computed once, because a search reads them far more often than
    inventories change. Specification: conventions, "Capacity and fit".
    """

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0
    # (total - reserved) * allocation_ratio, not truncated.
    capacity: float = dataclasses.field(init=False, repr=False, compare=False)
    # Maximum usage.
    ceiling: int = dataclasses.field(init=False, repr=False, compare=False)
    # Maximum amount of one candidate when nothing is used.
    largest: int = dataclasses.field(init=False, repr=False, compare=False)
    # min_unit and step_size exclude no amount.
    takes_any: bool = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.capacity = (self.total - self.reserved) * float(self.allocation_ratio)
        self.ceiling = _ceiling(self.capacity)
        self.largest = min(self.ceiling, self.max_unit)
        self.takes_any = self.min_unit <= 1 and self.step_size <= 1

    @property
    def reported_capacity(self) -> int:
        """The capacity as clients see it: truncated towards zero, an integer even where the
        stored ratio is not a finite number."""
        if math.isfinite(self.capacity):
            return int(self.capacity)
        return max(self.ceiling, 0)

    @property
    def whole(self) -> int:
        """Maximum usage if nothing were reserved."""
        return _ceiling(self.total * float(self.allocation_ratio))

    def refusal(self, amount: int, used: int = 0) -> Refusal | None:
        """The reason why `amount` does not fit in addition to the usage; None if it fits."""
        if refusal := self.unit_refusal(amount):
            return refusal
        if used + amount <= self.ceiling:
            return None
        if amount <= self.ceiling:
            return Refusal.USED
        return Refusal.RESERVED if amount <= self.whole else Refusal.TOO_SMALL

    def unit_refusal(self, amount: int) -> Refusal | None:
        """The reason why no consumer may hold `amount`, whatever is free; None if one may."""
        if amount < self.min_unit:
            return Refusal.MIN_UNIT
        if amount > self.max_unit:
            return Refusal.MAX_UNIT
        # A step of zero cannot be written through the API, but a row may hold one.
        if self.step_size > 1 and amount % self.step_size:
            return Refusal.STEP_SIZE
        return None

    def allows_total(self, used_after: int, used_before: int = 0) -> bool:
        """True if a write may change the usage from `used_before` to `used_after`.

        An inventory that was shrunk below its usage accepts writes that do not increase the usage.
        Specification: allocations, "Capacity rule for writes".
        """
        return used_after <= self.ceiling or used_after <= used_before

    def room(self, used: int) -> int:
        """Maximum amount that one candidate may take in all, over every request group.

        It is the free amount, and at most max_unit. Specification: allocation_candidates,
        "Combining groups".
        """
        free = self.ceiling - used
        # Not min(), which takes twice as long: a search calls this for very many providers.
        return free if free < self.max_unit else self.max_unit

    def largest_fit(self, used: int = 0) -> int:
        """The largest amount that one consumer may take in addition to the usage; 0 for none."""
        room = self.room(used)
        if self.step_size > 1:
            room -= room % self.step_size
        return room if room >= self.min_unit and room > 0 else 0

    @property
    def smallest_fit(self) -> int:
        """The smallest amount that one consumer may take of an empty provider, if any."""
        step = max(self.step_size, 1)
        return -(-max(self.min_unit, 1) // step) * step


def _ceiling(capacity: float) -> int:
    """The largest integer usage within `capacity`.

    Integers compare with it as they do with the untruncated product. -1 for NaN, which nothing
    fits.
    """
    if math.isfinite(capacity):
        return math.floor(capacity)
    return sys.maxsize if capacity == math.inf else -1
