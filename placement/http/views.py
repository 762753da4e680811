# SPDX-License-Identifier: Apache-2.0
"""Views: objects and rows as JSON in the newest shape.

A view only reads attributes, so it accepts versioned objects and plain rows alike.
"""

import collections
import datetime
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from placement.objects.inventory import MEMBERS as INVENTORY_MEMBERS
from placement.schemas.usage import ALL_TYPES, UNKNOWN_TYPE

PROVIDER_LINKS = ('inventories', 'usages', 'aggregates', 'traits', 'allocations')
NOTHING_SENT: Mapping[str, Any] = MappingProxyType({})


def modified_at(record: Any) -> datetime.datetime | None:
    """The time of the last change of a record, or of its creation."""
    return record.updated_at or record.created_at


def latest(times: Iterable[datetime.datetime | None]) -> datetime.datetime | None:
    """The latest of some times, or None."""
    return max((time for time in times if time is not None), default=None)


def provider_path(uuid: str) -> str:
    """The path of a provider below the mount point."""
    return f'/resource_providers/{uuid}'


def resource_class_path(name: str) -> str:
    """The path of a resource class below the mount point."""
    return f'/resource_classes/{name}'


def provider(provider: Any, mount_point: str) -> dict[str, Any]:
    """A resource provider (specification: resource_providers, "Representation")."""
    path = mount_point + provider_path(provider.uuid)
    links = [{'rel': 'self', 'href': path}]
    links.extend({'rel': rel, 'href': f'{path}/{rel}'} for rel in PROVIDER_LINKS)
    return {
        'uuid': provider.uuid,
        'name': provider.name,
        'generation': provider.generation,
        'links': links,
        'parent_provider_uuid': provider.parent_provider_uuid,
        'root_provider_uuid': provider.root_provider_uuid,
    }


def inventory(inventory: Any, sent: Mapping[str, Any] = NOTHING_SENT) -> dict[str, Any]:
    """The six members of an inventory.

    Specification: inventories, "Representation of one inventory".
    """
    return {
        name: sent[name] if name in sent else getattr(inventory, name)
        for name in INVENTORY_MEMBERS
    }


def inventories(
    generation: int, inventories: Iterable[Any], sent: Mapping[str, Any] = NOTHING_SENT
) -> dict[str, Any]:
    """Every inventory of a provider, by resource class.

    `sent` holds the inventories of a write, which replace the stored values: 8.0 is repeated as
    8.0.
    """
    shown = {
        record.resource_class: inventory(record, sent.get(record.resource_class, NOTHING_SENT))
        for record in inventories
    }
    return {'resource_provider_generation': generation, 'inventories': shown}


def one_inventory(
    generation: int, record: Any, sent: Mapping[str, Any] = NOTHING_SENT
) -> dict[str, Any]:
    """A single inventory with the generation of its provider; `sent` as for all."""
    return inventory(record, sent) | {'resource_provider_generation': generation}


def provider_usages(generation: int, usages: Iterable[Any]) -> dict[str, Any]:
    """The usages of a provider by resource class (specification: usages)."""
    return {
        'resource_provider_generation': generation,
        'usages': {record.resource_class: record.used for record in usages},
    }


def usages_by_type(usages: Iterable[Any], consumer_type: str | None = None) -> dict[str, Any]:
    """The usages of a project by type of consumer, each with the number of consumers.

    With `consumer_type`, that type only, or the sums over all types.
    """
    types: dict[str, dict[str, int]] = {}
    for record in usages:
        of_type = types.setdefault(
            record.consumer_type or UNKNOWN_TYPE, {'consumer_count': record.consumer_count}
        )
        of_type[record.resource_class] = record.used
    if consumer_type == ALL_TYPES:
        totals: collections.Counter[str] = collections.Counter()
        for of_type in types.values():
            totals.update(of_type)
        types = {ALL_TYPES: dict(totals)} if totals else {}
    elif consumer_type is not None:
        types = {name: of_type for name, of_type in types.items() if name == consumer_type}
    return {'usages': types}


def aggregates(generation: int, uuids: Iterable[str]) -> dict[str, Any]:
    """The aggregates of a provider (specification: aggregates)."""
    return {'aggregates': list(uuids), 'resource_provider_generation': generation}


def provider_traits(generation: int, traits: Iterable[Any]) -> dict[str, Any]:
    """The traits of a provider (specification: traits)."""
    return {
        'traits': [trait.name for trait in traits],
        'resource_provider_generation': generation,
    }


def resource_class(name: str, mount_point: str) -> dict[str, Any]:
    """A resource class (specification: resource_classes)."""
    return {
        'name': name,
        'links': [{'rel': 'self', 'href': mount_point + resource_class_path(name)}],
    }


def consumer_allocations(allocations: Iterable[Any], consumer: Any) -> dict[str, Any]:
    """The allocations of a consumer by provider; `consumer` is None if there are none."""
    by_provider: dict[str, dict[str, Any]] = {}
    for record in allocations:
        entry = by_provider.setdefault(
            record.provider_uuid, {'resources': {}, 'generation': record.provider_generation}
        )
        entry['resources'][record.resource_class] = record.used
    body: dict[str, Any] = {'allocations': by_provider}
    if consumer is not None:
        body |= {
            'project_id': consumer.project_id,
            'user_id': consumer.user_id,
            'consumer_generation': consumer.generation,
            'consumer_type': consumer.consumer_type or UNKNOWN_TYPE,
        }
    return body


def provider_allocations(generation: int, allocations: Iterable[Any]) -> dict[str, Any]:
    """The allocations of a provider by consumer (specification: allocations)."""
    by_consumer: dict[str, dict[str, Any]] = {}
    for record in allocations:
        entry = by_consumer.setdefault(
            record.consumer_uuid,
            {'resources': {}, 'consumer_generation': record.consumer_generation},
        )
        entry['resources'][record.resource_class] = record.used
    return {'resource_provider_generation': generation, 'allocations': by_consumer}


def versions(oldest: str, newest: str) -> Mapping[str, Any]:
    """The document at the root (specification: root)."""
    return {
        'versions': [
            {
                'id': f'v{oldest}',
                'max_version': newest,
                'min_version': oldest,
                'status': 'CURRENT',
                'links': [{'rel': 'self', 'href': ''}],
            }
        ]
    }
