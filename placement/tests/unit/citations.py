# SPDX-License-Identifier: Apache-2.0
"""How code and tests cite the specification, by the page and the section of a rule.

A citation is the word ``specification``, a colon, and one page or several; a page is the name of a
file in ``doc/source/specification/`` without its suffix, and the titles of its sections may follow
in quotation marks. Several pages are separated by semicolons:

    specification: http
    specification: http, "Request ids", "CORS"
    specification: allocations, "Bodies"; data_model, "Transactions"

A citation may run over the end of a line, in a docstring or in a comment.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence

from docutils import nodes

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
PAGES = REPOSITORY / 'doc' / 'source' / 'specification'

# Where there are texts of the project, and what they end with.
PLACES = (
    '.ci', 'api-ref', 'benchmarks', 'bin', 'doc', 'etc', 'gabbits', 'placement', 'releasenotes',
)  # fmt: skip
SUFFIXES = frozenset(
    {'', '.cfg', '.conf', '.css', '.ini', '.mako', '.py', '.rst', '.toml', '.txt', '.yaml'}
)
# Not texts of the project: what is built, and the licence, which is not ours to word.
LEFT_OUT = frozenset(['__pycache__', 'build', 'dist', 'LICENSE'])

# A blank or the end of a line, behind which a comment goes on after its sign.
_GAP = r'(?:\s+(?:#:?\s+)?)'
_ITEM = rf'[a-z_]+(?:,{_GAP}"[^"]+")*'
_WORD = 'specification'
_KEYWORD = re.compile(rf'\b{_WORD}:', re.IGNORECASE)
_CITATION = re.compile(rf'{_WORD}:{_GAP}({_ITEM}(?:;{_GAP}{_ITEM})*)', re.IGNORECASE)
_TITLE = re.compile(r'"([^"]+)"')

Sections = Mapping[str, Sequence[str]]


def read_sections() -> Sections:
    """The titles of the sections of every page of the specification, by the name of the page."""
    return {path.stem: titles_of(path.read_text()) for path in PAGES.glob('*.rst')}


def titles_of(text: str) -> list[str]:
    """The titles of all sections of a page, that of the page itself included."""
    tree, _ = samples.parse_page(text)
    return [title.astext() for title in tree.findall(nodes.title)]


def list_texts() -> list[pathlib.Path]:
    """Every source file of the project that a citation could be in."""
    found = [path for path in REPOSITORY.iterdir() if path.is_file()]
    for place in PLACES:
        found.extend(path for path in (REPOSITORY / place).rglob('*') if path.is_file())
    return sorted(path for path in found if _is_text_of_project(path))


def _is_text_of_project(path: pathlib.Path) -> bool:
    parts = path.relative_to(REPOSITORY).parts
    is_cache = any(part.endswith(('.egg-info', '_cache')) for part in parts)
    return path.suffix in SUFFIXES and not is_cache and LEFT_OUT.isdisjoint(parts)


def list_faults(text: str, sections: Sections) -> list[str]:
    """List the faults of the citations of a text, each with its line."""
    faults = []
    for keyword in _KEYWORD.finditer(text):
        line = text.count('\n', 0, keyword.start()) + 1
        faults += [f'line {line}: {fault}' for fault in _faults_at(text, keyword, sections)]
    return faults


def _faults_at(text: str, keyword: re.Match[str], sections: Sections) -> Iterator[str]:
    citation = _CITATION.match(text, keyword.start())
    if citation is None:
        yield 'a citation names no page'
        return
    for item in citation[1].split(';'):
        page, _, titles = re.sub(_GAP, ' ', item).strip().partition(',')
        if page not in sections:
            yield f'there is no page {page!r}'
            continue
        for title in _TITLE.findall(titles):
            if sections[page].count(title) != 1:
                yield f'page {page!r} has no section {title!r}, or several'
