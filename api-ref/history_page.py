# SPDX-License-Identifier: Apache-2.0
"""Writes source/microversions.rst: the history of the API, with a note on each version.

The summaries are those of placement/history.py, the notes are in source/microversion_notes.yaml.
Run it when either has changed; the tests compare.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator

import yaml

from placement import history

SOURCE = pathlib.Path(__file__).parent / 'source'
PAGE = SOURCE / 'microversions.rst'
NOTES = SOURCE / 'microversion_notes.yaml'

HEAD = """\
.. Made by history_page.py, to be changed in history.py and microversion_notes.yaml.

============================
History of the microversions
============================

What each microversion brought. A request is handled as the version says that it names in
its ``OpenStack-API-Version`` header; `Headers, microversions and authentication
<headers.rst>`_ tells how.
"""


def page() -> str:
    """The whole page."""
    notes = yaml.safe_load(NOTES.read_text())
    unknown = notes.keys() - {change.version for change in history.HISTORY}
    if unknown:
        raise ValueError(f'notes on versions that there are not: {sorted(unknown)}')
    entries = (_entry(change.version, change.summary, notes) for change in history.HISTORY)
    return HEAD + ''.join(entries)


def _entry(version: str, summary: str, notes: dict[str, str]) -> str:
    text = textwrap.indent('\n'.join(_paragraphs(version, summary, notes)), '    ')
    return f'\n{version}\n{text}\n'


def _paragraphs(version: str, summary: str, notes: dict[str, str]) -> Iterator[str]:
    yield textwrap.fill(summary, width=84, break_on_hyphens=False)
    if version in notes:
        yield ''
        yield notes[version].rstrip()


if __name__ == '__main__':
    PAGE.write_text(page())
