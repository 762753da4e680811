# SPDX-License-Identifier: Apache-2.0
"""The ways in which nova moves a server to another host, by the state of the server."""

from __future__ import annotations

from typing import NamedTuple

from osc_placement_insight.what_if.nova import Server


class Way(NamedTuple):
    """A way of moving a server, or what hinders that now."""

    name: str = ''
    hindrance: str = ''
    is_live: bool = False
    is_cold: bool = False

    @property
    def words(self) -> str:
        """The way to move it, or the reason why it cannot be moved."""
        return f'not: {self.hindrance}' if self.hindrance else self.name


LIVE = Way('live', is_live=True)
COLD = Way('cold, to be confirmed', is_cold=True)
BY_STATUS = {
    'ACTIVE': LIVE,
    'PAUSED': LIVE,
    'SHUTOFF': COLD,
    'ERROR': Way(hindrance='in error'),
    'VERIFY_RESIZE': Way(hindrance='to be confirmed or reverted first'),
}


def way_of(server: Server | None) -> Way:
    """The way to move a server; None is a server unknown to nova."""
    if server is None:
        return Way(hindrance='nova has no such server')
    if server.is_locked:
        return Way(hindrance='locked')
    if server.task is not None:
        return Way(hindrance=f'busy ({server.task})')
    status = server.status
    return BY_STATUS.get(status) or Way(hindrance=status.lower().replace('_', ' '))
