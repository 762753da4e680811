# SPDX-License-Identifier: Apache-2.0
"""Why a search turned away what it turned away, counted."""

import collections
import enum

from placement.search.capacity import Refusal


class Reason(enum.Enum):
    """Every reason there is for not offering something, in the order in which they are tested."""

    CLASS_MISSING = 'class missing'
    REQUIRED_TRAIT = 'required trait'
    FORBIDDEN_TRAIT = 'forbidden trait'
    AGGREGATE = 'aggregate'
    TREE = 'tree'
    MIN_UNIT = Refusal.MIN_UNIT.value
    MAX_UNIT = Refusal.MAX_UNIT.value
    STEP_SIZE = Refusal.STEP_SIZE.value
    RESERVED = Refusal.RESERVED.value
    USED = Refusal.USED.value
    ISOLATE = 'isolate'
    SUBTREE = 'subtree'


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

    __slots__ = ('counts',)

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[str, Reason]] = collections.Counter()

    def add(self, where: str, reason: Reason, times: int = 1) -> None:
        """Count a rejection, or several alike."""
        self.counts[where, reason] += times

    def total(self, reason: Reason) -> int:
        """How often this was the reason, whatever the group."""
        return sum(count for (_, counted), count in self.counts.items() if counted is reason)

    def by_group(self, where: str) -> dict[Reason, int]:
        """The counts of one group, keyed by reason."""
        return {reason: count for (group, reason), count in self.counts.items() if group == where}
