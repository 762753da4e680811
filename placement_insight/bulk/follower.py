# SPDX-License-Identifier: Apache-2.0
"""The change feed for clients, which follow it from one token to the next.

A client gets each change since its token at least once, and some of them twice. `FollowerToken` is
a position in the feed, encoded as a short text; `FollowedFeed` reads the entries after it.
"""

import base64
import dataclasses
import enum
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple, Self

from placement.db.rows import Connection
from placement.db.schema.own_tables import NO_PROVIDER
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import Position, Reload, Zone
from placement_insight.bulk import statements

# Number of ids before the head of which a token records whether they were present.
WINDOW = 256

# Number of complete ids below the window that are counted again: a lagging node of a cluster may
# lack one that appeared late.
COUNTED = 2_000

_VERSION = 2
_SEEN_BYTES = WINDOW // 8
# Version, time, head, the token of the head, a bit for each id of the window that was present, the
# lowest id, the number of entries below the window, and the last delivered id.
_FORMAT = struct.Struct(f'>BIQQ{_SEEN_BYTES}sQQQ')
_CHECKSUM = struct.Struct('>I')

# Maximum age in seconds of a token at which missing entries are put down to the lag of a cluster
# node. Entries that an older token knows, and that are missing, are lost.
MAX_LAG_SECONDS = 60

# Number of entries read for each provider of an answer: most providers have several.
ENTRIES_FOR_EACH = 5


class FollowerToken(NamedTuple):
    """A client's position in the feed.

    `position` is the head of the feed at the last read, and `delivered` the id of the last entry
    that the client has. `at` is the time in seconds since 1970; it matters only for the lag of a
    node.
    """

    position: Position
    delivered: int
    at: int

    @property
    def has_more(self) -> bool:
        """True if entries up to this position remain to be delivered."""
        return self.delivered < self.position.head

    def encoded(self) -> str:
        """Return the token as text of letters, digits, `-` and `_`."""
        position = self.position.narrowed(WINDOW)
        seen = sum(1 << (position.head - entry_id) for entry_id in position.window)
        below = position.in_zones if position.zones else position.start - position.lowest
        content = _FORMAT.pack(
            _VERSION,
            self.at,
            position.head,
            position.token,
            seen.to_bytes(_SEEN_BYTES, 'big'),
            position.lowest,
            below,
            self.delivered,
        )
        content += _CHECKSUM.pack(zlib.crc32(content))
        return base64.urlsafe_b64encode(content).decode().rstrip('=')

    @classmethod
    def decoded(cls, text: str) -> Self:
        """Parse the text of a token.

        :raises ValueError: it is no token, or one of another version
        """
        try:
            content = base64.b64decode(text + '=' * (-len(text) % 4), '-_', validate=True)
        except ValueError as error:
            raise ValueError('it is not encoded as tokens are') from error
        body, checksum = content[: -_CHECKSUM.size], content[-_CHECKSUM.size :]
        if len(body) != _FORMAT.size or _CHECKSUM.pack(zlib.crc32(body)) != checksum:
            raise ValueError('it is incomplete or was altered')
        version, at, head, token, seen, lowest, below, delivered = _FORMAT.unpack(body)
        bits = int.from_bytes(seen, 'big')
        window = tuple(head - number for number in reversed(range(WINDOW)) if bits >> number & 1)
        position = Position(lowest, token, window)
        ids = position.start - lowest
        # The ids fit the columns of the database, and each other.
        is_possible = max(head, token) < 2**63 and 0 <= below <= ids and delivered <= head
        if version != _VERSION or not is_possible or position.head != head:
            raise ValueError('it is of another version')
        start = lowest if below < ids else max(lowest, position.start - COUNTED)
        if start < position.start:
            zone = Zone(start, position.start, below - (start - lowest))
            position = dataclasses.replace(position, zones=(zone,))
        return cls(position, delivered, at)


class Change(NamedTuple):
    """A provider that changed; `deleted_uuid` is its uuid before it was deleted or renumbered."""

    provider_id: int
    deleted_uuid: str | None


class Batch(NamedTuple):
    """Changes since a token, and the token after them."""

    changes: Sequence[Change]
    token: FollowerToken


class Interruption(enum.Enum):
    """The reason for no batch: the database node lags behind the token, or entries are lost."""

    BEHIND = 'behind'
    LOST = 'lost'


class FollowedFeed:
    """The change feed in a transaction whose statements all see one moment.

    `now` is the time in seconds since 1970.
    """

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._feed = ChangeFeed(connection)
        self._now = int(now)

    def token(self) -> FollowerToken:
        """Return the token of a client that has read all entries."""
        position = self._feed.position(has_one_zone=True)
        return FollowerToken(position, position.head, self._now)

    def is_unchanged(self, token: FollowerToken) -> bool:
        """True if the feed has not changed since the token, and all entries were delivered."""
        return not token.has_more and self._feed.is_unchanged(token.position)

    def is_behind(self, token: FollowerToken) -> bool:
        """True if the transaction sees an earlier moment than the token's."""
        return self._delivered(token) is Interruption.BEHIND

    def read(self, token: FollowerToken, limit: int) -> Batch | Interruption:
        """Return the first `limit` changes since a token, the oldest first."""
        delivered = self._delivered(token)
        if isinstance(delivered, Interruption):
            return delivered
        entries = statements.list_entries(self._connection, delivered, limit * ENTRIES_FOR_EACH)
        changes: dict[Change, None] = {}
        for entry_id, provider_id, uuid in entries:
            if provider_id != NO_PROVIDER:
                changes[Change(provider_id, uuid)] = None
            if len(changes) > limit:
                changes.popitem()
                break
            delivered = entry_id
        # The position is read here: that of this worker's snapshot may be of a later moment than
        # the transaction.
        return Batch(tuple(changes), self.token()._replace(delivered=delivered))

    def _delivered(self, token: FollowerToken) -> int | Interruption:
        """Return the last delivered id before any entry that has appeared late."""
        position = token.position
        reading = self._feed.read_window(position, position.head)
        missed = position.missed(reading)
        if missed is Reload.OTHER and position.is_of_same_database(reading):
            is_recent = abs(self._now - token.at) < MAX_LAG_SECONDS
            return Interruption.BEHIND if is_recent else Interruption.LOST
        if isinstance(missed, Reload) or reading.lowest is None:
            return Interruption.LOST
        delivered = min([token.delivered, *(entry_id - 1 for entry_id in missed)])
        return delivered if delivered >= reading.lowest - 1 else Interruption.LOST
