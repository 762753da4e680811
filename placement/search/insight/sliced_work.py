# SPDX-License-Identifier: Apache-2.0
"""A budget of work that is done in slices, so that other threads have their turn."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from placement.search.solver.work import UNBOUNDED, Work

Item = TypeVar('Item')

# How many places are looked at between two pauses; that takes about a millisecond.
PLACES_IN_SLICE = 1_000

ITEMS_BETWEEN_CHECKS = 250

# A sleep of zero seconds releases the interpreter and has it back before another thread wakes up.
PAUSE_SECONDS = 0.000_02


def give_way() -> None:
    """Give the interpreter to other threads."""
    time.sleep(PAUSE_SECONDS)


class SlicedWork(Work):
    """Counts places as a search does, and pauses each time that a slice of them was looked at.

    Questions about the whole cloud look at more places than a search as a rule, and a request
    that holds a lock in the database must not wait for them.
    """

    __slots__ = ('_pause', '_pause_at')

    def __init__(self, budget: int = UNBOUNDED, pause: Callable[[], None] = give_way) -> None:
        super().__init__(budget)
        self._pause = pause
        self._pause_at = PLACES_IN_SLICE

    def check(self) -> None:
        """Pause when a slice is over; raise `BudgetSpent` when more was spent than may be."""
        self.count(0)
        super().check()

    def count(self, places: int) -> None:
        """Count places and pause when a slice is over, whatever was spent."""
        self.spent += places
        if self.spent >= self._pause_at:
            self._pause_at = self.spent + PLACES_IN_SLICE
            self._pause()

    def each(self, items: Sequence[Item]) -> Iterator[Item]:
        """Every item, a place each, with pauses among them. Raises `BudgetSpent`."""
        for start in range(0, len(items), ITEMS_BETWEEN_CHECKS):
            part = items[start : start + ITEMS_BETWEEN_CHECKS]
            yield from part
            self.spend(len(part))

    def paused(self, items: Sequence[Item]) -> Iterator[Item]:
        """Every item, which counts nothing, with pauses among them."""
        for start in range(0, len(items), PLACES_IN_SLICE):
            yield from items[start : start + PLACES_IN_SLICE]
            self._pause()

    def part(self, most: int) -> 'SlicedWork':
        """A budget of its own for one step, in slices as this one."""
        return SlicedWork(min(most, self.left), self._pause)
