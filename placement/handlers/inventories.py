# SPDX-License-Identifier: Apache-2.0
"""Inventories of resource providers (specification: inventories)."""

from placement import errors
from placement.http import views
from placement.http.microversion import Rule
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects.inventory import Inventory, InventoryList
from placement.objects.resource_provider import ResourceProvider

# Message of the routes that show inventories about a missing provider.
MISSING = 'No resource provider with uuid {} found : '


def list_inventories(request: Request) -> Reply:
    """List the inventories of a provider."""
    provider, inventories = ResourceProvider.get_with(
        request.context, request.urlvars['uuid'], InventoryList.list_by_provider, MISSING
    )
    return Reply(
        views.inventories(provider.generation, inventories),
        last_modified=views.latest(views.modified_at(i) for i in inventories),
        omit_last_modified=not inventories,
    )


def set_inventories(request: Request) -> Reply:
    """Replace the inventories of a provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.set')
    generation = body['resource_provider_generation']
    # Before any other error of the request is found.
    provider.check_generation(generation, errors.ResourceProviderGenerationConflict)
    wanted = InventoryList.from_bodies(request.context, body['inventories'])
    _check_capacities(request, provider, wanted, 'update')
    prefix = f'Unknown resource class in inventory for resource provider {provider.uuid}: '
    with (
        errors.reported_as(errors.BadRequest, errors.ResourceClassNotFound, prefix=prefix),
        errors.reported_as(errors.InventoryInUse, prefix='update conflict: '),
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
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.create')
    name = body['resource_class']
    added = InventoryList.from_bodies(request.context, {name: body})
    _check_capacities(request, provider, added, 'create')
    prefix = f'Unable to create inventory for resource provider {provider.uuid}: '
    with (
        errors.reported_as(errors.BadRequest, errors.ResourceClassNotFound, prefix=prefix),
        errors.reported_as(errors.InventoryExists, prefix='Update conflict: '),
    ):
        added.add(provider)
    return Reply(
        views.one_inventory(provider.generation, added.objects[0], request.body_as_sent()),
        status=CREATED,
        location=f'{views.provider_path(provider.uuid)}/inventories/{name}',
    )


def clear(request: Request) -> Reply:
    """Delete the inventories of a provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    InventoryList.remove(request.context, provider)
    return NO_CONTENT


def show(request: Request) -> Reply:
    """Show the inventory of one class of a provider."""
    name = request.urlvars['resource_class']
    provider, inventory = ResourceProvider.get_with(
        request.context,
        request.urlvars['uuid'],
        lambda context, provider: Inventory.find(context, provider, name),
        MISSING,
    )
    if inventory is None:
        raise errors.NotFound(f'No inventory of class {name} for {provider.uuid}')
    return Reply(
        views.one_inventory(provider.generation, inventory),
        last_modified=views.modified_at(inventory),
    )


def update(request: Request) -> Reply:
    """Update the inventory of one class of a provider, which must exist."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('inventories.update')
    generation = body['resource_provider_generation']
    # Before any other error of the request is found.
    provider.check_generation(generation, errors.ResourceProviderGenerationConflict)
    changed = InventoryList.from_bodies(request.context, {request.urlvars['resource_class']: body})
    _check_capacities(request, provider, changed, 'update')
    prefix = f'No inventory record with resource class for resource provider {provider.uuid}: '
    with errors.reported_as(errors.BadRequest, errors.InventoryNotFound, prefix=prefix):
        changed.update_one(provider, generation)
    return Reply(
        views.one_inventory(provider.generation, changed.objects[0], request.body_as_sent())
    )


def delete(request: Request) -> Reply:
    """Delete the inventory of one class of a provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    name = request.urlvars['resource_class']
    with (
        errors.reported_as(
            errors.NotFound,
            errors.InventoryNotFound,
            errors.ResourceClassNotFound,
            prefix=f'No inventory of class {name} found for delete: ',
        ),
        # Unlike for the deletion of all, clients retry after this error.
        errors.reported_as(
            errors.ConcurrentUpdate,
            errors.InventoryInUse,
            prefix=f'Unable to delete inventory of class {name}: ',
        ),
    ):
        InventoryList.remove(request.context, provider, name)
    return NO_CONTENT


def _check_capacities(
    request: Request, provider: ResourceProvider, inventories: InventoryList, action: str
) -> None:
    may_be_empty = request.api.allows(Rule.FULLY_RESERVED_INVENTORY)
    prefix = f'Unable to {action} inventory for resource provider {provider.uuid}: '
    with errors.reported_as(errors.BadRequest, errors.InvalidInventoryCapacity, prefix=prefix):
        inventories.check_capacities(provider.uuid, may_be_empty)
