# SPDX-License-Identifier: Apache-2.0
"""What ran with which version, when, and how it ended, and the table of it on the support page."""

import fcntl
import json
import pathlib
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

HERE = pathlib.Path(__file__)
REPOSITORY = HERE.parents[3]

#: One line for each run.
FILE = HERE.with_name('record.jsonl')

#: The page whose lines between these have the table.
PAGE = REPOSITORY / 'doc' / 'source' / 'support.rst'
BEGIN, END = '.. Made by "make platforms", from what ran.\n', '.. End of what ran.\n'

HEADINGS = ('With', 'Tests', 'Passed', 'Failed', 'Skipped', 'On', 'Commit')


class Run(NamedTuple):
    """One run of tests on a platform; `date` is that of UTC."""

    platform: str
    versions: str
    tests: str
    date: str
    commit: str
    command: str
    passed: int
    failed: int
    skipped: int

    @property
    def subject(self) -> tuple[str, str]:
        """What a later run takes the place of this one for."""
        return self.platform, self.tests


def read() -> list[Run]:
    """All runs, of each kind the last one."""
    return [Run(**json.loads(line)) for line in FILE.read_text().splitlines()]


def write(run: Run, order: Sequence[str]) -> None:
    """Record a run in place of an older one of its kind, and write the page's table anew.

    Platforms are in this order, and the tests of each in the order of their first runs.
    """
    with FILE.open('a+') as file:
        # Platforms may be run beside each other.
        fcntl.flock(file, fcntl.LOCK_EX)
        runs = {one.subject: one for one in read()} | {run.subject: run}
        known = sorted(
            (one for one in runs.values() if one.platform in order),
            key=lambda one: order.index(one.platform),
        )
        FILE.write_text(''.join(json.dumps(one._asdict()) + '\n' for one in known))
        PAGE.write_text(with_table(PAGE.read_text(), known, order))


def with_table(page: str, runs: Sequence[Run], platforms: Sequence[str]) -> str:
    """The page with the table of these runs in place of the one that it has.

    Those of the platforms of which there is no run are named below it.
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    seen = {run.platform for run in runs}
    missing = ', '.join(f'``{name}``' for name in platforms if name not in seen)
    words = textwrap.fill(f'No run is recorded yet of {missing}.', 120, break_on_hyphens=False)
    below = f'\n{words}\n' if missing else ''
    return f'{before}{BEGIN}\n{table(runs)}{below}\n{END}{after}'


def table(runs: Iterable[Run]) -> str:
    """The runs as a table of reStructuredText."""
    rows = [HEADINGS, *map(_row, runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = '  '.join('=' * width for width in widths)
    texts = [
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return '\n'.join([line, texts[0], line, *texts[1:], line, ''])


def _row(run: Run) -> tuple[str, ...]:
    counts = map(str, (run.passed, run.failed, run.skipped))
    return run.versions, run.tests, *counts, run.date, f'``{run.commit}``'
