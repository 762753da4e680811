# SPDX-License-Identifier: Apache-2.0
"""Claims as request bodies describe them (specification: allocations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement.conf import ConfigOpts
from placement.objects.claim.claim import Claim


def from_bodies(conf: ConfigOpts, bodies: Mapping[str, Any]) -> list[Claim]:
    """One claim per consumer, in the order of `bodies`.

    `bodies` maps consumer uuids to validated bodies of the newest shape. A consumer for which the
    client could send no owner gets the configured project and user of incomplete consumers.
    """
    owner = (
        conf.placement.incomplete_consumer_project_id,
        conf.placement.incomplete_consumer_user_id,
    )
    return [Claim.from_body(uuid, body, *owner) for uuid, body in bodies.items()]
