# SPDX-License-Identifier: Apache-2.0
"""Loading of a cloud through the objects of the service, in few transactions."""

from collections.abc import Sequence

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.transaction import in_transaction
from placement.objects import aggregate, inventory, trait
from placement.objects.allocation import AllocationList
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.objects.trait import Trait, TraitList
from placement_insight.demo_cloud.cloud import Cloud, DemoProvider, Inventories, uuid_of

PROVIDERS_PER_TRANSACTION = 250
CLAIMS_PER_TRANSACTION = 500


def load(database: Database, cloud: Cloud) -> None:
    """Write a cloud to a database with tables and standard names, and without providers.

    :raises PlacementError: an object refuses a part of it
    """
    context = RequestContext(database)
    _ensure_traits(context, cloud.providers)
    for start in range(0, len(cloud.providers), PROVIDERS_PER_TRANSACTION):
        _create_providers(context, cloud.providers[start : start + PROVIDERS_PER_TRANSACTION])
    for start in range(0, len(cloud.claims), CLAIMS_PER_TRANSACTION):
        AllocationList.replace(context, cloud.claims[start : start + CLAIMS_PER_TRANSACTION])


@in_transaction(Mode.WRITE)
def _ensure_traits(context: RequestContext, providers: Sequence[DemoProvider]) -> None:
    names = {name for provider in providers for name in provider.traits}
    for name in sorted(filter(trait.is_custom_name, names)):
        Trait.ensure(context, name)


@in_transaction(Mode.WRITE)
def _create_providers(context: RequestContext, providers: Sequence[DemoProvider]) -> None:
    created = []
    for provider in providers:
        parent = None if provider.parent is None else provider.parent.uuid
        created.append(ResourceProvider.create(context, provider.uuid, provider.name, parent))
    bodies = [_inventories(context, provider.inventories) for provider in providers]
    # In one call: provider by provider, inventories would take a third of the whole time.
    inventory.write(context, list(zip(created, bodies, strict=True)), keep_others=True)
    for provider, record in zip(providers, created, strict=True):
        TraitList.replace(context, record, sorted(provider.traits), record.generation)
        if provider.aggregates:
            uuids = [uuid_of(name) for name in provider.aggregates]
            aggregate.replace(context, record, uuids, record.generation)


def _inventories(context: RequestContext, inventories: Inventories) -> InventoryList:
    bodies = {name: {'max_unit': body['total'], **body} for name, body in inventories.items()}
    return InventoryList.from_bodies(context, bodies)
