# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk as JSON (specification: insight, "The cloud in bulk").

Members of a provider have the names and values that the newest version of the API gives them.
"""

import datetime
import json
from collections.abc import Callable, Iterable, Set

from placement.http import views
from placement.http.reply import JSONPieces
from placement.objects.trait import listing_order
from placement.schemas.usage import UNKNOWN_TYPE
from placement.search.model.kind import ProviderKind
from placement.search.model.provider import Provider
from placement_insight.bulk.pages import CloudConsumer, CloudProvider, CloudTree, UsageSum
from placement_insight.paging import members

INVENTORIES, USAGES, TRAITS = 'inventories', 'usages', 'traits'
AGGREGATES, ALLOCATIONS = 'aggregates', 'allocations'


# Lists of names of a provider, in the order of answers.
LISTS: dict[str, Callable[[Provider], list[str]]] = {
    TRAITS: lambda record: sorted(record.traits, key=listing_order),
    AGGREGATES: lambda record: sorted(record.aggregates),
}


def providers_text(providers: Iterable[CloudProvider], included: Set[str]) -> str:
    """Render providers with their included members as a JSON array.

    Most hosts of a cloud share their inventories, traits and aggregates with others, so these are
    encoded once for each kind of provider.
    """
    shared = [name for name in OF_KIND if name in included]
    encoded: dict[ProviderKind, str] = {}
    texts = []
    for provider in providers:
        kind = provider.record.kind
        if kind not in encoded:
            parts = (f', "{name}": {OF_KIND[name](provider.record)}' for name in shared)
            encoded[kind] = ''.join(parts)
        own = _own_members(provider, included)
        texts.append(f'{json.dumps(own)[:-1]}{encoded[kind]}}}')
    return f'[{", ".join(texts)}]'


def trees_text(trees: Iterable[CloudTree], included: Set[str]) -> str:
    """Render sums of trees, with the included members of their roots, as a JSON array."""
    # One by one: a thousand dictionaries at a time would trigger the garbage collector.
    return f'[{", ".join(json.dumps(_tree(tree, included)) for tree in trees)}]'


def _tree(tree: CloudTree, included: Set[str]) -> dict[str, object]:
    row, root, sums, fullest_name = tree
    fullest = sums.fullest
    shown = {
        'root': members(row, 'uuid', 'name'),
        **members(sums, 'providers', 'disabled', 'over_capacity'),
        'sharing': root.kind.profile.is_sharing,
        'resources': {
            name: {'capacity': one.capacity, 'used': one.used, 'free': one.free}
            for name, one in sums.resources.items()
        },
        'fullest': fullest
        and {
            'provider': {'uuid': fullest.provider, 'name': fullest_name},
            **members(fullest, 'resource_class', 'capacity', 'used'),
        },
    }
    return shown | {part: LISTS[part](root) for part in LISTS if part in included}


def _own_members(provider: CloudProvider, included: Set[str]) -> dict[str, object]:
    row, record, allocations = provider
    own = members(row, 'uuid', 'name', 'generation', 'parent_provider_uuid', 'root_provider_uuid')
    if USAGES in included:
        own[USAGES] = dict(zip(record.kind.profile.classes, record.used, strict=True))
    if ALLOCATIONS in included:
        own[ALLOCATIONS] = views.provider_allocations(row.generation, allocations)[ALLOCATIONS]
    return own


def _inventories(record: Provider) -> str:
    # The members of `views.inventory`, without a dictionary, which would cost a third of the time
    # of a page where all hosts differ.
    texts = [
        f'"{name}": {{"total": {rule.total}, "reserved": {rule.reserved}, '
        f'"min_unit": {rule.min_unit}, "max_unit": {rule.max_unit}, '
        f'"step_size": {rule.step_size}, "allocation_ratio": {json.dumps(rule.allocation_ratio)}}}'
        for name, rule in zip(record.kind.profile.classes, record.kind.capacities, strict=True)
    ]
    return f'{{{", ".join(texts)}}}'


# Renders the members that providers of one kind have in common.
OF_KIND: dict[str, Callable[[Provider], str]] = {
    INVENTORIES: _inventories,
    TRAITS: lambda record: json.dumps(LISTS[TRAITS](record)),
    AGGREGATES: lambda record: json.dumps(LISTS[AGGREGATES](record)),
}


def consumer(listed: CloudConsumer) -> dict[str, object]:
    """Return a consumer: its uuid, its times, and the members of `GET /allocations/{uuid}`."""
    row, allocations = listed
    return {
        'uuid': row.uuid,
        'created_at': _time(row.created_at),
        'updated_at': _time(row.updated_at),
        **views.consumer_allocations(allocations, row),
    }


def usage_sum(sum_: UsageSum, member: str) -> dict[str, object]:
    """Return the usage of one project, user, type or aggregate, named by `member`."""
    return {
        member: sum_.name or UNKNOWN_TYPE,
        'consumer_count': sum_.consumers,
        'resources': sum_.used,
    }


def _time(time: datetime.datetime | None) -> str | None:
    """Return a time, UTC without time zone, in ISO 8601."""
    return None if time is None else f'{time.isoformat()}Z'


def page(name: str, items: str, members: dict[str, object]) -> JSONPieces:
    """Return a page: its items, a JSON array, under their name, and further members."""
    text = f'{{{json.dumps(name)}: {items}, {json.dumps(members)[1:]}'
    return JSONPieces([text.encode()])
