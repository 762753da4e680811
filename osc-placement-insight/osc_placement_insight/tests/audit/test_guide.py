# SPDX-License-Identifier: Apache-2.0
"""The guide about audits has the table of the kinds as the audit has them."""

import pathlib
import re

from osc_placement_insight.audit import kinds

GUIDE = pathlib.Path(__file__).parents[4] / 'doc' / 'source' / 'audit-and-repair.rst'

#: The table of the kinds stands in a section of its own.
KINDS = GUIDE.read_text().partition('What is found\n')[2].partition('What is no fault\n')[0]


def test_the_guide_has_each_kind_with_its_meaning_and_repair() -> None:
    rows = re.findall(r'   \* - ``(.+)``\n     - (.+)\n     - (.+)\n', KINDS)

    assert rows == [(kind.name, kind.meaning, kind.repair.value) for kind in kinds.KINDS.values()]


def test_the_first_kinds_of_the_guide_are_those_without_nova() -> None:
    assert 'only what the first six rows of the table name' in GUIDE.read_text().replace('\n', ' ')
    assert len(kinds.OF_PLACEMENT) == 6
