# SPDX-License-Identifier: Apache-2.0
"""Templates of the successful replies of every handler, in the newest shape.

A template is a body with a JSON schema in place of each value. It has the shape of a reply, so the
downgrades of the history apply to it as they do to a reply. This gives the schema of every older
version without declaring a shape twice. ``replies.yaml`` contains the templates; the tests compare
them with the responses of the service at every microversion.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Mapping
from typing import Any

import yaml

from placement import extension
from placement.http.reply import Handler, Reply
from placement.schemas import common, inventory
from placement.schemas.common import Schema, an_object, keyed_by


class Described:
    """The schema of a value; an `optional` member may be missing."""

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
        """The pattern, with its schema."""
        name = super().__new__(cls, pattern)
        name.schema = {'type': 'string', 'pattern': pattern}
        return name


def described(template: Any) -> Schema:
    """The JSON schema of the values that match a template."""
    match template:
        case Described() | Name():
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
    required = [n for n, v in template.items() if not (isinstance(v, Described) and v.optional)]
    return an_object(properties, tuple(required))


def _element(template: list[Any]) -> Schema:
    """The schema of each element: any of the kinds in the template."""
    kinds = [described(element) for element in template]
    return kinds[0] if len(kinds) == 1 else {'anyOf': kinds}


# The value of each name in angle brackets.
VALUES: dict[str, Described | Name] = {
    'text': Described({'type': 'string'}),
    'boolean': Described({'type': 'boolean'}),
    'count': Described({'type': 'integer', 'minimum': 0}),
    # May be negative, as a capacity is if reserved exceeds total.
    'integer': Described({'type': 'integer'}),
    'time': Described({'type': 'string', 'format': 'date-time'}),
    'generation': Described(common.GENERATION),
    'provider': Name('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
    # Consumers and aggregates keep their spelling.
    'consumer': Name(common.UUID_KEY_PATTERN),
    'aggregate': Described({'type': 'string'}),
    'resource_class': Name(common.RESOURCE_CLASS_PATTERN),
    'trait': Name('^[A-Z0-9_]+$'),
    'consumer_type': Name('^([A-Z0-9_]+|all|unknown)$'),
    'suffix': Name('^[a-zA-Z0-9_-]{0,64}$'),
    'request': Name('^.{1,255}$'),
    # Any text of an operator.
    'key': Name('^'),
    'version': Described({'type': 'string', 'pattern': r'^[1-9][0-9]*\.[0-9]+$'}),
    **{name: Described(schema) for name, schema in inventory.MEMBERS.items()},
}


@functools.cache
def _values() -> dict[str, Described | Name]:
    """The values of names in angle brackets, including extensions."""
    fragments = [each.fragments() for each in extension.list_installed()]
    added = {name: Described(schema) for one in fragments for name, schema in one.values.items()}
    return VALUES | added


def parse_template(node: Any) -> Any:
    """The template of a node of ``replies.yaml``."""
    match node:
        case dict():
            return dict(_parse_member(name, value) for name, value in node.items())
        case list():
            return [parse_template(element) for element in node]
        case str() if node.startswith('<'):
            return _values()[node.strip('<>')]
        case _:
            return node


def _parse_member(text: str, node: Any) -> tuple[str, Any]:
    value = parse_template(node)
    name = text.removesuffix(' or null')
    if name != text:
        value = Described(_nullable(described(value)))
    if name.endswith('?'):
        return name.removesuffix('?'), Described(described(value), optional=True)
    return parse_template(name), value


def _nullable(schema: Schema) -> Schema:
    if schema['type'] in ('object', 'array'):
        return {'anyOf': [schema, {'type': 'null'}]}
    return schema | {'type': [schema['type'], 'null']}


@functools.cache
def _replies() -> dict[str, Mapping[str, Any]]:
    """The templates of replies by module and name of the handler, including extensions."""
    content = yaml.safe_load(pkgutil.get_data(__name__, 'replies.yaml'))
    replies: dict[str, Mapping[str, Any]] = content['replies']
    for each in extension.list_installed():
        replies |= each.fragments().replies
    return replies


@functools.cache
def replies_of(handler: Handler) -> tuple[Reply, ...]:
    """The successful replies of a handler, which differ in their status."""
    nodes = _replies()[handler.__module__][handler.__name__]
    return tuple(
        Reply(**node | {'body': parse_template(node.get('body'))})
        for node in (nodes if isinstance(nodes, list) else [nodes])
    )
