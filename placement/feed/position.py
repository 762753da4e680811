# SPDX-License-Identifier: Apache-2.0
"""A reader's position in the change feed, and the gaps that may still fill. No I/O.

The database assigns the ids of the feed before transactions commit. So an entry can appear below
others that were read long before, and a restored database assigns ids again. A position detects
both, for workers and for followers outside, by three means:

* The *window* holds the ids of the newest entries that were read. Each reading examines these
  entries again. New ones among or after them are the news. If one has disappeared, or the last one
  has another token, the answer comes from another database, or from a node that lags behind.
* Below the window there are *zones*: ranges of ids with gaps. The server counts the entries of the
  zones; if the count grows, a very old transaction has committed.
* The lowest id of the feed changes if old entries were removed, or appeared below all others.

None of these needs a clock. Old entries are removed in whole blocks, and the number of entries of
a removed block is recorded, so a reader can verify that it has read all of them.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Maximum number of entries in a window. An entry that appears below it makes workers load
# everything. Windows are this long only while there are gaps in them.
MAX_WINDOW = 100

# Number of entries of the last reading that stay in the window even without gaps. A promoted
# replica can lack one of several entries that were committed together.
MIN_WINDOW = 10

# Maximum number of zones. A statement with zones counts the entries in them, so each zone costs
# time. Without gaps, which only a failed COMMIT or a Galera cluster leaves, there are no zones.
MAX_ZONES = 4

# Number of ids in a block, in which old entries are removed: first the ids below this number, then
# those below twice this number, and so on.
BLOCK = 20_000


def next_block(entry_id: int) -> int:
    """The id with which the next block begins."""
    return (entry_id // BLOCK + 1) * BLOCK


class Entry(NamedTuple):
    """One entry: a provider has changed, either in any way or only in its allocations."""

    id: int
    provider_id: int
    allocations_only: bool
    token: int


class Zone(NamedTuple):
    """Ids from `start` to before `end`, of which a number of `entries` was read."""

    start: int
    end: int
    entries: int

    def joined(self, later: Zone) -> Zone:
        """The union with a later zone; there are no gaps between them."""
        between = later.start - self.end
        return Zone(self.start, later.end, self.entries + between + later.entries)


class Removed(NamedTuple):
    """Ids of removed blocks, from `start` to before `end`, and the number of their entries."""

    start: int
    end: int
    entries: int


class Reading(NamedTuple):
    """The answer of the database to a position."""

    # Rows that begin with the values of `Entry`: the entries after the window if `is_as_read`,
    # otherwise the entries from the start of the window on.
    entries: Sequence[Sequence[Any]]
    # The feed up to the end of the window is unchanged.
    is_as_read: bool
    # The lowest id in the feed; None for an empty feed.
    lowest: int | None
    # The number of entries in the zones.
    in_zones: int
    # The blocks removed since, if any was recorded.
    removed: Removed | None = None


class Reload(enum.Enum):
    """Reasons why the feed cannot be read on and a full load is needed, with their messages."""

    EMPTY = 'it is empty'
    PRUNED = 'old entries were removed'
    LATE = 'a transaction committed that began very many entries ago'
    OTHER = (
        'the entries read last are not in it: the database was restored or replaced, '
        'or this worker has fallen behind'
    )


class News(NamedTuple):
    """The new entries, by id, and the position after them."""

    entries: Sequence[Entry]
    position: Position


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """The part of the feed that was read.

    `lowest` is the lowest id, `window` holds the ids of the newest entries, and `token` is the
    token of the last entry. Between `lowest` and the window, only the zones have gaps.
    """

    lowest: int
    token: int
    window: tuple[int, ...]
    zones: tuple[Zone, ...] = ()

    @classmethod
    def of(cls, lowest: int, newest: Sequence[Entry], gaps: Iterable[Zone] = ()) -> Position:
        """The position after the whole feed, given its newest entries by id.

        `gaps` are the gaps below these entries. An empty feed has no newest entries; its position
        cannot be read on from.
        """
        if not newest:
            return cls(0, 0, ())
        ids = tuple(entry.id for entry in newest)
        return cls(lowest, newest[-1].token, ids, _joined(tuple(gaps)))._shortened(ids)

    @property
    def start(self) -> int:
        """The first id of the window; 0 for an empty one."""
        return self.window[0] if self.window else 0

    @property
    def head(self) -> int:
        """The highest id that was read."""
        return self.window[-1] if self.window else 0

    @property
    def in_zones(self) -> int:
        """Number of entries of the zones that were read."""
        return sum(zone.entries for zone in self.zones)

    def missed(self, reading: Reading) -> Reload | set[int]:
        """Return the ids of entries that appeared below the head, or the reason for a full load.

        For an entry in a zone, it is the lowest id that the entry may have.
        """
        if not self.window:
            return Reload.EMPTY
        if reading.is_as_read:
            return set()
        lowest = reading.lowest
        if lowest is None or not self.is_of_same_database(reading):
            return Reload.OTHER
        appeared_in_zones = reading.in_zones - self.in_zones
        if lowest > self.lowest:
            removed = self._removed_from_zones(reading.removed, lowest)
            if removed is None or reading.in_zones + removed != self.in_zones:
                return Reload.PRUNED
            appeared_in_zones = 0
        present = {row[0] for row in reading.entries if row[0] <= self.head}
        if appeared_in_zones < 0 or not present.issuperset(self.window):
            return Reload.OTHER
        missed = present.difference(self.window)
        if appeared_in_zones:
            missed.add(self.zones[0].start)
        if lowest < self.lowest:
            missed.add(lowest)
        return missed

    def is_of_same_database(self, reading: Reading) -> bool:
        """False if the answer must come from another database.

        If True, the answer may still lack entries of the position: a node of a cluster may lag.
        """
        if reading.lowest is None or reading.lowest > self.start:
            return False
        heads = (row for row in reading.entries if row[0] == self.head)
        return all(bool(row[3] == self.token) for row in heads)

    def _removed_from_zones(self, removed: Removed | None, lowest: int) -> int | None:
        """Return the number of entries of zones in removed blocks.

        Outside of zones every entry was read, which determines the number in zones. None if an
        unread entry may have been removed.
        """
        end = lowest if removed is None else removed.end
        ids_in_zones = sum(max(0, min(zone.end, end) - zone.start) for zone in self.zones)
        if removed is None:
            # Removed by hand, possibly with late entries of the same block.
            is_safe = not ids_in_zones and (self.lowest == 1 or self.lowest % BLOCK == 0)
            return 0 if is_safe else None
        if removed.start < self.lowest:
            # An entry appeared below all others, and was removed with the block.
            return None
        return removed.entries - (end - self.lowest - ids_in_zones) if ids_in_zones else 0

    def read_on(self, reading: Reading) -> News | Reload:
        """Return the news, or the reason for a full load."""
        missed = self.missed(reading)
        if isinstance(missed, Reload):
            return missed
        if missed and min(missed) < self.start:
            return Reload.LATE
        lowest = reading.lowest or self.lowest
        if lowest > self.lowest and self.zones:
            return Reload.PRUNED
        known = set(self.window)
        new = sorted(Entry(*row[:4]) for row in reading.entries if row[0] not in known)
        position = self if lowest == self.lowest else dataclasses.replace(self, lowest=lowest)
        return News(tuple(new), position._after(new) if new else position)

    def _after(self, new: Sequence[Entry]) -> Position:
        token = new[-1].token if new[-1].id > self.head else self.token
        ids = [entry.id for entry in new]
        window = tuple(sorted([*self.window, *ids]))
        return dataclasses.replace(self, token=token, window=window)._shortened(ids)

    def _shortened(self, latest: Sequence[int]) -> Position:
        """The position with the shortest window that holds the latest ids and the newest gaps."""
        window = self.window
        pairs = enumerate(itertools.pairwise(window))
        gap = next((index for index, (before, after) in pairs if after > before + 1), len(window))
        cut = min(window.index(latest[-MIN_WINDOW:][0]), gap)
        return self._cut(max(cut, len(window) - MAX_WINDOW))

    def narrowed(self, ids: int) -> Position:
        """The position with a window of at most `ids` ids, and one zone.

        The zone covers all ids below the window. Gaps suggest a cluster, in which a node that lags
        behind can lack any of these entries that appeared late.
        """
        position = self._cut(sum(entry_id <= self.head - ids for entry_id in self.window))
        missing = sum(zone.end - zone.start - zone.entries for zone in position.zones)
        below = position.start - self.lowest
        zones = (Zone(self.lowest, position.start, below - missing),) if missing else ()
        return dataclasses.replace(position, zones=zones)

    def _cut(self, cut: int) -> Position:
        """The position without the first `cut` ids of the window, whose gaps become zones."""
        pairs = itertools.pairwise(self.window[: cut + 1])
        gaps = [Zone(before + 1, after, 0) for before, after in pairs if after > before + 1]
        zones = _joined([*self.zones, *gaps])
        return dataclasses.replace(self, window=self.window[cut:], zones=zones)


def _joined(zones: Sequence[Zone]) -> tuple[Zone, ...]:
    """At most `MAX_ZONES` zones; the closest ones are joined."""
    if len(zones) <= MAX_ZONES:
        return tuple(zones)
    between = [later.start - zone.end for zone, later in itertools.pairwise(zones)]
    widest = heapq.nlargest(MAX_ZONES - 1, range(len(between)), key=between.__getitem__)
    bounds = [0, *(index + 1 for index in sorted(widest)), len(zones)]
    return tuple(
        functools.reduce(Zone.joined, zones[start:end])
        for start, end in itertools.pairwise(bounds)
    )
