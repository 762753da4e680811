# SPDX-License-Identifier: Apache-2.0
"""The pages of the specification, as tests read them: sections and tables."""

from __future__ import annotations

import functools

from docutils import nodes

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
PAGES = REPOSITORY / 'doc' / 'source' / 'specification'

Rows = list[list[str]]


@functools.cache
def section_of(page: str, title: str) -> nodes.section:
    """The section of a page that has a title."""
    tree, _ = samples.parse_page((PAGES / f'{page}.rst').read_text())
    (section,) = [
        section for section in tree.findall(nodes.section) if section[0].astext() == title
    ]
    return section


def rows_of(page: str, title: str, place: int = 0) -> Rows:
    """The cells of a table of a section, its first unless `place` says so, without the heading."""
    table = list(section_of(page, title).findall(nodes.table))[place]
    (body,) = table.findall(nodes.tbody)
    return [
        [entry.astext() for entry in row.findall(nodes.entry)] for row in body.findall(nodes.row)
    ]
