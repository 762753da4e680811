# SPDX-License-Identifier: Apache-2.0
"""How much a search has looked at, and how much it may.

Work is counted in places looked at: providers of a tree, slots that may serve a provider request,
slots tried for a variable, slots weighed by a bound. It is no time: the same search of the same
data counts the same on any machine, so an answer that the budget cuts is the same everywhere. But
whatever takes time is counted, so that a place takes half a microsecond to two in any search.
"""

# A search of one tree pauses after so many places, so that others have their turn.
SLICE = 4_000

# How many names of alternatives are compared with a profile while one place is looked at.
SETS_PER_PLACE = 8


class BudgetSpent(Exception):
    """The search has looked at as many places as it may."""


class Work:
    """Counts places looked at. Whoever looks adds to `spent` and asks `check` now and then.

    `budget` is the most that may be spent; None is no bound.
    """

    __slots__ = ('budget', 'spent')

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget
        self.spent = 0

    def compare(self, sets: int) -> None:
        """Count that one profile is compared with so many sets of names."""
        self.spent += 1 + sets // SETS_PER_PLACE

    def check(self) -> None:
        """Raise `BudgetSpent` when more was spent than may be."""
        if self.budget is not None and self.spent > self.budget:
            raise BudgetSpent

    def part(self, most: int) -> 'Work':
        """A budget of its own for one step of a search: what is left, and no more than this."""
        if self.budget is None:
            return Work(most)
        return Work(min(most, max(self.budget - self.spent, 0)))
