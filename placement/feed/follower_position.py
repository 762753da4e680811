# SPDX-License-Identifier: Apache-2.0
"""How far somebody outside has followed the change feed, as a short text: without a database.

A worker remembers gaps in the ids of the feed (`placement.feed.position`); a follower brings back
nothing but a token. So the token says which of the last ids were there when it was made, and how
many entries were in the one zone below them in which ids were missing. An entry that appears among
either later makes a difference, however long its transaction took, and no clock decides that.
"""

import base64
import binascii
import dataclasses
import struct
import zlib
from typing import NamedTuple, Self

from placement.feed.position import Zone

# Of so many of the last ids a token says whether they were there. Where an entry appears below
# them, everything in the zone is told again.
WINDOW = 128

# For so many seconds after a token was made, a database that lacks what the token knows may be a
# node of a cluster that has not applied it yet.
MAX_LAG_SECONDS = 60

NO_ZONE = Zone(0, 0, 0)

_VERSION = 1
_SEEN_BYTES = WINDOW // 8
# Version, time, head, its token, which of the window were there, lowest id, told, and the zone.
_FORMAT = struct.Struct(f'>BIQQ{_SEEN_BYTES}sQQQQQ')
_CHECKSUM = struct.Struct('>I')


class Figures(NamedTuple):
    """Figures of the feed for a position, of one statement: they tell if it is as it was.

    `lowest` and `newest` are None in an empty feed. `token` is that of the entry at the head, None
    where there is no such entry.
    """

    lowest: int | None
    newest: int | None
    in_window: int
    token: int | None
    in_zone: int


@dataclasses.dataclass(frozen=True, slots=True)
class FollowerPosition:
    """The state of the feed when a follower read it last, and how much of it was told.

    `head` is the highest id of that moment and `token` the random number of its entry, by which
    another database is recognised. Of `WINDOW` ids up to the head, `seen` has a bit for each that
    was there, the head's being the lowest. `zone` has all ids below the window that were missing,
    and `lowest` was the lowest id. What was told are the entries up to `told`. `at` is the time in
    seconds since 1970, by which nothing but the lag of a node is judged.
    """

    head: int
    token: int
    seen: int
    lowest: int
    told: int
    at: int
    zone: Zone = NO_ZONE

    @property
    def window_start(self) -> int:
        """The lowest id of the window, which may be below all ids."""
        return window_start(self.head)

    @property
    def has_more(self) -> bool:
        """True if there were entries that are not told yet."""
        return self.told < self.head

    @property
    def seen_ids(self) -> frozenset[int]:
        """The ids of the window that were there."""
        return frozenset(self.head - number for number in range(WINDOW) if self.seen >> number & 1)

    def is_unchanged(self, figures: Figures) -> bool:
        """Return whether the feed is as it was, and all of it was told."""
        known = Figures(
            self.lowest, self.head, self.seen.bit_count(), self.token, self.zone.entries
        )
        return not self.has_more and figures == known

    def encoded(self) -> str:
        """The token of a follower: letters, digits, `-` and `_`."""
        content = _FORMAT.pack(
            _VERSION,
            self.at,
            self.head,
            self.token,
            self.seen.to_bytes(_SEEN_BYTES, 'big'),
            self.lowest,
            self.told,
            *self.zone,
        )
        content += _CHECKSUM.pack(zlib.crc32(content))
        return base64.urlsafe_b64encode(content).decode().rstrip('=')

    @classmethod
    def decoded(cls, text: str) -> Self:
        """The position of a token; raises `ValueError` for what is none of this version."""
        try:
            content = base64.b64decode(text + '=' * (-len(text) % 4), '-_', validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError('it is not encoded as tokens are') from error
        body, checksum = content[: -_CHECKSUM.size], content[-_CHECKSUM.size :]
        if len(body) != _FORMAT.size or _CHECKSUM.pack(zlib.crc32(body)) != checksum:
            raise ValueError('it is incomplete or was altered')
        version, at, head, token, seen, lowest, told, *zone = _FORMAT.unpack(body)
        position = cls(head, token, int.from_bytes(seen, 'big'), lowest, told, at, Zone(*zone))
        if version != _VERSION or not position._is_possible:
            raise ValueError('it is of another version')
        return position

    @property
    def _is_possible(self) -> bool:
        """True if the database can be asked about this position."""
        numbers = (self.head, self.token, self.lowest, self.told, *self.zone)
        return max(numbers) < 2**63 and self.told <= self.head


def window_start(head: int) -> int:
    """The lowest id of the window below a head."""
    return head - WINDOW + 1


def bitmap(head: int, ids: frozenset[int]) -> int:
    """The bits for those ids of a window that are there."""
    return sum(1 << (head - one) for one in ids if window_start(head) <= one <= head)
