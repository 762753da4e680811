# SPDX-License-Identifier: Apache-2.0
"""Traits, and the traits of providers (specification: traits)."""

from typing import Any

from placement import errors
from placement.http import views
from placement.http.querystring import Query
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects import trait
from placement.objects.resource_provider import ResourceProvider
from placement.objects.trait import Trait, TraitList

_ASSOCIATED = {'true': True, 'false': False}


def list_traits(request: Request) -> Reply:
    """List the traits that meet every filter of the query."""
    query = request.validated_query('traits.list')
    traits = trait.list_by_filters(request.context, **_parse_filters(query))
    return Reply(
        {'traits': [trait.name for trait in traits]},
        last_modified=views.latest(views.modified_at(trait) for trait in traits),
    )


def _parse_filters(query: Query) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    name = query.last('name')
    if name is not None:
        operator, colon, value = name.partition(':')
        if not colon:
            raise errors.BadRequest(
                'Badly formatted name parameter. Expected name query string parameter in form: '
                f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{name}"'
            )
        if operator == 'in':
            filters['names'] = frozenset(value.split(','))
        elif operator == 'startswith':
            filters['prefix'] = value
    associated = query.last('associated')
    if associated is not None:
        if associated.lower() not in _ASSOCIATED:
            raise errors.BadRequest(
                'The query parameter "associated" only accepts "true" or "false"'
            )
        filters['associated'] = _ASSOCIATED[associated.lower()]
    return filters


def show(request: Request) -> Reply:
    """Confirm that a trait exists; the response has no body."""
    existing = Trait.get_by_name(request.context, request.urlvars['name'])
    return Reply(
        status=NO_CONTENT.status, last_modified=existing.created_at, has_cache_headers=True
    )


def put(request: Request) -> Reply:
    """Create a custom trait unless it exists."""
    name = request.urlvars['name']
    if not trait.is_custom_name(name):
        raise errors.BadRequest(
            'The trait is invalid. A valid trait must be no longer than 255 characters, start '
            'with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
        )
    existing, created = Trait.ensure(request.context, name)
    return Reply(
        status=CREATED if created else NO_CONTENT.status,
        location=f'/traits/{name}',
        last_modified=existing.created_at,
        has_cache_headers=True,
    )


def delete(request: Request) -> Reply:
    """Delete a custom trait that no provider has."""
    Trait.get_by_name(request.context, request.urlvars['name']).destroy()
    return NO_CONTENT


def show_of_provider(request: Request) -> Reply:
    """Show the traits of a provider."""
    provider, traits = ResourceProvider.get_with(
        request.context, request.urlvars['uuid'], TraitList.list_by_provider
    )
    return _reply(provider, traits)


def set_of_provider(request: Request) -> Reply:
    """Replace the traits of a provider."""
    body = request.validated_body('provider_traits.set')
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    with errors.reported_as(errors.BadRequest, errors.TraitNotFound):
        traits = TraitList.replace(
            request.context, provider, body['traits'], body['resource_provider_generation']
        )
    return _reply(provider, traits)


def _reply(provider: ResourceProvider, traits: Any) -> Reply:
    return Reply(
        views.provider_traits(provider.generation, traits),
        last_modified=views.latest(views.modified_at(trait) for trait in traits),
    )


def clear_of_provider(request: Request) -> Reply:
    """Remove every trait of a provider."""
    provider = ResourceProvider.get_by_uuid(request.context, request.urlvars['uuid'])
    TraitList.clear(request.context, provider)
    return NO_CONTENT
