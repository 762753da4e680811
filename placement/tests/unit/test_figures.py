# SPDX-License-Identifier: Apache-2.0
"""Figures of benchmarks stand on one page, each with its command, commit and date."""

import datetime
import importlib.util
import json
import re
from types import ModuleType
from typing import Any

import pytest
from docutils import nodes

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
PAGES = REPOSITORY / 'doc' / 'source'
PAGE = PAGES / 'performance.rst'
TABLES: dict[str, dict[str, Any]] = json.loads((PAGES / 'figures.json').read_text())
BENCHMARK = re.compile(r'python -m benchmarks|make bench|tools/figures\.py')


@pytest.fixture(scope='module')
def figures() -> ModuleType:
    """The tool that measures the tables and writes the page."""
    spec = importlib.util.spec_from_file_location('figures', REPOSITORY / 'tools' / 'figures.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(text: str) -> list[list[list[str]]]:
    """The cells of each table of a page."""
    tree, _ = samples.parse_page(text)
    return [
        [[cell.astext() for cell in row] for row in table.findall(nodes.row)]
        for table in tree.findall(nodes.table)
    ]


@pytest.mark.parametrize('name', TABLES)
def test_a_table_says_how_and_when_it_was_measured(name: str) -> None:
    table = TABLES[name]
    heading, *rows = table['rows']

    assert table['command']
    assert table['machine']
    assert re.fullmatch(r'[0-9a-f]{8,40}', table['commit'])
    assert datetime.date.fromisoformat(table['date']) > datetime.date(2026, 11, 1)
    assert rows
    assert all(len(row) == len(heading) for row in rows)


def test_the_page_has_each_table_once_as_it_was_recorded(figures: ModuleType) -> None:
    page = PAGE.read_text()

    assert figures.with_tables(page, TABLES) == page
    assert re.findall(r'^\.\. begin of table (\S+)$', page, re.MULTILINE) == [*TABLES]
    assert len(rows_of(page)) == len(TABLES)


def test_no_other_page_has_a_table_that_a_benchmark_measures() -> None:
    found = [
        (path.name, section.children[0].astext())
        for path in PAGES.glob('*.rst')
        if path != PAGE
        for section in samples.parse_page(path.read_text())[0].findall(nodes.section)
        if any(isinstance(child, nodes.table) for child in section.children)
        and any(
            BENCHMARK.search(child.astext())
            for child in section.children
            if not isinstance(child, nodes.section)
        )
    ]

    assert found == []


def test_the_figures_of_readme_are_those_of_the_page() -> None:
    recorded = {cell for table in TABLES.values() for row in table['rows'] for cell in row}
    (table,) = (one for one in rows_of((REPOSITORY / 'README.rst').read_text()) if len(one) > 5)
    for unit, ours, upstream, best in table[1:]:
        pairs = {f'{ours} / {upstream}'} if not best else {ours, upstream, best}
        assert pairs <= recorded, unit


def test_a_printed_table_is_read_by_its_columns(figures: ModuleType) -> None:
    text = 'facts: 1\n\nUnit of work   CPU ms\nread a host   0.5 / 3\n*all* of it         -  x\n'

    assert list(figures.tables_in(text)) == [
        [
            ['Unit of work', 'CPU ms', ''],
            ['read a host', '0.5 / 3', ''],
            ['\\*all\\* of it', '-', 'x'],
        ]
    ]


def test_a_measured_table_has_the_rows_that_its_command_prints(
    figures: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, '_output', lambda *command: 'abcdef01' * ('log' in command))
    command = "printf 'other  b\\n1      2\\n\\nhosts  ms\\n100     3\\n'"
    before = {'command': command, 'rows': [['hosts']]}
    ((name, table),) = figures.measured(command, {'some': before})

    assert (name, table['rows']) == ('some', [['hosts', 'ms'], ['100', '3']])
    assert table['commit'] == 'abcdef01'
    assert table['date'] == datetime.date.today().isoformat()
