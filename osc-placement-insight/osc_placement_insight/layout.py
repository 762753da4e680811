# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal of 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 80


def wrapped(text: str, first: str = '', rest: str | None = None) -> list[str]:
    """The lines of a text, of which the first begins with `first` and the others with `rest`.

    Without `rest` the others are indented as far. Names are never broken.
    """
    following = ' ' * len(first) if rest is None else rest
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """An empty line, the title and the lines; nothing without lines."""
    kept = list(lines)
    if kept:
        yield ''
        yield from wrapped(title)
        yield from kept


def sentence(text: str) -> str:
    """The text with a full stop, unless it has an end."""
    return text if text.endswith(('.', '!', '?')) else f'{text}.'


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: `1 tree`, `2,000 trees`."""
    return f'{number:,} {singular if number == 1 else plural or f"{singular}s"}'


def table(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> Iterator[str]:
    """The rows below a header, in columns: numbers to the right, text to the left.

    Nothing without rows.
    """
    kept = [list(row) for row in rows]
    if not kept:
        return
    is_number = [all(isinstance(row[n], int | None) for row in kept) for n in range(len(header))]
    shown = [list(header), *([_cell(value) for value in row] for row in kept)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(row, widths, is_number, strict=True)
        parts = (text.rjust(width) if right else text.ljust(width) for text, width, right in cells)
        yield '  '.join(parts).rstrip()


def _cell(value: str | int | None) -> str:
    if value is None:
        return '?'
    return f'{value:,}' if isinstance(value, int) else value


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key by which people sort names: host2 before host10."""
    parts = re.findall(r'\d+|\D+', name)
    return [(0, int(part), '') if part.isdecimal() else (1, 0, part) for part in parts]
