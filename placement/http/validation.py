# SPDX-License-Identifier: Apache-2.0
"""Validators of bodies and query strings, compiled from JSON schemas (specification: http,
"Validation messages").
"""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError, best_match
from oslo_utils import uuidutils

from placement.http import spelling
from placement.schemas.common import Schema, without_description

Errors = Iterator[ValidationError]

# Maximum size of a value, in parts and characters, that is searched for the most relevant error
# and quoted in the message. For larger values both could take many seconds.
MAX_QUOTED_SIZE = 20_000
# Quoting takes time that grows with the square of the depth. No valid body is deeper than 6.
MAX_QUOTED_DEPTH = 32
MAX_MESSAGE_LENGTH = 1_000

# A list of tens of thousands of items takes half a second; the pauses let other threads run.
ITEMS_BETWEEN_PAUSES = 250
# After a sleep of zero seconds this thread would continue before another one wakes up.
PAUSE_SECONDS = 0.000_02

FORMATS = jsonschema.FormatChecker(formats=())
# Queries must have uuids as jsonschema defines them, with dashes.
QUERY_FORMATS = jsonschema.FormatChecker(formats=('uuid',))


@FORMATS.checks('uuid')
def _is_uuid_like(value: object) -> bool:
    """True if a value is a uuid in any spelling.

    Specification: conventions, "Spelling of uuids and names".
    """
    return not isinstance(value, str) or bool(uuidutils.is_uuid_like(value))


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Schema) -> Errors:
    """Matches a text with a pattern in which `$` is the end, as in ECMA-262.

    In Python `$` also matches before a final newline, which names must not have.
    """
    if isinstance(value, str) and (not re.search(pattern, value) or value.endswith('\n')):
        yield ValidationError(f'{value!r} does not match {pattern!r}')


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Schema) -> Errors:
    """Checks names as the library does, and refuses names that end in a newline."""
    refusals = list(_LIBRARY['additionalProperties'](validator, allowed, value, schema))
    yield from refusals
    if refusals or allowed or not isinstance(value, dict):
        return
    patterns = schema.get('patternProperties', ())
    extra = sorted(name for name in value if name.endswith('\n'))
    if extra:
        verb = 'does' if len(extra) == 1 else 'do'
        names, regexes = ', '.join(map(repr, extra)), ', '.join(map(repr, sorted(patterns)))
        yield ValidationError(f'{names} {verb} not match any of the regexes: {regexes}')


def _items(validator: Any, items: Any, value: Any, schema: Schema) -> Errors:
    """Checks the items as the library does, with pauses in a long list."""
    if not isinstance(value, list):
        return
    for number in range(0, len(value), ITEMS_BETWEEN_PAUSES):
        if number:
            time.sleep(PAUSE_SECONDS)
        part = value[number : number + ITEMS_BETWEEN_PAUSES]
        for error in _LIBRARY['items'](validator, items, part, schema):
            if number and error.relative_path:
                error.relative_path[0] += number
            yield error


def _unique_items(_validator: Any, unique: bool, value: Any, _schema: Schema) -> Errors:
    """Compares the JSON texts of the items; the library compares all pairs."""
    if not unique or not isinstance(value, list):
        return
    texts = {json.dumps(_comparable(item), sort_keys=True) for item in value}
    if len(texts) < len(value):
        yield ValidationError(f'{value!r} has non-unique elements')


def _comparable(item: Any) -> Any:
    """The item with whole floats as integers, which are equal to JSON Schema."""
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, list):
        return [_comparable(part) for part in item]
    if isinstance(item, dict):
        return {name: _comparable(part) for name, part in item.items()}
    return item


_LIBRARY = jsonschema.Draft202012Validator.VALIDATORS
_Draft202012Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {
        'pattern': _pattern,
        'additionalProperties': _additional_properties,
        'uniqueItems': _unique_items,
        'items': _items,
    },
)


def _undescribed(schema: Schema) -> Schema:
    """The schema of an object without the descriptions of its members, for messages."""
    members = {
        keyword: {name: without_description(value) for name, value in schema[keyword].items()}
        for keyword in ('properties', 'patternProperties')
        if keyword in schema
    }
    return schema | members


class Validator:
    """A JSON schema compiled once, for a body or for the parameters of a query string."""

    def __init__(self, schema: Schema, is_query: bool = False) -> None:
        self.schema = schema
        self._lowering = spelling.lowering(schema)
        # A message quotes the schema, without the descriptions for the API reference.
        self._validator = _Draft202012Validator(
            _undescribed(schema), format_checker=QUERY_FORMATS if is_query else FORMATS
        )

    def lowered(self, value: Any) -> Any:
        """Return a valid value with the uuids of providers and consumers in lower case.

        :raises errors.InvalidBody: two unique uuids are equal in lower case
        """
        return value if self._lowering is None else self._lowering(value)

    def find_error(self, value: Any) -> str | None:
        """The message of jsonschema about its best match of all errors; None for a valid value.

        For a value that is too large, the message about the first error, without the value.
        """
        try:
            # Proving a value valid is much cheaper than searching for the best error.
            if self._validator.is_valid(value):
                return None
            errors_found = self._validator.iter_errors(value)
            if _is_large(value):
                return _summary(next(errors_found))
            return str(best_match(errors_found))
        except RecursionError:
            return 'the value is nested too deeply'


def _is_large(value: Any) -> bool:
    """True if a value exceeds `MAX_QUOTED_SIZE` or `MAX_QUOTED_DEPTH`."""
    size = 0
    remaining = [(value, 0)]
    while remaining and size <= MAX_QUOTED_SIZE:
        part, depth = remaining.pop()
        if depth > MAX_QUOTED_DEPTH:
            return True
        size += 1
        if isinstance(part, str):
            size += len(part)
        elif isinstance(part, (list, dict)):
            size += len(part)
            if size <= MAX_QUOTED_SIZE:
                parts = part.values() if isinstance(part, dict) else part
                remaining.extend((inner, depth + 1) for inner in parts)
    return size > MAX_QUOTED_SIZE


def _summary(error: ValidationError) -> str:
    """The message of a validation error without the value."""
    message = error.message
    if len(message) > MAX_MESSAGE_LENGTH:
        message = f'{message[:MAX_MESSAGE_LENGTH]}...'
    return f'{message}\n\nFailed validating {error.validator!r}'
