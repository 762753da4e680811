# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers and of providers (specification: allocations)."""

import uuid
from collections.abc import Sequence

from oslo_utils import uuidutils

from placement import errors
from placement.http import views
from placement.http.reply import NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects.allocation import AllocationList
from placement.objects.claim import Claim
from placement.objects.resource_provider import ResourceProvider


def show(request: Request) -> Reply:
    """Show the allocations of a consumer; may be empty."""
    allocations = AllocationList.list_by_consumer(
        request.context, request.urlvars['consumer_uuid']
    )
    return Reply(
        views.consumer_allocations(allocations, allocations.consumer),
        last_modified=views.latest(a.created_at for a in allocations),
    )


def list_of_provider(request: Request) -> Reply:
    """List the allocations of a provider by consumer."""
    provider, allocations = ResourceProvider.get_with(
        request.context,
        request.urlvars['uuid'],
        AllocationList.list_rows_by_provider,
        missing="Resource provider '{}' not found: ",
    )
    return Reply(
        views.provider_allocations(provider.generation, allocations),
        last_modified=views.latest(a.created_at for a in allocations),
    )


def set_one(request: Request) -> Reply:
    """Replace the allocations of one consumer."""
    sent_uuid = request.urlvars['consumer_uuid']
    if not uuidutils.is_uuid_like(sent_uuid):
        raise errors.BadRequest(f'Malformed consumer_uuid: {sent_uuid}')
    consumer_uuid = str(uuid.UUID(sent_uuid))
    body = request.validated_body('allocations.set')
    claims = Claim.from_bodies(request.service.conf, {consumer_uuid: body})
    return _replace(request, claims, f'for consumer {consumer_uuid}: ')


def set_many(request: Request) -> Reply:
    """Replace the allocations of several consumers, all or nothing."""
    claims = Claim.from_bodies(
        request.service.conf, request.validated_body('allocations.set_many')
    )
    return _replace(request, claims)


def _replace(request: Request, claims: Sequence[Claim], words: str = '') -> Reply:
    """Replace allocations. `words` say for which consumer, if a resource class is unknown."""
    prefix = f'Unable to allocate inventory {words}'
    conflict = 'Inventory and/or allocations changed while attempting to allocate: '
    with (
        errors.reported_as(errors.BadRequest, errors.ResourceClassNotFound, prefix=prefix),
        errors.reported_as(errors.TooManyConflicts, prefix=conflict),
    ):
        AllocationList.replace(request.context, claims)
    return NO_CONTENT


def delete(request: Request) -> Reply:
    """Delete the allocations of a consumer."""
    AllocationList.release(request.context, request.urlvars['consumer_uuid'])
    return NO_CONTENT
