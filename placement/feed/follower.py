# SPDX-License-Identifier: Apache-2.0
"""The change feed as a follower outside reads it, from one token to the next.

A follower gets what changed since its token: never too little, and now and then something once
more. `FollowerToken` is a position in the feed as a short text, and `FollowedFeed` what one
transaction sees after it.
"""

import base64
import binascii
import dataclasses
import enum
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple, Self

import sqlalchemy as sa

from placement.db.schema.own_tables import NO_PROVIDER, change_feed
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import Position, Reload, Zone

# A token says of so many of the last ids whether they were there.
WINDOW = 256

# Of ids below the window that were all there, so many are counted again: a node of a cluster that
# lags behind may lack one that appeared late. To count them takes MariaDB 0.25 ms.
COUNTED = 2_000

_VERSION = 2
_SEEN_BYTES = WINDOW // 8
# Version, time, head, its token, which ids of the window were there, the lowest id, how many
# entries there were below the window, and how far entries were delivered.
_FORMAT = struct.Struct(f'>BIQQ{_SEEN_BYTES}sQQQ')
_CHECKSUM = struct.Struct('>I')

# For so many seconds after a token was made, a database that lacks what the token knows may be a
# node of a cluster that has not applied it yet.
MAX_LAG_SECONDS = 60

# Entries that are read for each provider that an answer may have: mostly a provider has several.
ENTRIES_FOR_EACH = 5

_ENTRIES = (
    sa.select(change_feed.c.id, change_feed.c.provider_id, change_feed.c.deleted_uuid)
    .where(change_feed.c.id > sa.bindparam('delivered'))
    .order_by(change_feed.c.id)
    .limit(sa.bindparam('limit'))
)


@dataclasses.dataclass(frozen=True, slots=True)
class FollowerToken:
    """The position of the feed when a follower read it last, and how much of it was delivered.

    The follower has the entries up to the id `delivered`. `at` is the time in seconds since 1970,
    by which nothing but the lag of a node is judged.
    """

    position: Position
    delivered: int
    at: int

    @property
    def has_more(self) -> bool:
        """True if there were entries that are not delivered yet."""
        return self.delivered < self.position.head

    def encoded(self) -> str:
        """The text for the follower: letters, digits, `-` and `_`."""
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
        """The token of a text; raises `ValueError` for what is none of this version."""
        try:
            content = base64.b64decode(text + '=' * (-len(text) % 4), '-_', validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError('it is not encoded as tokens are') from error
        body, checksum = content[: -_CHECKSUM.size], content[-_CHECKSUM.size :]
        if len(body) != _FORMAT.size or _CHECKSUM.pack(zlib.crc32(body)) != checksum:
            raise ValueError('it is incomplete or was altered')
        version, at, head, token, seen, lowest, below, delivered = _FORMAT.unpack(body)
        bits = int.from_bytes(seen, 'big')
        window = tuple(head - number for number in reversed(range(WINDOW)) if bits >> number & 1)
        position = Position(lowest, token, window)
        ids = position.start - lowest
        # That the database can be asked about it; an empty feed has no head.
        is_possible = max(head, token) < 2**63 and 0 <= below <= ids and delivered <= head
        if version != _VERSION or not is_possible or position.head != head:
            raise ValueError('it is of another version')
        start = lowest if below < ids else max(lowest, position.start - COUNTED)
        if start < position.start:
            zone = Zone(start, position.start, below - (start - lowest))
            position = dataclasses.replace(position, zones=(zone,))
        return cls(position, delivered, at)


class Change(NamedTuple):
    """A provider that changed; with a uuid one that was deleted, or has another uuid now."""

    provider_id: int
    deleted_uuid: str | None


class Batch(NamedTuple):
    """Changes since a token, and the token after them."""

    changes: Sequence[Change]
    token: FollowerToken


class Interruption(enum.Enum):
    """Why there is no batch: what the token knows is not here yet, or it is not here at all."""

    BEHIND = 'behind'
    LOST = 'lost'


class FollowedFeed:
    """The change feed, as a transaction sees it whose statements all see one moment.

    `now` is the time in seconds since 1970.
    """

    def __init__(self, connection: sa.Connection, now: float) -> None:
        self._connection = connection
        self._feed = ChangeFeed(connection)
        self._now = int(now)

    def token(self) -> FollowerToken:
        """The token of somebody who has read everything that the transaction sees."""
        position = self._feed.position(has_one_zone=True)
        return FollowerToken(position, position.head, self._now)

    def is_unchanged(self, token: FollowerToken) -> bool:
        """Return whether the feed is as a token has it, and all of it was delivered."""
        return not token.has_more and self._feed.is_unchanged(token.position)

    def is_behind(self, token: FollowerToken) -> bool:
        """Return whether the transaction sees a moment before that of a token."""
        return self._delivered(token) is Interruption.BEHIND

    def read(self, token: FollowerToken, limit: int) -> Batch | Interruption:
        """At most so many of the changes since a token, the oldest of them first."""
        delivered = self._delivered(token)
        if isinstance(delivered, Interruption):
            return delivered
        values = {'delivered': delivered, 'limit': limit * ENTRIES_FOR_EACH}
        changes: dict[Change, None] = {}
        for entry_id, provider_id, uuid in self._connection.execute(_ENTRIES, values).all():
            if provider_id != NO_PROVIDER:
                changes[Change(provider_id, uuid)] = None
            if len(changes) > limit:
                changes.popitem()
                break
            delivered = entry_id
        # Read again, and not what this worker knows of the feed for its own searches: that can be
        # of a later moment than the transaction.
        return Batch(tuple(changes), dataclasses.replace(self.token(), delivered=delivered))

    def _delivered(self, token: FollowerToken) -> int | Interruption:
        """The id up to which entries were delivered, below those that have appeared late."""
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
