# SPDX-License-Identifier: Apache-2.0
"""Converts the uuids of providers and consumers in bodies and queries to lower case.

The schema determines their places: texts with a format of uuids, and keys with the pattern of
uuids. Texts of `common.UUID_AS_SPELLED` keep their spelling. Specification: conventions, "Spelling
of uuids and names".
"""

import functools
import re
from collections.abc import Callable

from placement import errors
from placement.schemas import common
from placement.schemas.common import Schema

Lowering = Callable[[object], object]

_UUID = re.compile(common.UUID_KEY_PATTERN)
_FORMATS = (common.UUID['format'], common.UUID_OR_NAME['format'])


def lowered(text: str) -> str:
    """Return a uuid with dashes in lower case, and any other text as it is."""
    return text.lower() if _UUID.fullmatch(text) else text


def lowering(schema: Schema) -> Lowering | None:
    """Return the function that lowers the uuids of a valid value; None if it can have none.

    The function raises `errors.InvalidBody` if two unique uuids are equal in lower case.
    """
    if schema is common.UUID_AS_SPELLED:
        return None
    if schema.get('format') in _FORMATS:
        return lambda value: lowered(value) if isinstance(value, str) else value
    parts = (_of_members(schema), _of_items(schema), *map(lowering, schema.get('anyOf', ())))
    steps = [part for part in parts if part is not None]
    if not steps:
        return None
    return lambda value: functools.reduce(lambda lower, step: step(lower), steps, value)


def _of_members(schema: Schema) -> Lowering | None:
    """Return the function for the members of an object, and for their names."""
    members = _lowerings(schema.get('properties', {}))
    patterns = _lowerings(schema.get('patternProperties', {}))
    is_keyed = common.UUID_KEY_PATTERN in schema.get('patternProperties', {})
    if not (members or patterns or is_keyed):
        return None

    def lower_member(name: str, part: object) -> object:
        if name in members:
            return members[name](part)
        of_name = (lower for pattern, lower in patterns.items() if re.search(pattern, name))
        return functools.reduce(lambda value, lower: lower(value), of_name, part)

    def lower_all(value: object) -> object:
        if not isinstance(value, dict):
            return value
        if is_keyed:
            _check_different(list(value))
        return {
            lowered(name) if is_keyed else name: lower_member(name, part)
            for name, part in value.items()
        }

    return lower_all


def _lowerings(schemas: dict[str, Schema]) -> dict[str, Lowering]:
    """Return the functions of the schemas, without schemas that need none."""
    made = ((name, lowering(schema)) for name, schema in schemas.items())
    return {name: lower for name, lower in made if lower is not None}


def _of_items(schema: Schema) -> Lowering | None:
    """Return the function for the items of a list."""
    lower = lowering(schema['items']) if 'items' in schema else None
    if lower is None:
        return None

    def lower_all(value: object) -> object:
        if not isinstance(value, list):
            return value
        if schema.get('uniqueItems'):
            _check_different(value)
        return [lower(item) for item in value]

    return lower_all


def _check_different(uuids: list[str]) -> None:
    """Raise `errors.InvalidBody` for two different texts that are the same uuid."""
    spellings: dict[str, str] = {}
    for uuid in uuids:
        first = spellings.setdefault(lowered(uuid), uuid)
        if first != uuid:
            raise errors.InvalidBody(reason=f'{first!r} and {uuid!r} are the same uuid')
