# SPDX-License-Identifier: Apache-2.0
"""A budget of steps with pauses, in which other threads run."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from placement.search.solver.work import UNBOUNDED, Work

Item = TypeVar('Item')

# Number of steps between two pauses, about a millisecond.
STEPS_IN_SLICE = 1_000

ITEMS_BETWEEN_CHECKS = 250

# Not zero: then this thread would have the interpreter back before another one wakes up.
PAUSE_SECONDS = 0.000_02


def give_way() -> None:
    """Give the interpreter to other threads."""
    time.sleep(PAUSE_SECONDS)


class SlicedWork(Work):
    """Counts steps as a search does, and pauses after each slice of them.

    Questions about the whole cloud usually take more steps than a search, and requests that hold
    locks in the database must not wait for them.
    """

    __slots__ = ('_pause', '_pause_at')

    def __init__(self, budget: int = UNBOUNDED, pause: Callable[[], None] = give_way) -> None:
        super().__init__(budget)
        self._pause = pause
        self._pause_at = STEPS_IN_SLICE

    def check(self) -> None:
        """Pause at the end of a slice.

        :raises BudgetSpent: the budget is spent
        """
        self.count(0)
        super().check()

    def count(self, steps: int) -> None:
        """Count steps and pause at the end of a slice, even beyond the budget."""
        self.spent += steps
        if self.spent >= self._pause_at:
            self._pause_at = self.spent + STEPS_IN_SLICE
            self._pause()

    def each(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield every item, one step each, with pauses.

        :raises BudgetSpent: the budget is spent
        """
        for start in range(0, len(items), ITEMS_BETWEEN_CHECKS):
            part = items[start : start + ITEMS_BETWEEN_CHECKS]
            yield from part
            self.spend(len(part))

    def counted(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield every item, one step each, with pauses, even beyond the budget."""
        for start in range(0, len(items), ITEMS_BETWEEN_CHECKS):
            part = items[start : start + ITEMS_BETWEEN_CHECKS]
            yield from part
            self.count(len(part))

    def paused(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield every item with pauses, without counting steps."""
        for start in range(0, len(items), STEPS_IN_SLICE):
            yield from items[start : start + STEPS_IN_SLICE]
            self._pause()

    def part(self, most: int) -> 'SlicedWork':
        """Return a separate budget of `most` steps with the same pauses."""
        return SlicedWork(min(most, self.left), self._pause)
