# SPDX-License-Identifier: Apache-2.0
"""Values in the cells of rows, as each format of the client shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

Row = Sequence[Any]

#: Control characters of terminals: C0 with ESC and BEL, DEL, and C1; and invisible characters, of
#: which some reverse the order of others.
CONTROL = re.compile('[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')

#: Formats that show lists and objects as such; all others have text alone.
STRUCTURED = ('json', 'yaml')


def as_shown(rows: Iterable[Row], format_name: str) -> Iterable[Row]:
    """The rows with the values that a format is given.

    `json` and `yaml` have lists and objects themselves. A `table` has the elements of a list of
    names, for people; all else is JSON, which programs can read back out of `csv` and `value`.
    """
    if format_name in STRUCTURED:
        return rows
    return ([_text(value, format_name) for value in row] for row in rows)


def _text(value: Any, format_name: str) -> Any:
    """Lists and objects as text, and text without control characters; numbers and None as is."""
    if isinstance(value, list) and format_name == 'table':
        value = ', '.join(map(str, value))
    elif isinstance(value, list | dict):
        value = json.dumps(value)
    return escaped(value) if isinstance(value, str) else value


def escaped(text: str) -> str:
    """The text with JSON's escape sequences instead of control characters.

    Otherwise the name of a provider could control the terminal of a user who lists it.
    """
    return CONTROL.sub(lambda match: f'\\u{ord(match[0]):04x}', text)
