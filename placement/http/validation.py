# SPDX-License-Identifier: Apache-2.0
"""Validators of bodies and query strings, compiled from JSON schemas (specification: http,
"Validation messages").
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError, best_match
from oslo_utils import uuidutils

from placement.schemas.common import Schema

Errors = Iterator[ValidationError]

# A value of more parts than this, or of longer texts, is neither searched for the best of all
# errors nor quoted: both could take a worker many seconds.
MAX_QUOTED_SIZE = 20_000
# Quoting takes time that grows with the square of the depth. No valid body is deeper than 6.
MAX_QUOTED_DEPTH = 32
MAX_MESSAGE_LENGTH = 1_000

FORMATS = jsonschema.FormatChecker(formats=())
# A query demands what jsonschema itself calls a uuid, dashes and all.
QUERY_FORMATS = jsonschema.FormatChecker(formats=('uuid',))


@FORMATS.checks('uuid')
def _is_uuid_like(value: object) -> bool:
    """Test whether a value is a uuid in any spelling.

    Specification: conventions, "Spelling of uuids and names".
    """
    return not isinstance(value, str) or bool(uuidutils.is_uuid_like(value))


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Schema) -> Errors:
    """Matches a text with a pattern, whose `$` is the end, as ECMA-262 has it.

    To Python a `$` also matches before a newline at the end, and names must not end in one.
    """
    if isinstance(value, str) and (not re.search(pattern, value) or value.endswith('\n')):
        yield ValidationError(f'{value!r} does not match {pattern!r}')


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Schema) -> Errors:
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


def _unique_items(_validator: Any, unique: bool, value: Any, _schema: Schema) -> Errors:
    """Compares the JSON texts of the items: the library compares each item with each other."""
    if not unique or not isinstance(value, list):
        return
    texts = {json.dumps(_comparable(item), sort_keys=True) for item in value}
    if len(texts) < len(value):
        yield ValidationError(f'{value!r} has non-unique elements')


def _comparable(item: Any) -> Any:
    """The item with whole floats as integers, which JSON schemas do not tell apart."""
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
    },
)


class Validator:
    """A JSON schema compiled once, for a body or for the parameters of a query string."""

    def __init__(self, schema: Schema, is_query: bool = False) -> None:
        self.schema = schema
        self._validator = _Draft202012Validator(
            schema, format_checker=QUERY_FORMATS if is_query else FORMATS
        )

    def find_error(self, value: Any) -> str | None:
        """The best match of all validation errors, in the words of the jsonschema library.

        None for a valid value. Of a value that is too large to be searched and quoted it is the
        first error, without the value.
        """
        try:
            # Finding out that there is no error is much cheaper than the best of none.
            if self._validator.is_valid(value):
                return None
            errors_found = self._validator.iter_errors(value)
            if _is_large(value):
                return _summary(next(errors_found))
            return str(best_match(errors_found))
        except RecursionError:
            return 'the value is nested too deeply'


def _is_large(value: Any) -> bool:
    """Test whether a value has more parts, characters or levels than can be quoted soon."""
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
    """A validation error without the value that it is about."""
    message = error.message
    if len(message) > MAX_MESSAGE_LENGTH:
        message = f'{message[:MAX_MESSAGE_LENGTH]}...'
    return f'{message}\n\nFailed validating {error.validator!r}'
