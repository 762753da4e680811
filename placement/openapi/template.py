# SPDX-License-Identifier: Apache-2.0
"""Templates: bodies with a JSON schema in the place of each value, and the schema of the whole.

A template has the shape of a reply, so the downgrades of the history apply to it as they do to a
reply. The schema of an older version follows from the result, and no shape is declared twice.
"""

from __future__ import annotations

from typing import Any

from placement.schemas.common import Schema, an_object, keyed_by


class Value:
    """The schema of a value; the member may be missing when it is `optional`."""

    def __init__(self, schema: Schema, optional: bool = False) -> None:
        self.schema = schema
        self.optional = optional


class Name(str):
    """The pattern of a string that a client or an operator chose.

    As the name of a member it stands for any number of members.
    """

    __slots__ = ('schema',)
    schema: Schema

    def __new__(cls, pattern: str) -> Name:
        """The pattern, with the schema that it makes."""
        name = super().__new__(cls, pattern)
        name.schema = {'type': 'string', 'pattern': pattern}
        return name


def described(template: Any) -> Schema:
    """The JSON schema of everything that has the shape of a template."""
    match template:
        case Value() | Name():
            return template.schema
        case dict():
            return _object(template)
        case list():
            return {'type': 'array', 'items': _element(template)}
        case _:
            return {'const': template}


def _object(template: dict[str, Any]) -> Schema:
    if any(isinstance(name, Name) for name in template):
        ((name, value),) = ((n, v) for n, v in template.items() if isinstance(n, Name))
        others = {n: described(v) for n, v in template.items() if not isinstance(n, Name)}
        return keyed_by(str(name), described(value)) | (
            {'properties': others, 'required': list(others)} if others else {}
        )
    properties = {name: described(value) for name, value in template.items()}
    required = [n for n, v in template.items() if not (isinstance(v, Value) and v.optional)]
    return an_object(properties, tuple(required))


def _element(template: list[Any]) -> Schema:
    """What each element is: one of the kinds that the template lists."""
    kinds = [described(element) for element in template]
    return kinds[0] if len(kinds) == 1 else {'anyOf': kinds}
