# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of one microversion."""

from __future__ import annotations

import inspect
from typing import Any

from placement import history, routes
from placement.http import microversion
from placement.http.microversion import Api
from placement.openapi import operation_responses, parameters

OPENAPI = '3.1.0'
TITLE = 'Placement API'
DESCRIPTION = (
    'Inventory, usage and claims of the resources of a cloud. '
    'This document describes microversion {version} of {oldest} to {newest}; every request names '
    'its microversion in the header OpenStack-API-Version.'
)
TOKEN = 'token'


def version_named(text: str) -> Api:
    """The API of a microversion, such as ``1.10`` or ``latest``.

    Raises `errors.InvalidVersion` and `errors.UnacceptableVersion`.
    """
    return microversion.negotiated(history.APIS, f'{microversion.SERVICE_TYPE} {text}')


def document(api: Api) -> dict[str, Any]:
    """The API as this version shows it, as an OpenAPI document."""
    return {
        'openapi': OPENAPI,
        'info': {
            'title': TITLE,
            'version': str(api.version),
            'description': DESCRIPTION.format(
                version=api.version, oldest=api.oldest, newest=api.newest
            ),
            'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'},
        },
        'servers': [{'url': '/'}],
        'security': [{TOKEN: []}],
        'tags': [{'name': tag} for tag in _tags(api)],
        'paths': _paths(api),
        'components': operation_responses.components(api)
        | {'securitySchemes': _security_schemes()},
    }


def served_routes(api: Api) -> list[routes.Route]:
    """The routes of a version; the empty path is the root, spelled otherwise."""
    return [route for route in routes.ROUTES if route.path and route.action in api.handlers]


def _tags(api: Api) -> list[str]:
    """What the operations are about, in the order of the routes."""
    return list(dict.fromkeys(_tag(route) for route in served_routes(api)))


def _tag(route: routes.Route) -> str:
    return route.action.partition('.')[0]


def _paths(api: Api) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for route in served_routes(api):
        path = paths.setdefault(route.path, {})
        path[route.method.lower()] = _operation(api, route)
    return paths


def _operation(api: Api, route: routes.Route) -> dict[str, Any]:
    summary = inspect.getdoc(api.handlers[route.action]) or ''
    operation: dict[str, Any] = {
        'operationId': route.action,
        'tags': [_tag(route)],
        'summary': summary.splitlines()[0],
        'parameters': [
            *parameters.of_path(route),
            *parameters.of_query(api, route.action),
            parameters.version_header(api),
        ],
        'responses': operation_responses.of(api, route),
        # As the generators of other services' documents say it.
        'x-openstack': {'min-ver': history.introduced(route.action)},
    }
    if route.action in api.bodies:
        schema = dict(api.bodies[route.action].schema)
        content = {operation_responses.JSON: {'schema': schema}}
        operation['requestBody'] = {'required': True, 'content': content}
    if route.action == operation_responses.PUBLIC:
        operation['security'] = []
    return operation


def _security_schemes() -> dict[str, Any]:
    return {
        TOKEN: {
            'type': 'apiKey',
            'in': 'header',
            'name': 'X-Auth-Token',
            'description': 'Who is asking: a token of Keystone.',
        }
    }
