# SPDX-License-Identifier: Apache-2.0
"""Validators of bodies and query strings, compiled from JSON schemas (specification: http,
"Validation messages").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match
from oslo_utils import uuidutils

Schema = Mapping[str, Any]

# A value of more parts than this, or of longer texts, is neither searched for the best of all
# errors nor quoted: both could take a worker many seconds.
MAX_QUOTED_SIZE = 20_000
MAX_MESSAGE_LENGTH = 1_000

FORMATS = jsonschema.FormatChecker(formats=())
# A query demands what jsonschema itself calls a uuid, dashes and all.
QUERY_FORMATS = jsonschema.FormatChecker(formats=('uuid',))


@FORMATS.checks('uuid')
def _is_uuid_like(value: object) -> bool:
    """Whether a value is a uuid in any spelling.

    Specification: conventions, "Spelling of uuids and names".
    """
    return not isinstance(value, str) or bool(uuidutils.is_uuid_like(value))


class Validator:
    """A JSON schema compiled once, for a body or for the parameters of a query string."""

    def __init__(self, schema: Schema, is_query: bool = False) -> None:
        self.schema = schema
        self._validator = jsonschema.Draft202012Validator(
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
    """Whether a value has more parts and characters than can be quoted in good time."""
    size = 0
    remaining = [value]
    while remaining and size <= MAX_QUOTED_SIZE:
        part = remaining.pop()
        size += 1
        if isinstance(part, str):
            size += len(part)
        elif isinstance(part, (list, dict)):
            size += len(part)
            if size <= MAX_QUOTED_SIZE:
                remaining.extend(part.values() if isinstance(part, dict) else part)
    return size > MAX_QUOTED_SIZE


def _summary(error: jsonschema.ValidationError) -> str:
    """A validation error without the value that it is about."""
    message = error.message
    if len(message) > MAX_MESSAGE_LENGTH:
        message = f'{message[:MAX_MESSAGE_LENGTH]}...'
    return f'{message}\n\nFailed validating {error.validator!r}'
