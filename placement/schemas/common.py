# SPDX-License-Identifier: Apache-2.0
"""Fragments that several schemas share."""

import enum
from typing import Any, Final

Schema = dict[str, Any]


class NotSent(enum.Enum):
    """Placeholder of a value that an old client could not send.

    Its only member differs from None, which newer clients send deliberately.
    """

    NOT_SENT = 'not sent'


NOT_SENT: Final = NotSent.NOT_SENT

# The largest integer that a column of the database holds.
MAX_INT = 2**31 - 1

RESOURCE_CLASS_PATTERN = '^[A-Z0-9_]+$'
CUSTOM_PATTERN = '^CUSTOM_[A-Z0-9_]+$'
UUID_KEY_PATTERN = '^[0-9a-fA-F-]{36}$'
CONSUMER_TYPE_PATTERN = '^[A-Z0-9_]+$'

# The uuid of a provider or a consumer, which `http.spelling` converts to lower case.
UUID: Schema = {'type': 'string', 'format': 'uuid'}
# The uuid of an aggregate, or the last uuid of a page, which keep their spelling.
UUID_AS_SPELLED: Schema = dict(UUID)
UUID_OR_NAME: Schema = {
    'type': 'string',
    'format': 'uuid-or-name',
    'minLength': 1,
    'maxLength': 200,
}
UUID_OR_NULL: Schema = {'anyOf': [UUID, {'type': 'null'}]}
GENERATION: Schema = {'type': 'integer'}
GENERATION_OR_NULL: Schema = {'type': ['integer', 'null']}
EXTERNAL_ID: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
CUSTOM_NAME: Schema = {'type': 'string', 'pattern': CUSTOM_PATTERN, 'maxLength': 255}
# The parser of the value checks that the time exists.
TIME: Schema = {
    'type': 'string',
    'pattern': '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?$',
}


def an_object(properties: Schema, required: tuple[str, ...] | None = None, **more: Any) -> Schema:
    """An object with these properties and no others; by default, all are required.

    The order of keywords matters: among equally relevant errors jsonschema reports the first, so
    missing properties come before additional ones.
    """
    names = list(properties) if required is None else list(required)
    schema: Schema = {'type': 'object', 'properties': properties}
    return schema | ({'required': names} if names else {}) | {'additionalProperties': False} | more


def described(schema: Schema, text: str) -> Schema:
    """A copy of a schema with a description, for the OpenAPI document and the reference.

    Its literals are between double backquotes, as in Markdown and reStructuredText.
    """
    return schema | {'description': text}


def without_description(schema: Schema) -> Schema:
    """A copy of a schema without its description."""
    return {keyword: value for keyword, value in schema.items() if keyword != 'description'}


def a_query(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """Query parameters; by default, all are optional."""
    return an_object(properties, required)


def keyed_by(pattern: str, value: Schema, **more: Any) -> Schema:
    """An object whose names match a pattern, and whose values have one schema."""
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
