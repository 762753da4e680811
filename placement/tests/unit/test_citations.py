# SPDX-License-Identifier: Apache-2.0
"""Every citation of the specification leads to a page and a section that exist."""

import pathlib

import pytest

from placement.tests.unit import citations

PAGES = sorted(citations.PAGES.glob('*.rst'))


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
