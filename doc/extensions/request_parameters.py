# SPDX-License-Identifier: Apache-2.0
"""What a request takes, for the API reference: the directive ``request-parameters``.

Names, places, types and descriptions are those of the OpenAPI documents. The microversion that
brought a parameter follows from comparing them. ``:since:`` and ``:until:`` bound the versions
where a request has changed its meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from docutils.parsers import rst

from placement.cmd.openapi import document
from placement.routes import installed_surface

if TYPE_CHECKING:
    from sphinx.application import Sphinx

JSON = 'application/json'
HEADINGS = ('Name', 'In', 'Type', 'Since', 'Description')
WIDTHS = (22, 8, 12, 8, 50)


class Parameter(NamedTuple):
    """One parameter; `since` is empty if the request has had it from its beginning.

    `key` is its name in the OpenAPI document, that of all parameters of groups being one.
    """

    key: str
    name: str
    place: str
    type: str
    is_required: bool
    since: str
    description: str


def parameters(request: str, since: str = '', until: str = '') -> list[Parameter]:
    """The parameters of a request, such as ``GET /traits``, at the version `until`.

    That is the newest by default, and `since` the one that introduced the request.
    """
    versions = [str(api.version) for api in installed_surface().apis.values()]
    first = versions.index(since) if since else 0
    last = versions.index(until) if until else len(versions) - 1
    brought: dict[tuple[str, str], str] = {}
    found: list[Parameter] = []
    is_first = True
    for version in versions[first : last + 1]:
        operation = _operation(request, version)
        if operation is None:
            continue
        found = list(_of_operation(operation))
        for one in found:
            brought.setdefault((one.key, one.place), '' if is_first else version)
        is_first = False
    return [one._replace(since=brought[one.key, one.place]) for one in found]


def _operation(request: str, version: str) -> dict[str, Any] | None:
    method, path = request.split()
    found: dict[str, Any] | None = _paths(version).get(path, {}).get(method.lower())
    return found


@functools.cache
def _paths(version: str) -> dict[str, Any]:
    surface = installed_surface()
    content = document.document(surface, document.version_named(surface, version))
    paths: dict[str, Any] = content['paths']
    return paths


def _of_operation(operation: dict[str, Any]) -> Iterator[Parameter]:
    for one in operation['parameters']:
        if one['in'] == 'header':
            continue
        name, schema = one['name'], one['schema']
        if 'patternProperties' in schema:
            name = ', '.join(f'{_word(pattern)}{{S}}' for pattern in schema['patternProperties'])
        is_required = one.get('required', False)
        text = one['description']
        yield Parameter(one['name'], name, one['in'], _type(schema), is_required, '', text)
    if 'requestBody' in operation:
        body = operation['requestBody']['content'][JSON]['schema']
        for name, schema in body.get('properties', {}).items():
            is_required = name in body.get('required', ())
            text = schema['description']
            yield Parameter(name, name, 'body', _type(schema), is_required, '', text)


def _word(pattern: str) -> str:
    """The name at the beginning of a pattern."""
    return pattern.lstrip('^').partition('[')[0].partition('(')[0]


def _type(schema: dict[str, Any]) -> str:
    """The type, of a parameter that may be repeated that of each value."""
    if 'anyOf' in schema:
        return ' or '.join(map(_type, schema['anyOf']))
    kind = schema.get('type', 'object')
    return ' or '.join(kind) if isinstance(kind, list) else str(kind)


class RequestParameters(rst.Directive):
    """A table of the parameters of the request that is named."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {'since': rst.directives.unchanged, 'until': rst.directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Called by docutils."""
        found = parameters(self.arguments[0], **self.options)
        if not found:
            raise self.error(f'{self.arguments[0]} has no parameters')
        group = nodes.tgroup('', *(nodes.colspec(colwidth=width) for width in WIDTHS))
        group['cols'] = len(WIDTHS)
        group += nodes.thead('', _row([nodes.Text(heading)] for heading in HEADINGS))
        group += nodes.tbody('', *(_row(self._cells(one)) for one in found))
        return [nodes.table('', group)]

    def _cells(self, one: Parameter) -> Iterator[list[nodes.Node]]:
        need = ', required' if one.is_required else ''
        yield [nodes.literal(one.name, one.name)]
        yield [nodes.Text(one.place + need)]
        yield [nodes.Text(one.type)]
        yield [nodes.Text(one.since)]
        text, _messages = self.state.inline_text(one.description, self.lineno)
        yield list(text)


def _row(cells: Any) -> nodes.row:
    return nodes.row('', *(nodes.entry('', nodes.paragraph('', '', *cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive('request-parameters', RequestParameters)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
