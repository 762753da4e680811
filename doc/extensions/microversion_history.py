# SPDX-License-Identifier: Apache-2.0
"""The history of the microversions: ``microversion-history`` and ``schema-generations``.

The summaries are those of placement/microversions.py; api-ref/source/microversion_notes.yaml has
notes on some of the versions.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import yaml
from docutils import nodes, statemachine
from docutils.parsers import rst

from placement import microversions
from placement.routes import installed_surface

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NOTES = pathlib.Path(__file__).parents[2] / 'api-ref' / 'source' / 'microversion_notes.yaml'


def entries() -> str:
    """A definition list in reStructuredText: each version with its summary and its note.

    Raises ValueError for a note on a version that does not exist.
    """
    notes = yaml.safe_load(NOTES.read_text())
    unknown = notes.keys() - {change.version for change in microversions.HISTORY}
    if unknown:
        raise ValueError(f'{NOTES} has notes on unknown versions: {sorted(unknown)}')
    return '\n'.join(
        _entry(change.version, change.summary, notes) for change in microversions.HISTORY
    )


def _entry(version: str, summary: str, notes: dict[str, str]) -> str:
    text = textwrap.indent('\n'.join(_paragraphs(version, summary, notes)), '    ')
    return f'{version}\n{text}\n'


def _paragraphs(version: str, summary: str, notes: dict[str, str]) -> Iterator[str]:
    yield textwrap.fill(summary, width=84, break_on_hyphens=False)
    if version in notes:
        yield ''
        yield notes[version].rstrip()


def generations() -> dict[str, list[str]]:
    """The versions at which each route gets another schema, by what of it the schema is for."""
    surface = installed_surface()
    found: dict[str, list[str]] = {}
    for route in surface.routes:
        name = f'{route.method} {route.path}'
        for what, kind in ((name, 'bodies'), (f'{name} query', 'queries')):
            before = None
            for version, api in surface.apis.items():
                validator = getattr(api, kind).get(route.action)
                schema = None if validator is None else validator.schema
                if schema != before:
                    found.setdefault(what, []).append('.'.join(map(str, version)))
                before = schema
    return found


class SchemaGenerations(rst.Directive):
    """The list of the routes whose requests have schemas, each with the versions of these."""

    def run(self) -> list[nodes.Node]:
        """Called by docutils."""
        entries = (
            nodes.list_item(
                '',
                nodes.paragraph(
                    '', '', nodes.literal('', what), nodes.Text(': ' + ', '.join(versions))
                ),
            )
            for what, versions in generations().items()
        )
        return [nodes.bullet_list('', *entries)]


class MicroversionHistory(rst.Directive):
    """The definition list of all microversions."""

    def run(self) -> list[nodes.Node]:
        """Called by docutils."""
        lines = statemachine.StringList(
            entries().splitlines(), source='placement/microversions.py'
        )
        found = nodes.Element()
        self.state.nested_parse(lines, 0, found)
        return found.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive('microversion-history', MicroversionHistory)
    app.add_directive('schema-generations', SchemaGenerations)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
