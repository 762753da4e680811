# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of one microversion."""

import functools
import inspect
import re
from collections.abc import Iterable
from typing import Any

from placement import errors, extension
from placement.cmd.openapi import FRAGMENTS
from placement.cmd.openapi.reply_templates import described, replies_of
from placement.http.microversion import SERVICE_TYPE, Api, Rule
from placement.http.reply import Reply
from placement.http.route import AddedRoute, Route
from placement.routes import Surface
from placement.schemas import common
from placement.schemas.common import Schema, an_object

JSON = 'application/json'
VERSION_HEADER = 'OpenStack-API-Version'

Parameter = dict[str, Any]

_TEXT: Schema = {'type': 'string'}
# The components of the headers of every response.
_OF_EVERY_RESPONSE = ('version', 'vary', 'id')
_HEADERS = {
    'version': VERSION_HEADER,
    'vary': 'Vary',
    'id': 'X-Openstack-Request-Id',
    'location': 'Location',
    'cache': 'Cache-Control',
    'modified': 'Last-Modified',
    'modified_if_any': 'Last-Modified',
}

_VARIABLE = re.compile(r'\{(\w+)\}')
# Matches the pattern of a query parameter: its name, and its suffix.
_WITH_SUFFIX = re.compile(r'\^(\w+)\((.*)\)\?\$')

# By variable, or by action and variable where actions differ. A value that is only looked up may
# have any form: an invalid one is not found.
_PATH_SCHEMAS: dict[str, Schema] = {
    'uuid': common.UUID,
    'consumer_uuid': {'type': 'string', 'minLength': 1},
    'allocations.set consumer_uuid': common.UUID,
    'resource_class': {'type': 'string', 'pattern': common.RESOURCE_CLASS_PATTERN},
    'name': {'type': 'string', 'minLength': 1},
    'traits.put name': common.CUSTOM_NAME,
    'resource_classes.put name': common.CUSTOM_NAME,
}


def _responses(api: Api, route: Route) -> dict[str, Any]:
    """Every response of an operation at one version, by status."""
    replies = [
        api.downgraded(route.action, reply) for reply in replies_of(api.handlers[route.action])
    ]
    successes = {str(reply.status): _success(api, reply) for reply in replies}
    error_responses = {
        str(status): {'$ref': f'#/components/responses/{status}'}
        for status in _error_statuses(api, route)
    }
    return successes | error_responses


def _success(api: Api, reply: Reply) -> dict[str, Any]:
    headers = [*_OF_EVERY_RESPONSE]
    if reply.location is not None:
        headers.append('location')
    if reply.is_cacheable and api.allows(Rule.CACHE_HEADERS):
        headers.append('cache')
        headers.append('modified_if_any' if reply.omit_last_modified else 'modified')
    response: dict[str, Any] = {
        'description': FRAGMENTS['successes'][reply.status],
        'headers': _referred(headers),
    }
    if reply.body is not None:
        response['content'] = {JSON: {'schema': described(reply.body)}}
    return response


def _error_statuses(api: Api, route: Route) -> list[int]:
    """The statuses of the errors that an operation may respond with.

    Every request may have an invalid length or version. Every write may conflict with concurrent
    updates.
    """
    statuses = {400, 406}
    if not route.is_public:
        statuses |= {401, 403, 503}
    is_added = isinstance(route, AddedRoute)
    if '{' in route.path or is_added:
        statuses.add(404)
    if route.method != 'GET' and not is_added:
        statuses.add(409)
    if route.action in api.bodies:
        statuses.add(415)
    return sorted(statuses)


def _components(api: Api) -> dict[str, Any]:
    """The components that the responses of all operations refer to."""
    in_force = _TEXT | {'const': f'{SERVICE_TYPE} {api.version}'}
    version = FRAGMENTS['headers']['version'] | {'schema': in_force}
    responses = {str(status): _error_response(status) for status in FRAGMENTS['errors']}
    return {
        'headers': FRAGMENTS['headers'] | {'version': version},
        'responses': responses,
        'schemas': {
            'Errors': _errors(api),
            'ErrorsBeforeVersion': _errors(api, version_is_known=False),
        },
        'securitySchemes': FRAGMENTS['security_schemes'],
    }


def _referred(names: Iterable[str]) -> dict[str, Any]:
    return {_HEADERS[name]: {'$ref': f'#/components/headers/{name}'} for name in names}


def _error_response(status: int) -> dict[str, Any]:
    """An error as JSON, or as HTML or plain text for clients that do not accept JSON.

    A 401 comes from the middleware that checks tokens, in its own form. A 400 or 406 may be about
    the version header, and then it has no version.
    """
    name = 'ErrorsBeforeVersion' if status in (400, 406) else 'Errors'
    schema = {'type': 'object'} if status == 401 else {'$ref': f'#/components/schemas/{name}'}
    text = {'schema': _TEXT}
    return {
        'description': FRAGMENTS['errors'][status],
        'headers': _referred(['id']),
        'content': {JSON: {'schema': schema}, 'text/html': text, 'text/plain': text},
    }


def _errors(api: Api, version_is_known: bool = True) -> Schema:
    """The body of an error (specification: http, "Responses and errors")."""
    error = an_object(
        {
            'status': {'type': 'integer', 'minimum': 400, 'maximum': 599},
            'title': _TEXT,
            'detail': _TEXT,
            'request_id': _TEXT,
        }
    )
    if api.allows(Rule.ERROR_CODES):
        values = (value for value in vars(errors).values() if isinstance(value, str))
        codes = {value for value in values if value.startswith(f'{SERVICE_TYPE}.')}
        error['properties']['code'] = {'type': 'string', 'enum': sorted(codes)}
        error['required'] += ['code'] if version_is_known else []
    if not version_is_known:
        error['properties'] |= {'max_version': _TEXT, 'min_version': _TEXT}
    return an_object({'errors': {'type': 'array', 'minItems': 1, 'items': error}})


def _path_parameters(route: Route) -> list[Parameter]:
    """The variables of the path."""
    return [
        {
            'name': name,
            'in': 'path',
            'required': True,
            'description': _of_action(FRAGMENTS['variables'], route.action, name),
            'schema': _of_action(_PATH_SCHEMAS, route.action, name),
        }
        for name in _VARIABLE.findall(route.path)
    ]


@functools.cache
def _descriptions(kind: str) -> dict[str, str]:
    """The descriptions of `parameters` of queries or `members` of bodies, with extensions."""
    described: dict[str, str] = dict(FRAGMENTS[kind])
    for each in extension.list_installed():
        described |= getattr(each.fragments(), kind)
    return described


def _of_action(table: dict[str, Any], action: str, name: str) -> Any:
    return table.get(f'{action} {name}') or table[name]


def _query_parameters(api: Api, action: str) -> list[Parameter]:
    """The query parameters of an action; the groups of a parameter are one."""
    if action not in api.queries:
        return []
    schema = api.queries[action].schema
    groups: Schema = {}
    single = dict(schema['properties'])
    for pattern, values in schema.get('patternProperties', {}).items():
        match = _WITH_SUFFIX.fullmatch(pattern)
        assert match is not None, pattern
        name, suffix = match.groups()
        single[name] = values
        groups[f'^{name}{suffix}$'] = common.without_description(values)
    repeatable = _repeatable(api, action)
    plain = {name: common.without_description(value) for name, value in single.items()}
    descriptions = _descriptions('parameters')
    parameters: list[Parameter] = [
        {
            'name': name,
            'in': 'query',
            'required': name in schema.get('required', ()),
            'description': single[name].get('description')
            or _of_action(descriptions, action, name),
            'schema': {'type': 'array', 'items': value} if name in repeatable else value,
        }
        for name, value in plain.items()
    ]
    if groups:
        members = {'type': 'object', 'patternProperties': groups, 'additionalProperties': False}
        parameters.append(FRAGMENTS['groups'] | {'schema': members})
    return parameters


def _body(api: Api, action: str) -> Schema:
    """The schema of a body, with a description of each member."""
    schema = api.bodies[action].schema
    members = {
        name: common.described(value, _of_action(_descriptions('members'), action, name))
        for name, value in schema.get('properties', {}).items()
    }
    return schema | ({'properties': members} if members else {})


def _repeatable(api: Api, action: str) -> set[str]:
    """Parameters of which all values count; of others only one does."""
    names = {'same_subtree'}
    if api.allows(Rule.REPEATED_MEMBER_OF):
        names.add('member_of')
    if api.allows(Rule.ANY_TRAITS):
        names.add('required')
    added = (of for each in extension.list_installed() for of in each.fragments().repeatable)
    prefix = f'{action} '
    return names | {of.removeprefix(prefix) for of in added if of.startswith(prefix)}


def version_header(api: Api) -> Parameter:
    """The header that requests a version; the oldest is the default."""
    return {
        'name': VERSION_HEADER,
        'in': 'header',
        'required': str(api.version) != api.oldest,
        'description': 'The microversion that the request is made at.',
        'schema': {'type': 'string', 'enum': [f'{SERVICE_TYPE} {api.version}']},
    }


def version_named(surface: Surface, text: str) -> Api:
    """The API of a microversion, such as ``1.10`` or ``latest``.

    :raises errors.InvalidVersion: the text is no version
    :raises errors.UnacceptableVersion: the version is not served
    """
    return surface.negotiated(f'{SERVICE_TYPE} {text}')


def document(surface: Surface, api: Api) -> dict[str, Any]:
    """The OpenAPI document of a version."""
    info = FRAGMENTS['info']
    description = info['description'].format(
        version=api.version, oldest=api.oldest, newest=api.newest
    )
    return {
        'openapi': '3.1.0',
        'info': {
            'title': info['title'],
            'version': str(api.version),
            'description': description,
            'license': info['license'],
        },
        'servers': [{'url': '/'}],
        'security': [{name: []} for name in FRAGMENTS['security_schemes']],
        'tags': [{'name': tag} for tag in dict.fromkeys(map(_tag, served_routes(surface, api)))],
        'paths': _paths(surface, api),
        'components': _components(api),
    }


def served_routes(surface: Surface, api: Api) -> list[Route]:
    """The routes of a version, without the empty path, which is another spelling of the root."""
    return [route for route in surface.routes if route.path and route.action in api.handlers]


def _tag(route: Route) -> str:
    return route.action.partition('.')[0]


def _paths(surface: Surface, api: Api) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for route in served_routes(surface, api):
        path = paths.setdefault(route.path, {})
        path[route.method.lower()] = _operation(surface, api, route)
    return paths


def _operation(surface: Surface, api: Api, route: Route) -> dict[str, Any]:
    summary = inspect.getdoc(api.handlers[route.action]) or ''
    operation: dict[str, Any] = {
        'operationId': route.action,
        'tags': [_tag(route)],
        'summary': summary.splitlines()[0],
        'parameters': [
            *_path_parameters(route),
            *_query_parameters(api, route.action),
            version_header(api),
        ],
        'responses': _responses(api, route),
        # As in the documents of other services.
        'x-openstack': {'min-ver': surface.introduced(route.action)},
    }
    if route.action in api.bodies:
        content = {JSON: {'schema': _body(api, route.action)}}
        operation['requestBody'] = {'required': True, 'content': content}
    if route.is_public:
        operation['security'] = []
    return operation
