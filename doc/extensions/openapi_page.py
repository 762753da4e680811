# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI documents: all of them as files of the site, the newest as a page to read.

``openapi-documents`` is the list of the files, ``openapi-operations`` has every operation with its
parameters, the schema of its body, and its responses.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from docutils.parsers import rst
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from placement import microversions
from placement.cmd.openapi import document
from placement.routes import installed_surface

DIRECTORY = pathlib.PurePosixPath('api-ref', 'openapi')
JSON = 'application/json'
Node = nodes.Node


def documents() -> dict[str, dict[str, Any]]:
    """The document of every microversion, by the version."""
    surface = installed_surface()
    apis = surface.apis.values()
    return {str(api.version): document.document(surface, api) for api in apis}


class Documents(rst.Directive):
    """A list of the OpenAPI documents, newest first."""

    def run(self) -> list[Node]:
        """One paragraph with a link to each."""
        links = nodes.paragraph()
        for version in reversed([str(api.version) for api in microversions.APIS.values()]):
            address = f'{DIRECTORY.name}/placement-{version}.json'
            links += nodes.reference('', version, refuri=address, internal=True)
            links += nodes.Text(' ')
        return [links]


class Operations(SphinxDirective):
    """Every operation of the newest microversion, a section for each path."""

    def run(self) -> list[Node]:
        """The sections, in the order of the document."""
        surface = installed_surface()
        version = document.version_named(surface, microversions.NEWEST)
        newest = document.document(surface, version)
        return [
            self._section(path, operations, newest['components'])
            for path, operations in newest['paths'].items()
        ]

    def _section(
        self, path: str, operations: dict[str, Any], components: dict[str, Any]
    ) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(f'path {path}')])
        section += nodes.title('', '', nodes.literal(path, path))
        for method, operation in operations.items():
            section += _operation(method, path, operation, components)
        return section


def _operation(
    method: str, path: str, operation: dict[str, Any], components: dict[str, Any]
) -> nodes.container:
    shown = nodes.container(classes=['openapi-operation'])
    first = nodes.paragraph(
        classes=['operation'], ids=[operation['operationId'].replace('.', '-')]
    )
    first += nodes.inline('', method.upper(), classes=['method', f'method-{method}'])
    first += [nodes.Text(' '), nodes.literal(path, path), nodes.Text(' ')]
    first += nodes.inline('', f'since {operation["x-openstack"]["min-ver"]}', classes=['versions'])
    shown += [first, nodes.paragraph('', operation['summary'])]
    if rows := list(_parameters(operation['parameters'])):
        shown += _table(('Parameter', 'In', 'Type', 'Meaning'), rows, (22, 8, 20, 50))
    if 'requestBody' in operation:
        schema = operation['requestBody']['content'][JSON]['schema']
        shown += _folded('Schema of the request body', schema)
    shown += _responses(operation['responses'], components)
    return shown


def _parameters(parameters: Iterable[dict[str, Any]]) -> Iterator[tuple[list[Node], ...]]:
    for one in parameters:
        if one['in'] == 'header':
            continue
        need = ', required' if one.get('required') else ''
        yield (
            [nodes.literal('', one['name'])],
            [nodes.Text(one['in'] + need)],
            [nodes.Text(_type(one.get('schema', {})))],
            [nodes.Text(one.get('description', ''))],
        )


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if 'enum' in schema:
        return ' or '.join(map(str, schema['enum']))
    kind = schema.get('type', '')
    if kind == 'array':
        return f'array of {_type(schema.get("items", {})) or "values"}'
    shown = ' or '.join(kind) if isinstance(kind, list) else str(kind)
    return f'{shown}, {schema["format"]}' if 'format' in schema else shown


def _responses(responses: dict[str, Any], components: dict[str, Any]) -> Iterator[Node]:
    rows = []
    folded = []
    for status, response in responses.items():
        reference = response.get('$ref', '')
        full = components['responses'][reference.rpartition('/')[2]] if reference else response
        rows.append(([nodes.literal('', status)], [nodes.Text(full['description'])]))
        content = response.get('content', {})
        if status.startswith('2') and JSON in content:
            folded.append(_folded(f'Schema of the body of {status}', content[JSON]['schema']))
    yield from folded
    yield _table(('Status', 'Meaning'), rows, (15, 85))


def _folded(title: str, schema: dict[str, Any]) -> nodes.container:
    """A schema that a reader unfolds."""
    text = json.dumps(schema, indent=2)
    block = nodes.literal_block(text, text, language='json')
    begin = nodes.raw('', f'<details><summary>{title}</summary>', format='html')
    return nodes.container('', begin, block, nodes.raw('', '</details>', format='html'))


def _table(
    head: Iterable[str], rows: Iterable[tuple[list[Node], ...]], widths: tuple[int, ...]
) -> nodes.table:
    group = nodes.tgroup('', *(nodes.colspec(colwidth=width) for width in widths))
    group['cols'] = len(widths)
    group += nodes.thead('', _row([nodes.Text(text)] for text in head))
    group += nodes.tbody('', *(_row(row) for row in rows))
    return nodes.table('', group)


def _row(cells: Iterable[list[Node]]) -> nodes.row:
    return nodes.row('', *(nodes.entry('', nodes.paragraph('', '', *cell)) for cell in cells))


def write_documents(app: Sphinx, error: Exception | None) -> None:
    """Put the document of every microversion beside the pages."""
    if error is not None:
        return
    directory = pathlib.Path(app.outdir) / DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    for version, content in documents().items():
        text = json.dumps(content, indent=2)
        (directory / f'placement-{version}.json').write_text(text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive('openapi-documents', Documents)
    app.add_directive('openapi-operations', Operations)
    app.connect('build-finished', write_documents)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
