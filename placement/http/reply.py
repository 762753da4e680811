# SPDX-License-Identifier: Apache-2.0
"""The answer of a handler, in its newest shape."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from typing import Any

CREATED = 201


@dataclasses.dataclass(frozen=True, slots=True)
class JSONPieces:
    """A body that is JSON already, in the shape of the version asked for.

    The pieces are sent one after the other, so a large answer is not in memory as text and as
    bytes at the same time.
    """

    pieces: Sequence[bytes]

    @property
    def size(self) -> int:
        """The number of bytes of all pieces."""
        return sum(map(len, self.pieces))


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """A reply in the newest shape; `dispatch` converts it to the requested version."""

    # Serialised as JSON unless it is `JSONPieces`; None for an answer without body.
    body: Any = None
    status: int = 200
    # Path of the created resource, below scheme, host and mount point.
    location: str | None = None
    # UTC without time zone; None means now.
    last_modified: datetime.datetime | None = None
    # Overrides the default: an answer with a body has cache headers, at the versions that have
    # them (specification: http, "Cache headers").
    has_cache_headers: bool | None = None
    # Send no Last-Modified, because the answer shows nothing with a time.
    omit_last_modified: bool = False
    # Additional headers.
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_cacheable(self) -> bool:
        """True if the answer has cache headers."""
        return self.body is not None if self.has_cache_headers is None else self.has_cache_headers

    def with_body(self, body: Any) -> Reply:
        """A copy with another body."""
        return dataclasses.replace(self, body=body)


NO_CONTENT = Reply(status=204)

Handler = Callable[[Any], Reply]
