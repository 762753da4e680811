# SPDX-License-Identifier: Apache-2.0
"""The files of one process, in the format of prometheus_client's multiprocess mode.

The library's own values would do for most of this. They are not used, because they are as many
locks and writes as a request has values, because they look for the directory in the environment
of the process, and because they know processes by their numbers: two containers have the same.

A process holds a lock on each of its files for as long as it lives. The kernel lets go of it
however the process ends, so that others can tell what has ended.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Collection

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from placement.metrics import ended
from placement.metrics.catalog import Kind, Metric

# The mode of a directory that is not there yet: others have no business with it.
MODE = 0o750

# As much as the library begins a file with. It doubles a file that is full.
_FIRST_SIZE = 1 << 16

# What of a file the library takes before its values: the number of bytes in use, padded.
_HEADER_SIZE = 8


class Series:
    """One value of a metric. `key` is its name in a file, `value` what this process has.

    `file` is where it has its place, None until it is written for the first time.
    """

    __slots__ = ('file', 'key', 'kind', 'value')

    def __init__(self, metric: Metric, sample: str, labels: dict[str, str]) -> None:
        names, values = list(labels), list(labels.values())
        self.key = mmap_key(metric.family, sample, names, values, metric.help)
        self.kind = metric.kind
        self.value = 0.0
        self.file: _File | None = None


class ProcessFiles:
    """The values of this process; a process that was forked from it begins with files of its own.

    Raises `OSError` where the directory cannot be written to.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._series: list[Series] = []
        self._files: dict[Kind, _File] = {}
        self._process = os.getpid()
        self._name = ''

    def add(self, amounts: Collection[tuple[Series, float]]) -> None:
        """Add to several values at once."""
        with self._lock:
            if os.getpid() != self._process:
                self._begin_after_fork()
            # All before any is written: a value that cannot be written is written later.
            for series, amount in amounts:
                series.value += amount
            for series, _amount in amounts:
                file = series.file or self._place(series)
                file.write(series.key, series.value, 0.0)

    def set(self, series: Series, value: float) -> None:
        """Replace a value."""
        with self._lock:
            if os.getpid() != self._process:
                self._begin_after_fork()
            series.value = value
            file = series.file or self._place(series)
            file.write(series.key, value, 0.0)

    def close(self) -> None:
        """Let go of the files, as the end of the process would."""
        with self._lock:
            self._close()

    def _place(self, series: Series) -> _File:
        """The file in which there is now room for a value."""
        file = self._files.get(series.kind)
        if file is None:
            file = self._files[series.kind] = self._open(series.kind)
        file.make_room(series.key)
        self._series.append(series)
        series.file = file
        return file

    def _close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        for series in self._series:
            series.value = 0.0
            series.file = None
        self._series.clear()

    def _open(self, kind: Kind) -> _File:
        if not self._name:
            # Also after the start: /run/placement may have been made since.
            os.makedirs(self._directory, MODE, exist_ok=True)
            # Now, too, so that they do not pile up where nobody asks for metrics.
            ended.merge(self._directory)
            # Not only the number of the process: another one had it before, or has it elsewhere.
            self._name = f'{os.getpid()}-{secrets.token_hex(4)}'
        return _File(os.path.join(self._directory, f'{kind.value}_{self._name}{ended.SUFFIX}'))

    def _begin_after_fork(self) -> None:
        """Begin from zero in a process that was forked: what its parent counted is the parent's.

        The number of the process is asked for each time: uWSGI forks without telling Python.
        """
        self._process, self._name = os.getpid(), ''
        self._close()


class _File:
    """One file with its values, locked."""

    def __init__(self, path: str) -> None:
        # Nobody takes it for one that a process left behind: it is locked when it gets its name.
        new = f'{path}.new'
        self._descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self._size = 0
            self._grow(_FIRST_SIZE)
            os.rename(new, path)
            self._values = MmapedDict(path)
            self.write = self._values.write_value
        except BaseException:
            os.close(self._descriptor)
            if os.path.exists(new):
                os.unlink(new)
            raise
        self._used = _HEADER_SIZE

    def make_room(self, key: str) -> None:
        """Have the space on the disk for one more value.

        Writing to memory that stands for a file kills the process when the disk is full; asking
        for the space before raises `OSError`.
        """
        # Its length, the key padded to eight bytes, value and time.
        used = self._used + 4 + len(key.encode()) + 8 + 16
        if used > self._size:
            self._grow(2 * self._size)
        # Not before: where there was no space, nothing has been used.
        self._used = used

    def _grow(self, size: int) -> None:
        os.posix_fallocate(self._descriptor, 0, size)
        self._size = size

    def close(self) -> None:
        """Let go of the file. In a process that was forked, the parent keeps its lock."""
        self._values.close()
        os.close(self._descriptor)
