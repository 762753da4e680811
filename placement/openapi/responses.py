# SPDX-License-Identifier: Apache-2.0
"""The answers of an operation: of the handler in the shape of a version, and the refusals."""

from __future__ import annotations

from typing import Any

from placement import errors
from placement.http.microversion import SERVICE_TYPE, Api, Rule
from placement.http.reply import Reply
from placement.openapi.answers import ANSWERS
from placement.openapi.parameters import VERSION_HEADER
from placement.openapi.template import described
from placement.routes import Route
from placement.schemas.common import Schema, an_object

JSON = 'application/json'
PUBLIC = 'root.show'

_TEXT: Schema = {'type': 'string'}
_VERSION_IN_FORCE = {VERSION_HEADER: 'version', 'Vary': 'vary', 'X-Openstack-Request-Id': 'id'}

SUCCESSES = {
    200: 'What was asked for.',
    201: 'It was made.',
    204: 'Done; there is nothing to show.',
}
REFUSALS = {
    400: 'The request cannot be understood, or names something that does not exist.',
    401: 'No token, or not a valid one.',
    403: 'The caller may not do this.',
    404: 'There is no such thing.',
    406: 'JSON is not acceptable to the caller, or the microversion is not known.',
    409: 'The request is right but does not fit what is there now.',
    415: 'The body is not said to be application/json.',
    503: 'The database cannot be reached at the moment.',
}


def of(api: Api, route: Route) -> dict[str, Any]:
    """Every answer of an operation at one version, by status."""
    replies = [
        api.downgraded(route.action, reply) for reply in ANSWERS[api.handlers[route.action]]
    ]
    answers = {str(reply.status): _success(api, reply) for reply in replies}
    refusals = {
        str(status): {'$ref': f'#/components/responses/{status}'}
        for status in _refused_with(api, route)
    }
    return answers | refusals


def _success(api: Api, reply: Reply) -> dict[str, Any]:
    headers = list(_VERSION_IN_FORCE.values())
    if reply.location is not None:
        headers.append('location')
    if reply.is_cacheable and api.allows(Rule.CACHE_HEADERS):
        headers.append('cache')
        headers.append('modified_if_any' if reply.omit_last_modified else 'modified')
    answer: dict[str, Any] = {
        'description': SUCCESSES[reply.status],
        'headers': _referred(headers),
    }
    if reply.body is not None:
        answer['content'] = {JSON: {'schema': described(reply.body)}}
    return answer


def _refused_with(api: Api, route: Route) -> list[int]:
    """The statuses that an operation may refuse with.

    Every request may have a wrong length or version. Writes that meet others too often are told
    of the conflict, whatever they write.
    """
    statuses = {400, 406}
    if route.action != PUBLIC:
        statuses |= {401, 403, 503}
    if '{' in route.path:
        statuses.add(404)
    if route.method != 'GET':
        statuses.add(409)
    if route.action in api.bodies:
        statuses.add(415)
    return sorted(statuses)


def components(api: Api) -> dict[str, Any]:
    """What the answers of all operations refer to."""
    responses = {str(status): _refusal(status) for status in REFUSALS}
    return {
        'headers': _headers(api),
        'responses': responses,
        'schemas': {
            'Errors': _errors(api),
            'ErrorsBeforeVersion': _errors(api, version_is_known=False),
        },
    }


def _referred(names: list[str]) -> dict[str, Any]:
    return {_HEADER_NAMES[name]: {'$ref': f'#/components/headers/{name}'} for name in names}


_HEADER_NAMES = {short: name for name, short in _VERSION_IN_FORCE.items()} | {
    'location': 'Location',
    'cache': 'Cache-Control',
    'modified': 'Last-Modified',
    'modified_if_any': 'Last-Modified',
}


def _headers(api: Api) -> dict[str, Any]:
    in_force = {'type': 'string', 'const': f'{SERVICE_TYPE} {api.version}'}

    def header(description: str, schema: Schema = _TEXT, required: bool = True) -> Schema:
        return {'description': description, 'required': required, 'schema': schema}

    modified = 'When what is shown was last modified, as an HTTP date.'
    return {
        'version': header('The microversion by whose rules this was answered.', in_force),
        'vary': header('The answer depends on the version asked for.'),
        'id': header('The id of the request in the log of the service.'),
        'location': header('The absolute URL of what was made.', {'type': 'string'}),
        'cache': header('Always no-cache.', {'type': 'string', 'const': 'no-cache'}),
        'modified': header(modified),
        'modified_if_any': header(modified, required=False),
    }


def _refusal(status: int) -> dict[str, Any]:
    """An error as JSON, or as HTML or plain text where JSON is not accepted.

    Who has no token meets the layer that asks for it, which has a form of its own. The version
    header may be at fault itself where it is looked at, and then no version is in force.
    """
    name = 'ErrorsBeforeVersion' if status in (400, 406) else 'Errors'
    schema = {'type': 'object'} if status == 401 else {'$ref': f'#/components/schemas/{name}'}
    text = {'schema': _TEXT}
    answer: dict[str, Any] = {
        'description': REFUSALS[status],
        'headers': _referred(['id']),
        'content': {JSON: {'schema': schema}, 'text/html': text, 'text/plain': text},
    }
    return answer


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
        error['properties']['code'] = {'type': 'string', 'enum': sorted(_codes())}
        error['required'] += ['code'] if version_is_known else []
    if not version_is_known:
        error['properties'] |= {'max_version': _TEXT, 'min_version': _TEXT}
    return an_object({'errors': {'type': 'array', 'minItems': 1, 'items': error}})


def _codes() -> set[str]:
    """Every code that an error can have."""
    return {
        value
        for value in vars(errors).values()
        if isinstance(value, str) and value.startswith(f'{SERVICE_TYPE}.')
    }
