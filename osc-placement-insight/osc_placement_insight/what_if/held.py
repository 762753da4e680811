# SPDX-License-Identifier: Apache-2.0
"""What consumers hold, of all resource providers together."""

from __future__ import annotations

from collections.abc import Iterable

from osc_placement_insight.audit.model import Resources, added
from osc_placement_insight.service import Service

CONSUMERS = '/insight/consumers'
PAGE = ('page_limit', '1000')


def by_all(service: Service) -> dict[str, Resources]:
    """What each consumer of the cloud holds."""
    return _held(service, [])


def by_holders_of(service: Service, providers: Iterable[str]) -> dict[str, Resources]:
    """What those hold in all who hold something of one of these providers."""
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
