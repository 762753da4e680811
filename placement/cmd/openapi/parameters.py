# SPDX-License-Identifier: Apache-2.0
"""The parameters of an operation: those of the path, the query and the headers."""

import re
from collections.abc import Iterator
from typing import Any

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

DESCRIPTIONS = {
    'uuid': 'The uuid of a resource provider.',
    'consumer_uuid': 'The uuid of a consumer.',
    'resource_class': 'The name of a resource class.',
    'name': 'The name of the resource class or trait.',
    'resource_providers.list name': 'The exact name of a resource provider.',
    'traits.list name': 'in:NAME,NAME for these traits, or startswith:PREFIX.',
    'associated': 'Whether some provider has the trait: true or false, in any case.',
    'resources': 'CLASS:AMOUNT, several joined by commas.',
    'required': 'Names of traits joined by commas; what the version allows besides are !TRAIT '
    'for a trait that must not be there and in:TRAIT,TRAIT for any of several.',
    'member_of': 'The uuid of an aggregate, or in:UUID,UUID for any of several; where the version '
    'allows it an exclamation mark in front says none of them.',
    'in_tree': 'The uuid of a resource provider; only what is in its tree is found.',
    'limit': 'The largest number of candidates wanted.',
    'group_policy': 'Whether groups with a suffix have to be served by different providers. '
    'Required with more than one such group.',
    'root_required': 'Names of traits that the root of the tree has to have, or with an '
    'exclamation mark in front must not have, joined by commas.',
    'same_subtree': 'Suffixes of groups, joined by commas, whose providers have to be in one '
    'subtree that one of them is the root of.',
    'project_id': 'The project whose usages are wanted.',
    'user_id': 'The user of the project whose usages are wanted.',
    'include': 'What is wanted of each provider beside its name and place in the tree: some of '
    'inventories, usages, traits, aggregates and allocations.',
    'by': 'What each row of the answer is of; of capacity, root for each tree.',
    'type': 'The type of consumers, unknown for those without.',
    'provider': 'A resource provider: on whose tree a report is wanted, by uuid or name; or that '
    'consumers have allocations on, or whose changes are wanted, by uuid.',
    'consumer': 'The uuid of a consumer whose changes are wanted.',
    'request_id': 'The id of a request to this service, of which the changes are wanted.',
    'older_than': 'Only consumers that were made before this time, in ISO 8601.',
    'since': 'Only what was asked for or changed at this time, in ISO 8601, or later.',
    'insight.changes since': 'The token of the answer before: that of the last changes, or of the '
    'first page of /insight/providers; or a time, in ISO 8601.',
    'not_before': 'A token; the page is not of an earlier moment. The link to it says it.',
    'global_request_id': 'The id of a request of a client, of which the searches or changes are '
    'wanted.',
    'page_limit': 'The largest number of elements of a page, by default 100.',
    'marker': 'Where the page begins, as the link to it says.',
    'consumer_type': 'The type of consumers, unknown for those without, or all for the sum.',
}

GROUPS: OpenAPIParameter = {
    'name': 'groups',
    'in': 'query',
    'description': 'Request groups with a suffix: resources, required, member_of and the others '
    'that are listed, each with the suffix of its group behind the name.',
    'style': 'form',
    'explode': True,
}


def of_path(route: Route) -> list[OpenAPIParameter]:
    """The variables of the path."""
    return [
        {
            'name': name,
            'in': 'path',
            'required': True,
            'description': _of_action(DESCRIPTIONS, route.action, name),
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
        parameters.append(GROUPS | {'schema': members})
    return parameters


def _of_names(
    api: Api, action: str, schemas: common.Schema, required: tuple[str, ...]
) -> Iterator[OpenAPIParameter]:
    repeatable = _repeatable(api)
    for name, schema in schemas.items():
        yield {
            'name': name,
            'in': 'query',
            'required': name in required,
            'description': _of_action(DESCRIPTIONS, action, name),
            'schema': {'type': 'array', 'items': schema} if name in repeatable else schema,
        }


def _repeatable(api: Api) -> set[str]:
    """Parameters each value of which counts; of others one does."""
    names = {'same_subtree'}
    if api.allows(Rule.REPEATED_MEMBER_OF):
        names.add('member_of')
    if api.allows(Rule.ANY_TRAITS):
        names.add('required')
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
