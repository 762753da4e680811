# SPDX-License-Identifier: Apache-2.0
"""A report as text and as HTML; credentials are masked here, and nowhere else."""

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tools.rehearse.masking import masked

_STYLE = (
    'body{font:15px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}'
    'table{border-collapse:collapse}th,td{border:1px solid #bbb;padding:.2em .6em;text-align:left;'
    'overflow-wrap:anywhere}td.number{text-align:right}pre{white-space:pre-wrap;background:#f4f4f4;'
    'padding:.6em;overflow-wrap:anywhere}'
)


class Section(NamedTuple):
    """A part of a report: sentences, a table below a row of titles, long texts by title."""

    title: str
    sentences: Sequence[str] = ()
    table: Sequence[Sequence[object]] = ()
    texts: Sequence[tuple[str, str]] = ()


def as_text(sections: Sequence[Section]) -> str:
    """Render a report as text."""
    lines: list[str] = []
    for number, section in enumerate(sections):
        lines += [section.title, ('-' if number else '=') * len(section.title), '']
        lines += [*section.sentences, ''] if section.sentences else []
        lines += [*_columns(section.table), ''] if len(section.table) > 1 else []
        for title, text in section.texts:
            lines += [title, *(f'    {line}' for line in text.splitlines()), '']
    return '\n'.join(masked(line).rstrip() for line in lines)


def _columns(table: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [[masked(_cell(value)) for value in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, texts in zip(table, cells, strict=True):
        yield '  '.join(
            text.ljust(width) if isinstance(value, str) else text.rjust(width)
            for value, text, width in zip(row, texts, widths, strict=True)
        )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'{value:,.1f}'
    return f'{value:,}' if isinstance(value, int) else str(value)


def as_html(sections: Sequence[Section]) -> str:
    """Render a report as one file of HTML."""
    body = ''.join(
        _html_section(section, 'h2' if number else 'h1') for number, section in enumerate(sections)
    )
    title = _escaped(sections[0].title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<style>{_STYLE}</style></head><body>{body}</body></html>\n'
    )


def _html_section(section: Section, heading: str) -> str:
    parts = [f'<{heading}>{_escaped(section.title)}</{heading}>']
    parts += [f'<p>{_escaped(sentence)}</p>' for sentence in section.sentences]
    if len(section.table) > 1:
        titles, *rows = section.table
        parts.append('<table><thead><tr>')
        parts += [f'<th>{_escaped(str(title))}</th>' for title in titles]
        parts.append('</tr></thead><tbody>')
        parts += [f'<tr>{"".join(map(_html_cell, row))}</tr>' for row in rows]
        parts.append('</tbody></table>')
    for title, text in section.texts:
        parts.append(f'<h3>{_escaped(title)}</h3><pre>{_escaped(text)}</pre>')
    return '\n'.join(parts)


def _html_cell(value: object) -> str:
    number = '' if isinstance(value, str) else ' class="number"'
    return f'<td{number}>{_escaped(_cell(value))}</td>'


def _escaped(text: str) -> str:
    return html.escape(masked(text))
