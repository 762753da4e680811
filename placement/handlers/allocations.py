# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers and of providers (specification: allocations)."""

from __future__ import annotations

import contextlib
import uuid

from oslo_utils import uuidutils

from placement import errors
from placement.http import claims, views
from placement.http.reply import NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects import allocation
from placement.objects.claim import transaction
from placement.objects.resource_provider import ResourceProvider
from placement.policies import allocation as policy


def show(request: Request) -> Reply:
    """Show the allocations of a consumer; none are no error."""
    request.authorise(policy.LIST)
    allocations, consumer = allocation.list_by_consumer(
        request.context, request.urlvars['consumer_uuid']
    )
    return Reply(
        views.consumer_allocations(allocations, consumer),
        last_modified=views.latest(a.created_at for a in allocations),
    )


def list_of_provider(request: Request) -> Reply:
    """List the allocations of a provider by consumer."""
    request.authorise(policy.LIST_OF_PROVIDER)
    provider_uuid = request.urlvars['uuid']
    with errors.reported_as(
        errors.NotFound,
        errors.ResourceProviderNotFound,
        prefix=f"Resource provider '{provider_uuid}' not found: ",
    ):
        provider, allocations = ResourceProvider.get_with(
            request.context, provider_uuid, allocation.list_by_provider
        )
    return Reply(
        views.provider_allocations(provider.generation, allocations),
        last_modified=views.latest(a.created_at for a in allocations),
    )


def set_one(request: Request) -> Reply:
    """Replace the allocations of one consumer."""
    request.authorise(policy.UPDATE)
    sent_uuid = request.urlvars['consumer_uuid']
    if not uuidutils.is_uuid_like(sent_uuid):
        raise errors.BadRequest(f'Malformed consumer_uuid: {sent_uuid}')
    consumer_uuid = str(uuid.UUID(sent_uuid))
    body = request.validated_body('allocations.set')
    wanted = claims.from_bodies(request.conf, {consumer_uuid: body})
    with (
        errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            prefix=f'Unable to allocate inventory for consumer {consumer_uuid}: ',
        ),
        _conflict_reported(),
    ):
        transaction.replace(request.context, wanted)
    return NO_CONTENT


def set_many(request: Request) -> Reply:
    """Replace the allocations of several consumers, all or nothing."""
    request.authorise(policy.MANAGE)
    wanted = claims.from_bodies(request.conf, request.validated_body('allocations.set_many'))
    with (
        errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            prefix='Unable to allocate inventory ',
        ),
        _conflict_reported(),
    ):
        transaction.replace(request.context, wanted)
    return NO_CONTENT


def _conflict_reported() -> contextlib.AbstractContextManager[None]:
    return errors.reported_as(
        errors.TooManyConflicts,
        errors.TooManyConflicts,
        prefix='Inventory and/or allocations changed while attempting to allocate: ',
    )


def delete(request: Request) -> Reply:
    """Delete the allocations of a consumer."""
    request.authorise(policy.DELETE)
    transaction.release(request.context, request.urlvars['consumer_uuid'])
    return NO_CONTENT
