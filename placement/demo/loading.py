# SPDX-License-Identifier: Apache-2.0
"""Writes a cloud through the objects of the service, under their rules, in few transactions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.database import Database
from placement.demo.model import Cloud, Consumer, Inventory, Provider, uuid_of
from placement.objects import aggregate, inventory, trait
from placement.objects.claim import transaction
from placement.objects.claim.claim import Claim
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.objects.trait import Trait
from placement.schemas.not_sent import NOT_SENT

PROVIDERS_PER_TRANSACTION = 250
CONSUMERS_PER_TRANSACTION = 500

Item = TypeVar('Item')


def load(database: Database, cloud: Cloud) -> None:
    """Write a cloud to a database that has the tables and the standard names, and no providers.

    Raises what the objects raise where it cannot be.
    """
    context = RequestContext(database)
    _ensure_traits(context, cloud.providers)
    for providers in _batches(cloud.providers, PROVIDERS_PER_TRANSACTION):
        _create_providers(context, providers)
    for consumers in _batches(cloud.consumers, CONSUMERS_PER_TRANSACTION):
        transaction.replace(context, [_claim(consumer) for consumer in consumers])
    for name, inventories in cloud.shrunk.items():
        provider = ResourceProvider.get_by_uuid(context, uuid_of(name))
        _inventories(context, inventories).replace(provider, provider.generation)


@db.writer
def _ensure_traits(context: RequestContext, providers: Sequence[Provider]) -> None:
    names = {name for provider in providers for name in provider.traits}
    for name in sorted(filter(trait.is_custom_name, names)):
        Trait.ensure(context, name)


@db.writer
def _create_providers(context: RequestContext, providers: Sequence[Provider]) -> None:
    created = []
    for one in providers:
        parent = None if one.parent is None else one.parent.uuid
        created.append(ResourceProvider.create(context, one.uuid, one.name, parent))
    bodies = [_inventories(context, one.inventories) for one in providers]
    # All at once: one by one they would take a third of the whole time.
    inventory.write(context, list(zip(created, bodies, strict=True)), keep_others=True)
    for one, provider in zip(providers, created, strict=True):
        trait.replace(context, provider, sorted(one.traits), provider.generation)
        if one.aggregates:
            uuids = [uuid_of(name) for name in one.aggregates]
            aggregate.replace(context, provider, uuids, provider.generation)


def _inventories(context: RequestContext, inventories: Mapping[str, Inventory]) -> InventoryList:
    bodies = {name: one.body() for name, one in inventories.items()}
    return InventoryList.from_bodies(context, bodies)


def _claim(consumer: Consumer) -> Claim:
    return Claim(
        consumer_uuid=consumer.uuid,
        resources=consumer.allocations,
        project_id=consumer.project,
        user_id=consumer.user,
        generation=None,
        consumer_type=NOT_SENT if consumer.type is None else consumer.type,
    )


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
