# SPDX-License-Identifier: Apache-2.0
"""Templates of the successful replies of every handler, in the newest shape.

A template is a body with a JSON schema in the place of each value. It has the shape of a reply, so
the downgrades of the history apply to it as they do to a reply. The schema of an older version
follows from the result, and no shape is declared twice. The templates are those of
``replies.yaml``. The tests compare them with the responses of the service at every microversion.
"""

from __future__ import annotations

import functools
from typing import Any

from placement.cmd import package_data
from placement.http.microversion import Handler
from placement.http.reply import Reply
from placement.insight.demand.handlers import VERDICTS
from placement.insight.history.statements import SubjectKind
from placement.insight.what_if.schemas import VERBS
from placement.schemas import common, inventory
from placement.schemas.common import Schema, an_object, keyed_by


class Described:
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
    """The schema of each element: one of the kinds that the template lists."""
    kinds = [described(element) for element in template]
    return kinds[0] if len(kinds) == 1 else {'anyOf': kinds}


# What stands for each name in angle brackets.
VALUES: dict[str, Described | Name] = {
    'text': Described({'type': 'string'}),
    'boolean': Described({'type': 'boolean'}),
    'count': Described({'type': 'integer', 'minimum': 0}),
    # Also negative, as a capacity is where more is reserved than there is.
    'integer': Described({'type': 'integer'}),
    'time': Described({'type': 'string', 'format': 'date-time'}),
    'generation': Described(common.GENERATION),
    'provider': Name('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
    # Consumers and aggregates are kept as they were spelled.
    'consumer': Name(common.UUID_KEY_PATTERN),
    'aggregate': Described({'type': 'string'}),
    'resource_class': Name(common.RESOURCE_CLASS_PATTERN),
    'trait': Name('^[A-Z0-9_]+$'),
    'consumer_type': Name('^([A-Z0-9_]+|all|unknown)$'),
    'suffix': Name('^[a-zA-Z0-9_-]{0,64}$'),
    'request': Name('^.{1,255}$'),
    # Whatever an operator has written.
    'key': Name('^'),
    'version': Described({'type': 'string', 'pattern': r'^[1-9][0-9]*\.[0-9]+$'}),
    'verdict': Described({'type': 'string', 'enum': ['fits', *VERDICTS]}),
    'verdict_in_vain': Described({'type': 'string', 'enum': list(VERDICTS)}),
    'step': Described({'type': 'string', 'enum': list(VERBS)}),
    'kind': Described({'type': 'string', 'enum': [str(kind) for kind in SubjectKind]}),
    **{name: Described(schema) for name, schema in inventory.MEMBERS.items()},
}


def parse_template(node: Any) -> Any:
    """The template that a node of ``replies.yaml`` stands for."""
    match node:
        case dict():
            return dict(_parse_member(name, value) for name, value in node.items())
        case list():
            return [parse_template(element) for element in node]
        case str() if node.startswith('<'):
            return VALUES[node.strip('<>')]
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


# By module and name of the handler.
REPLIES: dict[str, dict[str, Any]] = package_data.load(__package__, 'replies.yaml')['replies']


@functools.cache
def replies_of(handler: Handler) -> tuple[Reply, ...]:
    """The successful replies of a handler, which differ in their status."""
    nodes = REPLIES[handler.__module__][handler.__name__]
    return tuple(
        Reply(**node | {'body': parse_template(node.get('body'))})
        for node in (nodes if isinstance(nodes, list) else [nodes])
    )
