# SPDX-License-Identifier: Apache-2.0
"""How nova moves a server to another host, by the state that it is in."""

from __future__ import annotations

from typing import NamedTuple

from osc_placement_insight.what_if.nova import Server


class Way(NamedTuple):
    """A way of moving a server in words, or why it cannot be moved now."""

    words: str
    is_live: bool = False
    is_cold: bool = False


LIVE = Way('live', is_live=True)
COLD = Way('cold, to be confirmed', is_cold=True)
BY_STATUS = {
    'ACTIVE': LIVE,
    'PAUSED': LIVE,
    'SHUTOFF': COLD,
    'ERROR': Way('not: in error'),
    'VERIFY_RESIZE': Way('not: to be confirmed or reverted first'),
}


def way_of(server: Server | None) -> Way:
    """How a server is moved; None is one that nova does not know."""
    if server is None:
        return Way('not: nova has no such server')
    if server.is_locked:
        return Way('not: locked')
    if server.task is not None:
        return Way(f'not: busy ({server.task})')
    status = server.status
    return BY_STATUS.get(status) or Way(f'not: {status.lower().replace("_", " ")}')
