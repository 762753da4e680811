# SPDX-License-Identifier: Apache-2.0
"""Membership of providers in aggregates (specification: aggregates)."""

from placement.http import views
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects import aggregate
from placement.objects.resource_provider import ResourceProvider
from placement.schemas.common import NOT_SENT


def show(request: Request) -> Reply:
    """Show the aggregates of a provider."""
    provider, uuids = ResourceProvider.get_with(
        request.context, request.urlvars['uuid'], aggregate.list_by_provider, missing=''
    )
    return Reply(views.aggregates(provider.generation, uuids))


def set_aggregates(request: Request) -> Reply:
    """Replace the aggregates of a provider; the response repeats them as sent."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    body = request.validated_body('aggregates.set')
    uuids, generation = body['aggregates'], body['resource_provider_generation']
    aggregate.replace(
        request.context, provider, uuids, None if generation is NOT_SENT else generation
    )
    return Reply(views.aggregates(provider.generation, uuids))
