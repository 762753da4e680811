# SPDX-License-Identifier: Apache-2.0
"""The answer of a handler, in its newest shape."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

CREATED = 201


@dataclasses.dataclass(frozen=True, slots=True)
class JSONPieces:
    """A body that is JSON already, as bytes that are sent one after the other.

    A large answer is held once so: as one text it would be held as text, as bytes, and while it is
    put together.
    """

    pieces: Sequence[bytes]

    @property
    def size(self) -> int:
        """The number of bytes of all pieces."""
        return sum(map(len, self.pieces))


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """A reply; `dispatch` gives it the shape of the version asked for.

    `body` is what becomes JSON, or is it already, or None for an answer without body.
    `location` is the path of what was made, to which scheme, host and mount point are added.
    Since there are cache headers (specification: http, "Cache headers") an answer with a body has
    them; `has_cache_headers` says otherwise.
    `last_modified` is UTC without time zone; None means now. What shows nothing that has a time
    `omit_last_modified`: it may not be kept either, but does not say when it was modified.
    `headers` are sent beside those that every answer has.
    """

    body: Any = None
    status: int = 200
    location: str | None = None
    last_modified: datetime.datetime | None = None
    has_cache_headers: bool | None = None
    omit_last_modified: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_cacheable(self) -> bool:
        """Test whether the answer says when it was last modified."""
        return self.body is not None if self.has_cache_headers is None else self.has_cache_headers

    def with_body(self, body: Any) -> Reply:
        """A copy with another body."""
        return dataclasses.replace(self, body=body)


NO_CONTENT = Reply(status=204)
