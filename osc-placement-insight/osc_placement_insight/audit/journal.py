# SPDX-License-Identifier: Apache-2.0
"""The journal of a repair: a file with its changes, which survives an interruption."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
from typing import Any, Self, TextIO

from osc_lib import exceptions

from osc_placement_insight.audit import report

BEGUN = 'begun'
DONE = 'done'
SKIPPED = 'skipped'
_ENDED = (DONE, SKIPPED)


class Journal:
    """A context manager of the file of one report, a line of JSON for each event.

    Each line is on the disk before `write` returns. Only one repair can have it at a time.
    """

    def __init__(self, path: pathlib.Path, report_id: str) -> None:
        self._path = path
        self._report_id = report_id
        self._file: TextIO
        #: What became of each finding that a repair has ended with, by id.
        self.ended: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open('a+')
        except OSError as error:
            raise exceptions.CommandError(f'The journal cannot be written: {error}') from error
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def write(self, event: str, finding: str, **details: Any) -> None:
        """Add a line about a finding; what comes of it once it is done or skipped is final."""
        row = {'at': report.now(), 'report': self._report_id, 'event': event, 'finding': finding}
        row |= details
        self._file.write(json.dumps(row) + '\n')
        self._file.flush()
        os.fsync(self._file.fileno())
        self._remember(row)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise exceptions.CommandError(
                f'Another repair writes {self._path}. Wait until it has ended.'
            ) from error

    def _read(self) -> None:
        """Read the events of an earlier repair, and remove the part of a line at the end."""
        self._file.seek(0)
        whole, _newline, torn = self._file.read().rpartition('\n')
        if torn:
            self._file.truncate(len(f'{whole}\n'.encode()) if whole else 0)
        for line in filter(None, whole.split('\n')):
            self._remember(self._parsed(line))

    def _parsed(self, line: str) -> dict[str, Any]:
        try:
            row: dict[str, Any] = json.loads(line)
            belongs = row['report'] == self._report_id
        except (ValueError, KeyError, TypeError) as error:
            raise exceptions.CommandError(f'{self._path} is not a journal: {line!r}') from error
        if not belongs:
            raise exceptions.CommandError(
                f'{self._path} is the journal of another report. Name another with --journal.'
            )
        return row

    def _remember(self, row: dict[str, Any]) -> None:
        if row['event'] in _ENDED:
            self.ended[row['finding']] = row
