# SPDX-License-Identifier: Apache-2.0
"""Changes of a consumer or a server, while others audit or repair it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.audit.nova import Migration

#: Happens to the subject of a finding.
Change = Callable[[Cloud, str], None]


def gives_back(cloud: Cloud, consumer: str) -> None:
    cloud.send('DELETE', f'/allocations/{consumer}')


def claims_again(cloud: Cloud, consumer: str) -> None:
    cloud.claim(consumer, cloud.amounts(consumer))


def moves(cloud: Cloud, server: str) -> None:
    cloud.nova.migrations['new'] = Migration(server, 'live-migration', 'queued', 'a', 'b', 'new')


def changes_in_nova(**attributes: Any) -> Change:
    """Return a change of a server in nova."""

    def change(cloud: Cloud, server: str) -> None:
        cloud.nova.servers[server] = dataclasses.replace(cloud.nova.servers[server], **attributes)

    return change
