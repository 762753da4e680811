# SPDX-License-Identifier: Apache-2.0
"""The commands of the track record name tests that are there."""

import re

import pytest
from docutils import nodes

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
PAGE = REPOSITORY / 'doc' / 'source' / 'fault-report.rst'


def commands() -> list[str]:
    """The arguments of pytest in the table, and those in the paragraph below it."""
    tree, _ = samples.parse_page(PAGE.read_text())
    (section,) = (one for one in tree.findall(nodes.section) if 'track-record' in one['ids'])
    found = [one.astext() for one in section.findall(nodes.literal)]
    return [one for one in found if re.match(r'\w+/.*\.py', one)]


@pytest.mark.parametrize('command', commands())
def test_a_command_of_the_track_record_selects_tests(command: str) -> None:
    path, _, expression = command.partition(' -k ')
    places = (REPOSITORY / 'placement' / 'tests', REPOSITORY / 'placement_insight' / 'tests')
    (file,) = (place / path for place in places if (place / path).exists())
    text = file.read_text()
    names = re.findall(r'def (test_\w+)', text)

    for word in expression.strip("'").split(' or '):
        assert [name for name in names if word in name], word


def test_each_row_of_the_track_record_has_a_command() -> None:
    tree, _ = samples.parse_page(PAGE.read_text())
    first = next(iter(tree.findall(nodes.table)))

    assert len(list(first.findall(nodes.row))) - 1 == len(commands()) - 3
