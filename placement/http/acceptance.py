# SPDX-License-Identifier: Apache-2.0
"""A quick test for values that a JSON schema allows, as nearly all that clients send are.

It accepts nothing that the schema forbids, and may refuse what it allows: jsonschema decides
about that, and words every error. To have it decide about the body of a claim takes 90
microseconds, which is a twentieth of the processor time of the claim and its release; this takes
ten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Accepts = Callable[[Any], bool]

# Whether a text has a format, which is given by its name.
HasFormat = Callable[[str, str], bool]

# Exactly these: a boolean is no integer, and whole floats as integers are left to jsonschema.
_CLASSES: Mapping[str, set[type]] = {
    'array': {list},
    'boolean': {bool},
    'integer': {int},
    'null': {type(None)},
    'number': {int, float},
    'object': {dict},
    'string': {str},
}
_OF_OBJECTS = {
    'additionalProperties',
    'maxProperties',
    'minProperties',
    'patternProperties',
    'properties',
    'required',
}
_OF_ARRAYS = {'items', 'minItems', 'uniqueItems'}
_OF_STRINGS = {'format', 'maxLength', 'minLength', 'pattern'}
_OF_NUMBERS = {'maximum', 'minimum'}
_OF_ANY = {'anyOf', 'enum', 'type'}
_KNOWN = _OF_OBJECTS | _OF_ARRAYS | _OF_STRINGS | _OF_NUMBERS | _OF_ANY

_UNBOUNDED = float('inf')


def acceptance(schema: Schema, has_format: HasFormat) -> Accepts:
    """The test for a schema; it refuses everything if the schema has a keyword unknown here."""
    if not isinstance(schema, Mapping) or not schema.keys() <= _KNOWN:
        return lambda value: False
    tests: list[Accepts] = []
    if 'type' in schema:
        names = [schema['type']] if isinstance(schema['type'], str) else schema['type']
        classes = set().union(*(_CLASSES[name] for name in names))
        tests.append(lambda value: type(value) in classes)
    if 'enum' in schema:
        texts = {value for value in schema['enum'] if isinstance(value, str)}
        tests.append(lambda value: type(value) is str and value in texts)
    if 'anyOf' in schema:
        choices = [acceptance(choice, has_format) for choice in schema['anyOf']]
        tests.append(lambda value: any(accepts(value) for accepts in choices))
    for keywords, classes_with_them, test_of in (
        (_OF_OBJECTS, (dict,), _object),
        (_OF_ARRAYS, (list,), _array),
        (_OF_STRINGS, (str,), _string),
        (_OF_NUMBERS, (int, float), _number),
    ):
        if schema.keys() & keywords:
            tests.append(_for_classes(classes_with_them, test_of(schema, has_format)))
    return lambda value: all(accepts(value) for accepts in tests)


def _for_classes(classes: tuple[type, ...], accepts: Accepts) -> Accepts:
    """The test of keywords that say nothing about values of other classes."""

    def test(value: Any) -> bool:
        if type(value) in classes:
            return accepts(value)
        # Subclasses, as bool is of int, are left to jsonschema.
        return not isinstance(value, classes)

    return test


def _object(schema: Schema, has_format: HasFormat) -> Accepts:
    properties = {
        name: acceptance(part, has_format) for name, part in schema.get('properties', {}).items()
    }
    patterns = [
        (re.compile(pattern).search, acceptance(part, has_format))
        for pattern, part in schema.get('patternProperties', {}).items()
    ]
    others = schema.get('additionalProperties', True) is True
    required = set(schema.get('required', ()))
    fewest = schema.get('minProperties', 0)
    most = schema.get('maxProperties', _UNBOUNDED)

    def accepts(value: dict[str, Any]) -> bool:
        if not (fewest <= len(value) <= most and value.keys() >= required):
            return False
        for name, part in value.items():
            is_known = others
            if name in properties:
                is_known = True
                if not properties[name](part):
                    return False
            for matches, accepts_part in patterns:
                if matches(name):
                    is_known = True
                    # Before a newline at the end a `$` would match.
                    if name.endswith('\n') or not accepts_part(part):
                        return False
            if not is_known:
                return False
        return True

    return accepts


def _array(schema: Schema, has_format: HasFormat) -> Accepts:
    accepts_item = acceptance(schema.get('items', {}), has_format)
    fewest = schema.get('minItems', 0)
    is_set = schema.get('uniqueItems', False)

    def accepts(value: list[Any]) -> bool:
        if len(value) < fewest or not all(accepts_item(item) for item in value):
            return False
        # Other values than texts may be equal to JSON and not to Python, or the reverse.
        return not is_set or (
            all(type(item) is str for item in value) and len(set(value)) == len(value)
        )

    return accepts


def _string(schema: Schema, has_format: HasFormat) -> Accepts:
    shortest = schema.get('minLength', 0)
    longest = schema.get('maxLength', _UNBOUNDED)
    matches = re.compile(schema['pattern']).search if 'pattern' in schema else None
    named_format = schema.get('format')

    def accepts(value: str) -> bool:
        if not shortest <= len(value) <= longest:
            return False
        if matches is not None and (value.endswith('\n') or not matches(value)):
            return False
        return named_format is None or has_format(value, named_format)

    return accepts


def _number(schema: Schema, _has_format: HasFormat) -> Accepts:
    least = schema.get('minimum', -_UNBOUNDED)
    largest = schema.get('maximum', _UNBOUNDED)
    return lambda value: least <= value <= largest
