# SPDX-License-Identifier: Apache-2.0
"""The amounts that consumers hold, summed over resource providers."""

from __future__ import annotations

from collections.abc import Iterable

from osc_placement_insight.audit.model import Resources, added
from osc_placement_insight.service import Service

CONSUMERS = '/insight/consumers'
PAGE = ('page_limit', '1000')


def by_all(service: Service) -> dict[str, Resources]:
    """The amounts of each consumer of the cloud."""
    return _held(service, [])


def by_holders_of(service: Service, providers: Iterable[str]) -> dict[str, Resources]:
    """The total amounts of each consumer that holds something of these providers."""
    held = dict[str, Resources]()
    for uuid in providers:
        held |= _held(service, [('provider', uuid)])
    return held


def _held(service: Service, query: list[tuple[str, str]]) -> dict[str, Resources]:
    held = dict[str, Resources]()
    for page in service.pages(CONSUMERS, [PAGE, *query]):
        for row in page['consumers']:
            allocations = row['allocations'].values()
            held[row['uuid']] = added(each['resources'] for each in allocations)
        service.tell(f'reading who holds what: {len(held)}')
    return held
