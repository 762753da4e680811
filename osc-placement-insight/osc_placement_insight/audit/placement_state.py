# SPDX-License-Identifier: Apache-2.0
"""Reads all that an audit needs of placement, in bulk.

Specification: insight, "The cloud in bulk".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from osc_placement_insight.audit.model import Consumer, Inventory, PlacementState, Provider
from osc_placement_insight.compute import Tell
from osc_placement_insight.service import Query, Service

PAGE_LIMIT = '1000'
UNKNOWN_TYPE = 'unknown'
_CUSTOM = 'CUSTOM_'
_INCLUDED = [('include', 'inventories,usages,traits')]


def read(service: Service, tell: Tell) -> PlacementState:
    """All providers and consumers.

    A page shows one moment, and the pages different ones: what seems wrong has to be read again.

    :raises osc_lib.exceptions.CommandError: a service refuses or does not answer
    """
    providers = {
        row['uuid']: provider(row) for row in _rows(service, 'providers', _INCLUDED, tell)
    }
    consumers = {row['uuid']: consumer(row) for row in _rows(service, 'consumers', (), tell)}
    return PlacementState(
        providers,
        consumers,
        _unused_traits(service),
        _unused_classes(service, providers, consumers),
    )


def _rows(service: Service, member: str, query: Query, tell: Tell) -> Iterator[dict[str, Any]]:
    """The elements of all pages below /insight, telling how many were read."""
    count = 0
    for page in service.pages(f'/insight/{member}', [*query, ('page_limit', PAGE_LIMIT)]):
        count += len(page[member])
        tell(f'reading {member} of placement: {count}')
        yield from page[member]


def provider(row: dict[str, Any]) -> Provider:
    """A provider as a page shows it."""
    return Provider(
        row['uuid'],
        row['name'],
        row['generation'],
        row['root_provider_uuid'],
        {name: _inventory(one) for name, one in row['inventories'].items()},
        row['usages'],
        frozenset(row['traits']),
    )


def _inventory(row: dict[str, Any]) -> Inventory:
    return Inventory(row['total'], row['reserved'], row['allocation_ratio'])


def consumer(row: dict[str, Any]) -> Consumer:
    """A consumer as a page shows it."""
    type_ = row['consumer_type']
    return Consumer(
        row['uuid'],
        row['consumer_generation'],
        row['project_id'],
        row['user_id'],
        None if type_ == UNKNOWN_TYPE else type_,
        {uuid: one['resources'] for uuid, one in row['allocations'].items()},
    )


def find_consumer(service: Service, uuid: str) -> Consumer | None:
    """The current state of a consumer, even without allocations; None if it does not exist.

    ``GET /allocations/{consumer}`` does not show a consumer without allocations.

    :raises osc_lib.exceptions.CommandError: the service refuses or does not answer
    """
    query = [('page_limit', '1'), *_after(uuid)]
    rows = service.ask('/insight/consumers', query)['consumers']
    return consumer(rows[0]) if rows and rows[0]['uuid'] == uuid else None


def _after(uuid: str) -> list[tuple[str, str]]:
    """The marker of the page that begins with a uuid, if that exists."""
    number = int(uuid.replace('-', ''), 16)
    if number == 0:
        return []
    digits = f'{number - 1:032x}'
    parts = [digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]
    return [('marker', '-'.join(parts))]


def _unused_traits(service: Service) -> frozenset[str]:
    """The custom traits that no provider has."""
    query: Mapping[str, str] = {'name': f'startswith:{_CUSTOM}', 'associated': 'false'}
    return frozenset(service.ask('/traits', query.items())['traits'])


def _unused_classes(
    service: Service, providers: Mapping[str, Provider], consumers: Mapping[str, Consumer]
) -> frozenset[str]:
    """The custom resource classes without inventories and allocations."""
    names = {one['name'] for one in service.ask('/resource_classes')['resource_classes']}
    had = {name for one in providers.values() for name in one.inventories}
    held = {name for one in consumers.values() for name in one.amounts}
    return frozenset(name for name in names if name.startswith(_CUSTOM)) - had - held
