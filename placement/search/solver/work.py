# SPDX-License-Identifier: Apache-2.0
"""The limits of a search: how many steps it may take, and how much it may remember.

A step is a provider, slot or bound that is examined. Steps are no time: the same search of the
same data takes as many on any machine, so an answer that the budget cuts is the same everywhere.
But whatever takes time is counted, so that a step takes half a microsecond to two in any search.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')

# How many sets of alternatives are compared with a profile in one step.
SETS_PER_STEP = 8


class BudgetSpent(Exception):
    """The search has taken as many steps as it may."""


class Work:
    """Step counter. Callers add to `spent` and call `check` periodically.

    `budget` is the most that may be spent; None is no bound.
    """

    __slots__ = ('budget', 'spent')

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget
        self.spent = 0

    def compare(self, sets: int) -> None:
        """Count the comparison of one profile with so many sets of names."""
        self.spent += 1 + sets // SETS_PER_STEP

    def check(self) -> None:
        """Raise `BudgetSpent` when more was spent than may be."""
        if self.budget is not None and self.spent > self.budget:
            raise BudgetSpent

    def part(self, most: int) -> Work:
        """A counter for a part of the search: its budget is what is left, `most` at most."""
        if self.budget is None:
            return Work(most)
        return Work(min(most, max(self.budget - self.spent, 0)))


class BoundedCache(dict[Key, Value]):
    """The last entries added, up to a number of them; the oldest is forgotten first.

    Which entries it holds depends on nothing but what was added, so searches stay reproducible.
    It is a dictionary because it is read for each tree, which a method of its own would slow down.
    """

    __slots__ = ('_max_entries',)

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries

    def add(self, key: Key, value: Value) -> None:
        """Remember a value."""
        if len(self) >= self._max_entries and key not in self:
            del self[next(iter(self))]
        self[key] = value
