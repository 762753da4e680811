# SPDX-License-Identifier: Apache-2.0
"""The parameters of an operation: those of the path, the query and the headers."""

import re
from collections.abc import Iterator
from typing import Any

from placement.cmd.openapi import FRAGMENTS
from placement.http.microversion import SERVICE_TYPE, Api, Rule
from placement.routes import Route
from placement.schemas import common

OpenAPIParameter = dict[str, Any]

VERSION_HEADER = 'OpenStack-API-Version'

_VARIABLE = re.compile(r'\{(\w+)\}')
# In a pattern of query parameters: the name, and what may follow it.
_WITH_SUFFIX = re.compile(r'\^(\w+)\((.*)\)\?\$')

# By variable, or by action and variable where it makes a difference. What is only looked up may
# have any form: the answer is the same as for what is not there.
_PATH_SCHEMAS: dict[str, common.Schema] = {
    'uuid': common.UUID,
    'consumer_uuid': {'type': 'string', 'minLength': 1},
    'allocations.set consumer_uuid': common.UUID,
    'resource_class': {'type': 'string', 'pattern': common.RESOURCE_CLASS_PATTERN},
    'name': {'type': 'string', 'minLength': 1},
    'traits.put name': common.CUSTOM_NAME,
    'resource_classes.put name': common.CUSTOM_NAME,
}


def of_path(route: Route) -> list[OpenAPIParameter]:
    """The variables of the path."""
    return [
        {
            'name': name,
            'in': 'path',
            'required': True,
            'description': _of_action(FRAGMENTS['parameters'], route.action, name),
            'schema': _of_action(_PATH_SCHEMAS, route.action, name),
        }
        for name in _VARIABLE.findall(route.path)
    ]


def _of_action(table: dict[str, Any], action: str, name: str) -> Any:
    return table.get(f'{action} {name}', table[name])


def of_query(api: Api, action: str) -> list[OpenAPIParameter]:
    """The query parameters of an action, those of request groups as one."""
    if action not in api.queries:
        return []
    schema = api.queries[action].schema
    groups: common.Schema = {}
    single = dict(schema['properties'])
    for pattern, values in schema.get('patternProperties', {}).items():
        match = _WITH_SUFFIX.fullmatch(pattern)
        assert match is not None, pattern
        name, suffix = match.groups()
        single[name] = values
        groups[f'^{name}{suffix}$'] = values
    required = schema.get('required', ())
    parameters = list(_of_names(api, action, single, required))
    if groups:
        members = {'type': 'object', 'patternProperties': groups, 'additionalProperties': False}
        parameters.append(FRAGMENTS['groups'] | {'schema': members})
    return parameters


def _of_names(
    api: Api, action: str, schemas: common.Schema, required: tuple[str, ...]
) -> Iterator[OpenAPIParameter]:
    repeatable = _repeatable(api, action)
    for name, schema in schemas.items():
        yield {
            'name': name,
            'in': 'query',
            'required': name in required,
            'description': _of_action(FRAGMENTS['parameters'], action, name),
            'schema': {'type': 'array', 'items': schema} if name in repeatable else schema,
        }


def _repeatable(api: Api, action: str) -> set[str]:
    """Parameters each value of which counts; of others one does."""
    names = {'same_subtree'}
    if api.allows(Rule.REPEATED_MEMBER_OF):
        names.add('member_of')
    if api.allows(Rule.ANY_TRAITS):
        names.add('required')
    if action == 'insight.consumers':
        names.add('uuid')
    return names


def version_header(api: Api) -> OpenAPIParameter:
    """The header that asks for the version; the oldest is what those get who ask for none."""
    return {
        'name': VERSION_HEADER,
        'in': 'header',
        'required': str(api.version) != api.oldest,
        'description': 'The microversion that the request is made at.',
        'schema': {'type': 'string', 'enum': [f'{SERVICE_TYPE} {api.version}']},
    }
