# SPDX-License-Identifier: Apache-2.0
"""The token with which a follower outside comes back: a position in the feed as a short text."""

import base64
import binascii
import dataclasses
import struct
import zlib
from typing import Self

from placement.feed.position import Position, Zone

# A token says of so many of the last ids whether they were there.
WINDOW = 256

_VERSION = 2
_SEEN_BYTES = WINDOW // 8
# Version, time, head, its token, which ids of the window were there, the lowest id, how many
# entries there were below the window, and how far entries were delivered.
_FORMAT = struct.Struct(f'>BIQQ{_SEEN_BYTES}sQQQ')
_CHECKSUM = struct.Struct('>I')


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
        if below < ids:
            zone = Zone(lowest, position.start, below)
            position = dataclasses.replace(position, zones=(zone,))
        return cls(position, delivered, at)
