# SPDX-License-Identifier: Apache-2.0
"""Values in the cells of rows, as each format of the client shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

Row = Sequence[Any]

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
    """Lists and objects as text; numbers, names and None as they are."""
    if isinstance(value, list) and format_name == 'table':
        return ', '.join(map(str, value))
    return json.dumps(value) if isinstance(value, list | dict) else value
