# SPDX-License-Identifier: Apache-2.0
"""The limits of a search: a budget of steps, and caches of bounded size.

A step is the examination of a provider, slot or bound. Unlike time, the number of steps of a
search is the same on any machine, so the budget cuts the result at the same point everywhere. All
work is counted in such a way that steps take about the same time in any search.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')

# The budget of a search without a limit.
UNBOUNDED = sys.maxsize

# Number of sets of alternatives compared with a profile in one step.
SETS_PER_STEP = 8


class BudgetSpent(Exception):
    """The search has exceeded its budget of steps."""


class Work:
    """Counter of steps with a `budget`.

    Callers `spend` steps, or add to `spent` shortly before the next check.
    """

    __slots__ = ('budget', 'spent')

    def __init__(self, budget: int = UNBOUNDED) -> None:
        self.budget = budget
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps.

        :raises BudgetSpent: the budget is exceeded
        """
        self.spent += steps
        self.check()

    def compare(self, sets: int) -> None:
        """Count the comparison of one profile with a number of sets of names."""
        self.spent += 1 + sets // SETS_PER_STEP

    def check(self) -> None:
        """Raise `BudgetSpent` if the budget is exceeded."""
        if self.spent > self.budget:
            raise BudgetSpent

    @property
    def left(self) -> int:
        """Number of steps left."""
        return max(self.budget - self.spent, 0)

    def part(self, most: int) -> Work:
        """A counter for a part of the search, with at most `most` of the steps left."""
        return Work(min(most, self.left))


class BoundedCache(dict[Key, Value]):
    """Cache of the last `max_entries` entries added.

    Reads do not affect evictions, so searches stay reproducible. A dict, because a `get` of its
    own would slow down the read for each tree.
    """

    __slots__ = ('_max_entries',)

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries

    def add(self, key: Key, value: Value) -> None:
        """Add a value; evict the oldest entry if there are too many."""
        if len(self) >= self._max_entries and key not in self:
            del self[next(iter(self))]
        self[key] = value
