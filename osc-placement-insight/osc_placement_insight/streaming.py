# SPDX-License-Identifier: Apache-2.0
"""Writes rows one by one as they arrive, in each format of the client."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import yaml

from osc_placement_insight.cells import Row, as_shown

Write = Callable[[TextIO, Sequence[str], Row], None]


class RowStream:
    """Writes rows with these columns to a stream as they arrive.

    `json` is an object on each line, `yaml` the elements of one list. `table`, which would need
    all rows to align them, is the same as `value`.
    """

    def __init__(self, stream: TextIO, format_name: str, columns: Sequence[str]) -> None:
        self._stream = stream
        self._format_name = format_name
        self._columns = columns
        self._write = FORMATS[format_name]
        if format_name == 'csv':
            _write_csv(stream, columns, columns)

    def write(self, rows: Iterable[Row]) -> None:
        """Write some rows, and flush the stream."""
        for row in as_shown(rows, self._format_name):
            self._write(self._stream, self._columns, row)
        self._stream.flush()


def _write_csv(stream: TextIO, columns: Sequence[str], row: Row) -> None:
    csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator='\n').writerow(row)


def _write_json(stream: TextIO, columns: Sequence[str], row: Row) -> None:
    print(json.dumps(_by_column(columns, row)), file=stream)


def _write_yaml(stream: TextIO, columns: Sequence[str], row: Row) -> None:
    yaml.safe_dump([_by_column(columns, row)], stream, sort_keys=False)


def _write_value(stream: TextIO, columns: Sequence[str], row: Row) -> None:
    print(*row, file=stream)


def _by_column(columns: Sequence[str], row: Row) -> dict[str, Any]:
    return dict(zip(columns, row, strict=True))


FORMATS: dict[str, Write] = {
    'csv': _write_csv,
    'json': _write_json,
    'table': _write_value,
    'value': _write_value,
    'yaml': _write_yaml,
}
