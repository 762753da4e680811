# SPDX-License-Identifier: Apache-2.0
"""The limits of a search: how many steps it may take, and how much it may remember.

A step is a provider, slot or bound that is examined. Steps are no time: the same search of the
same data takes as many on any machine, so an answer that the budget cuts is the same everywhere.
But whatever takes time is counted, so that a step takes half a microsecond to two in any search.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')

# The budget of a search without one: more than can be spent.
UNBOUNDED = sys.maxsize

# How many sets of alternatives are compared with a profile in one step.
SETS_PER_STEP = 8


class BudgetSpent(Exception):
    """The search has taken as many steps as it may."""


class Work:
    """Step counter: `budget` is the most that may be spent.

    Callers `spend` steps, or add to `spent` where little is to be done before the next check.
    """

    __slots__ = ('budget', 'spent')

    def __init__(self, budget: int = UNBOUNDED) -> None:
        self.budget = budget
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps; raise `BudgetSpent` when these are more than may be spent."""
        self.spent += steps
        self.check()

    def compare(self, sets: int) -> None:
        """Count the comparison of one profile with so many sets of names."""
        self.spent += 1 + sets // SETS_PER_STEP

    def check(self) -> None:
        """Raise `BudgetSpent` when more was spent than may be."""
        if self.spent > self.budget:
            raise BudgetSpent

    @property
    def left(self) -> int:
        """How many steps may still be spent."""
        return max(self.budget - self.spent, 0)

    def part(self, most: int) -> Work:
        """A counter for a part of the search: its budget is what is left, `most` at most."""
        return Work(min(most, self.left))


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
