# SPDX-License-Identifier: Apache-2.0
"""The answer of a handler, in its newest shape."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

NO_BODY = None


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """What to answer; `dispatch` gives it the shape of the version asked for.

    `body` is what becomes JSON, or None for an answer without body. `location` is the path of
    what was made, to which scheme, host and mount point are added. `last_modified` is UTC without
    time zone; it is sent only since there are cache headers (contract: http.md 7).
    """

    body: Any = NO_BODY
    status: int = 200
    location: str | None = None
    last_modified: datetime.datetime | None = None

    def with_body(self, body: Any) -> Reply:
        """A copy with another body."""
        return dataclasses.replace(self, body=body)
