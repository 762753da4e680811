#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of figures: tables that are measured by the command which stands above them.

    python tools/figures.py [TABLE...]

`doc/source/figures.json` has the tables. The command of each named table is run, and the rows that
it prints replace those of the table, with the commit, the date and the machine. Then all tables
are written into the page; without a name nothing is measured. Of several tables that a command
prints, the one with the same first heading is kept. A new table begins as an entry with its
command and that heading as its only row, and its marks in the page.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final, TypedDict

SOURCE = pathlib.Path(__file__).parents[1] / 'doc' / 'source'
DATA, PAGE = SOURCE / 'figures.json', SOURCE / 'performance.rst'
MARKED = re.compile(
    r'(?P<begin>\.\. begin of table (?P<name>\S+)\n\n).*?(?=\.\. end of table (?P=name)\n)',
    re.DOTALL,
)
FACTS: Final = ('command', 'commit', 'date', 'machine')
# Code that the figures are of.
SERVICE = ('placement', 'placement_insight')


class Table(TypedDict):
    """A table of the page; the first of its rows has the headings."""

    command: str
    commit: str
    date: str
    machine: str
    rows: list[list[str]]


def main(names: Sequence[str]) -> None:
    """Measure these tables, and write all of them into the page."""
    tables: dict[str, Table] = json.loads(DATA.read_text())
    for command in dict.fromkeys(tables[name]['command'] for name in names):
        named = {name: tables[name] for name in names if tables[name]['command'] == command}
        tables.update(measured(command, named))
    DATA.write_text(as_json(tables))
    PAGE.write_text(with_tables(PAGE.read_text(), tables))


def measured(command: str, tables: dict[str, Table]) -> Iterator[tuple[str, Table]]:
    """These tables with the rows that their common command prints.

    :raises SystemExit: there are changes without a commit, the command fails, or it prints no
        table with the heading of one of these
    """
    if _output('git', 'status', '--porcelain', *SERVICE):
        raise SystemExit('The service has changes without a commit.')
    path = f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}'
    load = f'load average {os.getloadavg()[0]:.1f}'
    machine = f'{os.cpu_count()} cores, {load}, Python {platform.python_version()}'
    environment = {**os.environ, 'PATH': path}
    done = subprocess.run(command, shell=True, env=environment, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    printed = list(tables_in(done.stdout))
    commit = _output('git', 'log', '-1', '--format=%h', '--abbrev=8', '--', *SERVICE)
    date = datetime.date.today().isoformat()
    for name, before in tables.items():
        heading = before['rows'][0][0]
        found = [rows for rows in printed if rows[0][0] == heading]
        if not found and len({tuple(rows[0]) for rows in printed}) == 1:
            found = printed
        if done.returncode or not found:
            raise SystemExit(f'{command} failed, or prints no table with the heading {heading}.')
        rows = [found[0][0], *itertools.chain.from_iterable(rows[1:] for rows in found)]
        yield name, Table(command=command, commit=commit, date=date, machine=machine, rows=rows)


def tables_in(text: str) -> Iterator[list[list[str]]]:
    """The cells of the tables in a text, of lines with two blanks between columns."""
    for block in re.split(r'\n\s*\n', text):
        lines = block.splitlines()
        width = max(map(len, lines), default=0)
        blank = ''.join(
            ' ' if all(line[at : at + 1] in ('', ' ') for line in lines) else 'x'
            for at in range(width)
        )
        columns = [match.span() for match in re.finditer(r'x(?: ?x)*', blank)]
        if len(lines) > 1 and len(columns) > 1:
            yield [
                [_escaped(line[slice(*column)].strip()) for column in columns] for line in lines
            ]


def with_tables(page: str, tables: dict[str, Table]) -> str:
    """A page with the tables between its marks."""
    return MARKED.sub(lambda of: f'{of["begin"]}{as_text(tables[of["name"]])}\n', page)


def as_text(table: Table) -> str:
    """A table as reStructuredText, below its command, date and commit."""
    date = datetime.date.fromisoformat(table['date'])
    origin = f'{date.day} {date:%B %Y}, commit {table["commit"]}, {table["machine"]}'
    command = ''.join(f'    $ {line}\n' for line in table['command'].split('\n'))
    return f'{origin}::\n\n{command}\n{simple_table(table["rows"])}\n'


def simple_table(lines: Sequence[Sequence[str]]) -> str:
    """A simple table of reStructuredText; the first line has the headings."""
    # A line whose first cell is empty would continue the one above it.
    cells = [[first or '\\', *others] for first, *others in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = '  '.join('=' * width for width in widths)
    headings, *rows = (
        '  '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )
    return '\n'.join([rule, headings, rule, *rows, rule])


def as_json(tables: dict[str, Table]) -> str:
    """The tables as JSON with a line for each fact and for each row."""
    objects = (
        f'{_json(name)}: {{\n'
        + ''.join(f' {_json(fact)}: {_json(table[fact])},\n' for fact in FACTS)
        + ' "rows": [\n'
        + ',\n'.join(f'  {_json(row)}' for row in table['rows'])
        + '\n ]\n}'
        for name, table in tables.items()
    )
    return '{\n' + ',\n'.join(objects) + '\n}\n'


_json = functools.partial(json.dumps, ensure_ascii=False)


def _escaped(cell: str) -> str:
    return re.sub(r'([\\*`|])|_(?!\w)', r'\\\g<0>', cell)


def _output(*command: str) -> str:
    done = subprocess.run(command, cwd=SOURCE.parents[1], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


if __name__ == '__main__':
    main(sys.argv[1:])
