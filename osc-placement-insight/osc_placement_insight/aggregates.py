# SPDX-License-Identifier: Apache-2.0
"""Aggregates of compute hosts, as nova lists them."""

from __future__ import annotations

from typing import NamedTuple

from osc_placement_insight.compute import Compute


class Aggregate(NamedTuple):
    """An aggregate of compute hosts, which may be a zone or a part of one."""

    uuid: str
    name: str
    zone: str | None
    hosts: frozenset[str]


def list_aggregates(compute: Compute) -> list[Aggregate]:
    """All aggregates.

    :raises osc_lib.exceptions.CommandError: nova does not list them
    """
    return [
        Aggregate(row['uuid'], row['name'], row['availability_zone'], frozenset(row['hosts']))
        for row in compute.ask('/os-aggregates')['aggregates']
    ]
