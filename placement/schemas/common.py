# SPDX-License-Identifier: Apache-2.0
"""Fragments that several schemas are made of."""

import enum
from typing import Any, Final

Schema = dict[str, Any]


class NotSent(enum.Enum):
    """A stand-in for a value that an old client could not send.

    Its one member is not None, which newer clients send and mean.
    """

    NOT_SENT = 'not sent'


NOT_SENT: Final = NotSent.NOT_SENT

# The largest integer that a column of the database holds.
MAX_INT = 2**31 - 1

RESOURCE_CLASS_PATTERN = '^[A-Z0-9_]+$'
CUSTOM_PATTERN = '^CUSTOM_[A-Z0-9_]+$'
UUID_KEY_PATTERN = '^[0-9a-fA-F-]{36}$'
CONSUMER_TYPE_PATTERN = '^[A-Z0-9_]+$'

UUID: Schema = {'type': 'string', 'format': 'uuid'}
UUID_OR_NULL: Schema = {'anyOf': [UUID, {'type': 'null'}]}
GENERATION: Schema = {'type': 'integer'}
GENERATION_OR_NULL: Schema = {'type': ['integer', 'null']}
EXTERNAL_ID: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
CUSTOM_NAME: Schema = {'type': 'string', 'pattern': CUSTOM_PATTERN, 'maxLength': 255}
# Whether it is a time that exists is up to whoever reads it.
TIME: Schema = {
    'type': 'string',
    'pattern': '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?$',
}
CONSUMER_FILTERS: Schema = {
    'project_id': EXTERNAL_ID,
    'user_id': EXTERNAL_ID,
    'type': {'pattern': '^([A-Z0-9_]+|unknown)$'} | EXTERNAL_ID,
    'provider': UUID,
    'older_than': TIME,
    'newer_than': TIME,
}


def an_object(properties: Schema, required: tuple[str, ...] | None = None, **more: Any) -> Schema:
    """An object with these properties and no others; all are required unless said otherwise.

    Of errors of the same weight, the one is reported whose keyword comes first here: missing
    properties before additional ones.
    """
    names = list(properties) if required is None else list(required)
    schema: Schema = {'type': 'object', 'properties': properties}
    return schema | ({'required': names} if names else {}) | {'additionalProperties': False} | more


def a_query(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """Query parameters, all of them optional unless said otherwise."""
    return an_object(properties, required)


def keyed_by(pattern: str, value: Schema, **more: Any) -> Schema:
    """An object whose names match a pattern, all of them with the same kind of value."""
    return {
        'type': 'object',
        'patternProperties': {pattern: value},
        'additionalProperties': False,
    } | more


def with_properties(schema: Schema, properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """A copy of an object's schema with more properties."""
    altered = schema | {'properties': schema['properties'] | properties}
    names = [*schema.get('required', ()), *required]
    return altered | ({'required': names} if names else {})
