# SPDX-License-Identifier: Apache-2.0
"""Why a search turned away what it turned away, counted."""

import collections
import enum
from collections.abc import Callable

from placement.search.model.capacity import Refusal


class Reason(enum.Enum):
    """Every reason there is for not offering something, in the order in which they are tested."""

    CLASS_MISSING = 'class missing'
    REQUIRED_TRAIT = 'required trait'
    FORBIDDEN_TRAIT = 'forbidden trait'
    AGGREGATE = 'aggregate'
    TREE = 'tree'
    # A block of trees was passed over: nobody has room, whatever is used or reserved there.
    ROOM = 'room'
    TREE_UNKNOWN = 'in_tree names no provider:'
    MIN_UNIT = Refusal.MIN_UNIT.value
    MAX_UNIT = Refusal.MAX_UNIT.value
    STEP_SIZE = Refusal.STEP_SIZE.value
    TOO_SMALL = Refusal.TOO_SMALL.value
    RESERVED = Refusal.RESERVED.value
    USED = Refusal.USED.value
    ONE_TREE = 'all groups from one tree'
    ROOT = 'root_required'
    SUM = 'amounts of all groups together'
    ISOLATE = 'isolate'
    SUBTREE = 'subtree'
    ONE_OF_EACH_TREE = 'one provider of each tree'

    # Each reason is one object, so its identity will do; Enum would hash its name in Python.
    __hash__ = object.__hash__


# Where the root of a tree, or a combination of groups, was turned away instead of one group's
# provider.
ROOT = 'root_required'
COMBINATION = 'combination'


class Tally:
    """Counts by (group, reason).

    What one group refuses is counted once for every provider looked at under every anchor, or for
    trees in which no provider is left; what a combination refuses once for every combination
    dropped.  A search that stops at its limit has not looked at everything.
    """

    __slots__ = ('_counters', '_to_be_counted')

    def __init__(self) -> None:
        self._counters: dict[str, dict[Reason, int]] = {}
        self._to_be_counted: list[Callable[[], None]] = []

    def counter(self, where: str) -> dict[Reason, int]:
        """The counter of one place, for those who count much: every reason is in it."""
        counter = self._counters.get(where)
        if counter is None:
            counter = self._counters[where] = dict.fromkeys(Reason, 0)
        return counter

    def add(self, where: str, reason: Reason, times: int = 1) -> None:
        """Count a rejection, or several alike."""
        self.counter(where)[reason] += times

    def add_later(self, count: Callable[[], None]) -> None:
        """Let this add its rejections when somebody reads the tally, which is seldom."""
        self._to_be_counted.append(count)

    def _settle(self) -> None:
        while self._to_be_counted:
            self._to_be_counted.pop()()

    @property
    def counts(self) -> collections.Counter[tuple[str, Reason]]:
        """Everything counted, by place and reason."""
        self._settle()
        return collections.Counter(
            {
                (where, reason): n
                for where in self._counters
                for reason, n in self.by_group(where).items()
            }
        )

    def total(self, reason: Reason) -> int:
        """How often this was the reason, whatever the group."""
        self._settle()
        return sum(counter[reason] for counter in self._counters.values())

    def by_group(self, where: str) -> dict[Reason, int]:
        """The counts of one group, keyed by reason."""
        self._settle()
        counter = self._counters.get(where, {})
        return {reason: count for reason, count in counter.items() if count}
