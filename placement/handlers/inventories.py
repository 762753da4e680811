# SPDX-License-Identifier: Apache-2.0
"""Inventories of resource providers (specification: inventories)."""

from __future__ import annotations

import contextlib
from typing import Any

from placement import errors
from placement.http import views
from placement.http.microversion import Rule
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects import generations, inventory
from placement.objects.inventory import Inventory, InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.policies import inventory as policy


def list_inventories(request: Request) -> Reply:
    """List the inventories of a provider."""
    request.authorise(policy.LIST)
    with _not_found_to_read(request):
        provider, inventories = ResourceProvider.get_with(
            request.context, request.urlvars['uuid'], inventory.list_by_provider
        )
    return Reply(
        views.inventories(provider.generation, inventories),
        last_modified=views.latest(views.modified_at(i) for i in inventories),
        omit_last_modified=not inventories,
    )


def set_inventories(request: Request) -> Reply:
    """Replace the inventories of a provider."""
    request.authorise(policy.UPDATE)
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.set')
    generation = body['resource_provider_generation']
    _check_generation(provider, generation)
    wanted = InventoryList.from_bodies(request.context, body['inventories'])
    _check_capacities(request, provider, wanted, 'update')
    with (
        errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            prefix=f'Unknown resource class in inventory for resource provider {provider.uuid}: ',
        ),
        errors.reported_as(
            errors.InventoryInUse, errors.InventoryInUse, prefix='update conflict: '
        ),
    ):
        wanted.replace(provider, generation)
    return Reply(
        views.inventories(
            provider.generation, wanted.objects, request.body_as_sent()['inventories']
        ),
        omit_last_modified=not wanted.objects,
    )


def create(request: Request) -> Reply:
    """Create the inventory of one class of a provider."""
    request.authorise(policy.CREATE)
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.create')
    name = body['resource_class']
    added = InventoryList.from_bodies(request.context, {name: body})
    _check_capacities(request, provider, added, 'create')
    with (
        errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            prefix=f'Unable to create inventory for resource provider {provider.uuid}: ',
        ),
        errors.reported_as(
            errors.InventoryExists, errors.InventoryExists, prefix='Update conflict: '
        ),
    ):
        added.add(provider)
    return Reply(
        views.one_inventory(provider.generation, added.objects[0], request.body_as_sent()),
        status=CREATED,
        location=views.inventory_path(provider.uuid, name),
    )


def clear(request: Request) -> Reply:
    """Delete the inventories of a provider."""
    request.authorise(policy.DELETE)
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    inventory.clear(request.context, provider)
    return NO_CONTENT


def show(request: Request) -> Reply:
    """Show the inventory of one class of a provider."""
    request.authorise(policy.SHOW)
    name = request.urlvars['resource_class']
    with _not_found_to_read(request):
        provider, found = ResourceProvider.get_with(
            request.context,
            request.urlvars['uuid'],
            lambda context, provider: Inventory.find(context, provider, name),
        )
    if found is None:
        raise errors.NotFound(f'No inventory of class {name} for {provider.uuid}')
    return Reply(
        views.one_inventory(provider.generation, found), last_modified=views.modified_at(found)
    )


def update(request: Request) -> Reply:
    """Update the inventory of one class of a provider, which must exist."""
    request.authorise(policy.UPDATE)
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.update')
    generation = body['resource_provider_generation']
    _check_generation(provider, generation)
    changed = InventoryList.from_bodies(request.context, {request.urlvars['resource_class']: body})
    _check_capacities(request, provider, changed, 'update')
    with errors.reported_as(
        errors.BadRequest,
        errors.InventoryNotFound,
        prefix=f'No inventory record with resource class for resource provider {provider.uuid}: ',
    ):
        changed.update_one(provider, generation)
    return Reply(
        views.one_inventory(provider.generation, changed.objects[0], request.body_as_sent())
    )


def delete(request: Request) -> Reply:
    """Delete the inventory of one class of a provider."""
    request.authorise(policy.DELETE)
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    name = request.urlvars['resource_class']
    with (
        errors.reported_as(
            errors.NotFound,
            errors.InventoryNotFound,
            errors.ResourceClassNotFound,
            prefix=f'No inventory of class {name} found for delete: ',
        ),
        # Unlike where all are deleted, the error is one after which clients try again.
        errors.reported_as(
            errors.ConcurrentUpdate,
            errors.InventoryInUse,
            prefix=f'Unable to delete inventory of class {name}: ',
        ),
    ):
        inventory.remove_one(request.context, provider, name)
    return NO_CONTENT


def _not_found_to_read(request: Request) -> contextlib.AbstractContextManager[None]:
    """Report a missing provider with the message of the routes that show inventories."""
    return errors.reported_as(
        errors.NotFound,
        errors.ResourceProviderNotFound,
        prefix=f'No resource provider with uuid {request.urlvars["uuid"]} found : ',
    )


def _check_generation(provider: ResourceProvider, generation: Any) -> None:
    """Refuse a stale generation before any other error of the request is found."""
    if provider.generation != generation:
        generations.log_provider_conflict(provider.uuid, provider.generation, generation)
        raise errors.ResourceProviderGenerationConflict()


def _check_capacities(
    request: Request, provider: ResourceProvider, inventories: InventoryList, action: str
) -> None:
    with errors.reported_as(
        errors.BadRequest,
        errors.InvalidInventoryCapacity,
        prefix=f'Unable to {action} inventory for resource provider {provider.uuid}: ',
    ):
        inventories.check_capacities(
            provider.uuid, may_be_empty=request.api.allows(Rule.FULLY_RESERVED_INVENTORY)
        )
