# SPDX-License-Identifier: Apache-2.0
"""What one consumer may take of an inventory, and which amounts a provider does not have."""

from collections.abc import Sequence
from typing import NamedTuple

from placement.search.model.capacity import Capacity


class Need(NamedTuple):
    """What a provider of some profile has to be asked about one class."""

    position: int
    amount: int
    size: int
    free: int
    some: int


def largest_amount(capacity: Capacity, used: int) -> int:
    """The largest amount that one consumer may take beside what is used; 0 where there is none."""
    room = capacity.ceiling - used
    if room > capacity.max_unit:
        room = capacity.max_unit
    if capacity.step_size > 1:
        room -= room % capacity.step_size
    return room if room >= capacity.min_unit and room > 0 else 0


def smallest_amount(capacity: Capacity) -> int:
    """The smallest amount that one consumer may take."""
    least, step = max(capacity.min_unit, 1), max(capacity.step_size, 1)
    return -(-least // step) * step


def amounts_mask(
    needs: Sequence[Need], capacities: Sequence[Capacity], used: Sequence[int]
) -> int:
    """Which amounts a provider does not have."""
    mask = 0
    for position, amount, size, free, some in needs:
        capacity = capacities[position]
        if (
            amount > capacity.largest
            or amount < capacity.min_unit
            or (capacity.step_size > 1 and amount % capacity.step_size)
        ):
            mask |= size
        elif used[position] + amount > capacity.ceiling:
            mask |= free
        else:
            continue
        if not largest_amount(capacity, used[position]):
            mask |= some
    return mask
