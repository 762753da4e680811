# SPDX-License-Identifier: Apache-2.0
"""Every citation of the specification leads to a page and a section that exist."""

import pathlib

import pytest
from docutils import nodes

from placement.tests.unit import citations, samples

SECTIONS = {
    'http': ['HTTP', 'Request ids', 'CORS'],
    'allocations': ['Allocations', 'Bodies'],
    'doubled': ['Doubled', 'Same', 'Same'],
}
PAGES = sorted(citations.PAGES.glob('*.rst'))

# Spelled so that this file does not mention what it looks for.
KEYWORD = 'specification' + ':'
FORMER = 'contr\x61ct'


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(citations.REPOSITORY))


@pytest.fixture(scope='module')
def sections() -> citations.Sections:
    return citations.read_sections()


def test_every_citation_leads_to_a_section(sections: citations.Sections) -> None:
    faults = {
        name_of(path): found
        for path in citations.list_texts()
        if (found := citations.list_faults(path.read_text(), sections))
    }
    assert faults == {}


def test_many_citations_were_found() -> None:
    texts = [path.read_text() for path in citations.list_texts() if path.suffix == '.py']
    assert sum(map(citations.count_citations, texts)) > 100


def test_the_sources_of_every_place_are_read() -> None:
    names = {name_of(path).split('/')[0] for path in citations.list_texts()}
    assert set(citations.PLACES) <= names
    assert {'README.rst', 'Makefile', 'setup.cfg'} <= names


@pytest.mark.parametrize(
    'text',
    [
        f'{KEYWORD} http',
        f'(S{KEYWORD[1:]} http).',
        f'{KEYWORD} http, "Request ids"',
        f'{KEYWORD} http, "Request ids", "CORS"; allocations, "Bodies".',
        f'# {KEYWORD}\n#: http, "Request\n# ids";\n# allocations',
        f'    """Ids ({KEYWORD} http, "Request\n    ids"; allocations)."""',
    ],
)
def test_a_citation_of_an_existing_section_is_no_fault(text: str) -> None:
    assert citations.count_citations(text) == 1
    assert citations.list_faults(text, SECTIONS) == []


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        (f'{KEYWORD} ftp', "line 1: there is no page 'ftp'"),
        (f'\n{KEYWORD} http; ftp, "CORS"', "line 2: there is no page 'ftp'"),
        (f'{KEYWORD} http, "Bodies"', "line 1: page 'http' has no section 'Bodies', or several"),
        (
            f'{KEYWORD} allocations; http, "CORS",\n# "Request\n# names"',
            "line 1: page 'http' has no section 'Request names', or several",
        ),
        (f'{KEYWORD} doubled, "Same"', "line 1: page 'doubled' has no section 'Same', or several"),
        (f'{KEYWORD} 6', 'line 1: a citation names no page'),
        (f'{KEYWORD}http', 'line 1: a citation names no page'),
        (f'As the {FORMER} says.', f"line 1: '{FORMER}' is no page of the repository"),
        ('See http.\x6dd 6.', "line 1: 'http.\x6dd' is no page of the repository"),
    ],
)
def test_a_citation_of_nothing_is_a_fault(text: str, fault: str) -> None:
    assert citations.list_faults(text, SECTIONS) == [fault]


def test_references_between_sections_lead_to_labels() -> None:
    trees = {name_of(path): samples.parse_page(path.read_text())[0] for path in PAGES}
    labels = {
        label
        for tree in trees.values()
        for target in tree.findall(nodes.target)
        for label in target['names'] or [target.get('refid')]
    }
    wanted = {
        name: {reference['label'] for reference in tree.findall(samples.SectionReference)}
        for name, tree in trees.items()
    }
    assert set().union(*wanted.values())
    assert {name: found - labels for name, found in wanted.items() if found - labels} == {}


def test_the_index_of_the_specification_lists_every_page() -> None:
    index = (citations.PAGES / 'index.rst').read_text()
    _, _, listed = index.partition(':maxdepth: 2')
    assert sorted(listed.split()) == [path.stem for path in PAGES if path.stem != 'index']
