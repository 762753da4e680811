# SPDX-License-Identifier: Apache-2.0
"""Every citation of the specification leads to a page and a section that exist.

doc/source/contributing.rst says how citations are written. One may run over the end of a line, in
a docstring or in a comment.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence

from docutils import nodes

from placement.tests.unit import samples
from placement.tests.unit.specification import PAGES, REPOSITORY

# Where there are texts of the project, and what they end with.
PLACES = (
    '.ci', 'api-ref', 'benchmarks', 'bin', 'doc', 'etc', 'gabbits', 'placement',
    'placement_insight', 'releasenotes',
)  # fmt: skip
SUFFIXES = {'', '.cfg', '.conf', '.css', '.ini', '.mako', '.py', '.rst', '.toml', '.txt', '.yaml'}
LEFT_OUT = {'__pycache__', 'build', 'dist', 'LICENSE'}

# A blank or the end of a line, behind which a comment goes on after its sign.
_GAP = r'(?:\s+(?:#:?\s+)?)'
_ITEM = rf'[a-z_]+(?:,{_GAP}"[^"]+")*'
_WORD = 'specification'
_CITATION = re.compile(rf'\b{_WORD}:(?:{_GAP}({_ITEM}(?:;{_GAP}{_ITEM})*))?', re.IGNORECASE)


def list_texts() -> list[pathlib.Path]:
    """Every source file of the project that a citation could be in."""
    found = [*REPOSITORY.iterdir()]
    for place in PLACES:
        found.extend((REPOSITORY / place).rglob('*'))
    return sorted(
        path
        for path in found
        if path.is_file()
        and path.suffix in SUFFIXES
        and LEFT_OUT.isdisjoint(parts := path.relative_to(REPOSITORY).parts)
        and not any(part.endswith(('.egg-info', '_cache')) for part in parts)
    )


def list_faults(text: str, sections: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what does not exist of the citations of a text."""
    for citation in _CITATION.finditer(text):
        for item in (citation[1] or '').split(';'):
            page, _, titles = re.sub(_GAP, ' ', item).strip().partition(',')
            if page not in sections:
                yield f'{citation[0]!r}: there is no page {page!r}'
                continue
            for title in re.findall(r'"([^"]+)"', titles):
                if sections[page].count(title) != 1:
                    yield f'page {page!r} has no section {title!r}, or several'


def test_every_citation_leads_to_a_section() -> None:
    trees = {path.stem: samples.parse_page(path.read_text())[0] for path in PAGES.glob('*.rst')}
    sections = {
        page: [title.astext() for title in tree.findall(nodes.title)]
        for page, tree in trees.items()
    }
    faults = {
        path: found
        for path in list_texts()
        if (found := list(list_faults(path.read_text(), sections)))
    }

    assert faults == {}
