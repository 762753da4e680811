# SPDX-License-Identifier: Apache-2.0
"""Numbered slots, one for each living process, in the names of the files of prometheus_client.

With process ids in the names, every restart would add files, and two containers could have the
same ids. A slot is a locked file. The kernel releases the lock however the process ends; the next
process takes the lowest free slot and continues its counters.
"""

import contextlib
import fcntl
import logging
import os
import struct
from collections.abc import Iterator

from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from placement.metrics.catalog import Kind

LOG = logging.getLogger(__name__)

# The mode of a new directory, without access for others.
MODE = 0o750

# Bytes reserved for the new series of a kind, more than the catalog can use.
ROOM = {Kind.COUNTER: 1 << 19, Kind.HISTOGRAM: 1 << 19, Kind.SUM: 1 << 16, Kind.LEAST: 1 << 16}


class Slot:
    """The lowest free slot of a directory, held until `release` or the end of the process.

    :raises OSError: the directory cannot be written to, or the disk is full
    """

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, MODE, exist_ok=True)
        self.number, self._descriptor = _lock_lowest(directory)
        try:
            mark_process_dead(self.number, directory)
            for kind, room in ROOM.items():
                _prepare(os.path.join(directory, f'{kind.value}_{self.number}.db'), room)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the slot; from a forked process, the parent keeps it."""
        os.close(self._descriptor)


def is_free(directory: str, number: str) -> bool:
    """True if no living process holds a slot."""
    try:
        descriptor = os.open(_lock_path(directory, number), os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        # A shared lock, because several processes may test at the same moment.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lock_lowest(directory: str) -> tuple[int, int]:
    """Lock the lowest free slot: its number, and the descriptor that holds the lock."""
    number = 0
    while True:
        descriptor = _open_or_make(_lock_path(directory, number))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number, descriptor
        except BlockingIOError:
            os.close(descriptor)
        number += 1


def _open_or_make(path: str) -> int:
    """Open a file for writing, without following links.

    :raises OSError: it cannot be written to, or is a link
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o640)


def _lock_path(directory: str, number: int | str) -> str:
    return os.path.join(directory, f'{number}.lock')


def _prepare(path: str, room: int) -> None:
    """Remove a damaged file, and reserve the space that the file may need.

    The library maps a sparse file into memory; when the disk is full, a write kills the process.

    :raises OSError: the disk is full
    """
    if os.path.exists(path) and _is_damaged(path):
        LOG.warning('The counts of an ended process are lost: %s is damaged', path)
        os.unlink(path)
    # A reader sees no file without the header.
    place = path if os.path.exists(path) else f'{path}.new'
    descriptor = _open_or_make(place)
    try:
        os.posix_fallocate(descriptor, 0, _used(place) + room)
    finally:
        os.close(descriptor)
    os.rename(place, path)


def _used(path: str) -> int:
    """Return the number of used bytes from the header, which the library does not check.

    :raises ValueError: the file is damaged
    """
    with open(path, 'rb') as file:
        header = file.read(4)
    used: int = struct.unpack('i', header)[0] if header else 0
    if not 0 <= used <= os.path.getsize(path):
        raise ValueError(f'{path} is damaged')
    return used


def _is_damaged(path: str) -> bool:
    try:
        _used(path)
        MultiProcessCollector.merge([path])
    # The library raises errors of many kinds.
    except Exception:
        return True
    return False


def readable_files(directory: str) -> Iterator[str]:
    """The files of all slots, without gauges of processes that have ended.

    :raises OSError: the directory cannot be read
    :raises ValueError: a file is damaged
    """
    for name in sorted(os.listdir(directory)):
        stem, extension = os.path.splitext(name)
        kind, _, number = stem.rpartition('_')
        if extension == '.db' and not (kind.startswith('gauge') and is_free(directory, number)):
            path = os.path.join(directory, name)
            # A process that takes over the slot removes its gauges.
            with contextlib.suppress(FileNotFoundError):
                _used(path)
                yield path
