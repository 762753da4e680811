# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

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
    """An empty line, the title and the lines; nothing where there are no lines."""
    kept = list(lines)
    if kept:
        yield ''
        yield from wrapped(title)
        yield from kept


def sentence(text: str) -> str:
    """The text with a full stop, unless it has an end."""
    return text if text.endswith(('.', '!', '?')) else f'{text}.'


def counted(number: int, singular: str) -> str:
    """A number with its noun: `1 tree`, `2,000 trees`."""
    return f'{number:,} {singular}{"" if number == 1 else "s"}'
