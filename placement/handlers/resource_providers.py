# SPDX-License-Identifier: Apache-2.0
"""Resource providers (specification: resource_providers)."""

import uuid

from oslo_utils import uuidutils

from placement import errors
from placement.http import provider_list, views
from placement.http.microversion import Rule
from placement.http.querystring import unknown_names_reported
from placement.http.reply import NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects import resource_provider
from placement.objects.resource_provider import ResourceProvider
from placement.schemas.common import NOT_SENT


def list_providers(request: Request) -> Reply:
    """List the resource providers that meet every filter of the query."""
    query = request.validated_query('resource_providers.list')
    filters = provider_list.parse_filters(request.api, query)
    with unknown_names_reported(provider_list.UNKNOWN_TRAITS):
        providers = resource_provider.list_by_filters(request.context, filters)
    shape = request.api.shape('resource_providers.list')
    body = provider_list.as_text(providers, request.mount_point, shape)
    return Reply(body, last_modified=provider_list.latest_modification(providers))


def create(request: Request) -> Reply:
    """Create a resource provider, with a new uuid if the client sends none."""
    body = request.validated_body('resource_providers.create')
    name = body['name']
    # The only uuid that is stored in its canonical spelling.
    provider_uuid = str(uuid.UUID(body['uuid'])) if 'uuid' in body else uuidutils.generate_uuid()
    prefix = f'Unable to create resource provider "{name}", {provider_uuid}: '
    with errors.reported_as(errors.BadRequest, errors.ResourceProviderActionFailed, prefix=prefix):
        provider = ResourceProvider.create(
            request.context, provider_uuid, name, body.get('parent_provider_uuid')
        )
    return Reply(
        views.provider(provider, request.mount_point),
        location=views.provider_path(provider_uuid),
    )


def show(request: Request) -> Reply:
    """Show one resource provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    return _reply(request, provider)


def update(request: Request) -> Reply:
    """Update the name and the parent of a resource provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('resource_providers.update')
    prefix = f'Unable to save resource provider {provider.uuid}: '
    with errors.reported_as(errors.BadRequest, errors.ResourceProviderActionFailed, prefix=prefix):
        provider = provider.update(
            body['name'],
            body.get('parent_provider_uuid', NOT_SENT),
            may_reparent=request.api.allows(Rule.REPARENTING),
        )
    return _reply(request, provider)


def _reply(request: Request, provider: ResourceProvider) -> Reply:
    return Reply(
        views.provider(provider, request.mount_point), last_modified=views.modified_at(provider)
    )


def delete(request: Request) -> Reply:
    """Delete a resource provider that has neither children nor allocations."""
    provider_uuid = request.urlvars['uuid']
    with errors.reported_as(
        errors.NotFound, errors.ResourceProviderNotFound, suffix=' for delete'
    ):
        ResourceProvider.get_by_uuid(request.context, provider_uuid).destroy()
    return NO_CONTENT
