# SPDX-License-Identifier: Apache-2.0
"""The files of processes that have ended, merged into one.

Every restart of a worker leaves files behind, and their counts must not be lost: a sum that went
down would look like a restart of everything. So they are added to one file, `MERGED`, when a
process starts, and before each scrape. That file also names what it contains. It is replaced at
once, and what it contains is removed after that; so whoever reads in between, or dies in between,
counts nothing twice and misses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import logging
import os
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.mmap_dict import MmapedDict

from placement.metrics.catalog import Kind

LOG = logging.getLogger(__name__)

#: What the names of files end with that have values.
SUFFIX = '.db'

#: The values of processes that have ended.
MERGED = 'ended.json'
_LOCK = 'lock'

#: By the beginning of the name of a file and the name of the value in it.
Values = dict[tuple[str, str], float]

# What is true of a process as long as it lives.
GAUGES = frozenset({Kind.SUM.value, Kind.LEAST.value})


class Merged(NamedTuple):
    """What is in the merged file: values, and the names of the files that they were in."""

    values: Mapping[tuple[str, str], float]
    files: frozenset[str]


def read_merged(directory: str) -> Merged:
    """The values of ended processes; none where there is no such file, or it has been damaged."""
    try:
        with open(os.path.join(directory, MERGED), encoding='utf-8') as file:
            content = json.load(file)
        values = {(kind, key): float(value) for kind, key, value in content['values']}
        return Merged(values, frozenset(content['files']))
    except FileNotFoundError:
        return Merged({}, frozenset())
    except (ValueError, KeyError, TypeError) as error:
        LOG.warning('Metrics of ended processes are lost: %s is damaged: %s', MERGED, error)
        return Merged({}, frozenset())


def files_of_processes(directory: str) -> list[str]:
    """The paths of the files that processes have, or have left behind."""
    return sorted(glob.glob(os.path.join(glob.escape(directory), f'*{SUFFIX}')))


def kind_of(path: str) -> str:
    """The beginning of the name of a file, which tells what kind of values it has."""
    return os.path.basename(path).rpartition('_')[0]


def read_values(path: str) -> Iterator[tuple[str, float]]:
    """The names and values in a file. A damaged one gives what comes before the damage.

    Raises `FileNotFoundError`.
    """
    try:
        for key, value, _time, _position in MmapedDict.read_all_values_from_file(path):
            yield key, value
    except (RuntimeError, ValueError, struct.error) as error:
        LOG.warning('Metrics of a process are lost: %s is damaged: %s', path, error)


def has_ended(path: str) -> bool:
    """Whether the process has ended that has this file; True for a file that is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        # A shared lock: others may be asking the same at this moment.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def merge(directory: str) -> None:
    """Merge the files of processes that have ended, unless another process is doing so.

    Raises `OSError` where the directory cannot be written to.
    """
    with _locked(directory) as is_locked:
        if not is_locked:
            return
        before = read_merged(directory)
        ended = [path for path in files_of_processes(directory) if has_ended(path)]
        _remove(path for path in ended if os.path.basename(path) in before.files)
        new = [path for path in ended if os.path.basename(path) not in before.files]
        if not new and not before.files:
            return
        values = dict(before.values)
        _add(values, [path for path in new if kind_of(path) not in GAUGES])
        _replace(directory, values, [os.path.basename(path) for path in new])
        _remove(new)


def _add(values: Values, paths: Iterable[str]) -> None:
    for path in paths:
        kind = kind_of(path)
        for key, value in read_values(path):
            values[kind, key] = values.get((kind, key), 0.0) + value


def _replace(directory: str, values: Values, files: Collection[str]) -> None:
    """Write the merged file; a reader sees the old one or the new one."""
    path = os.path.join(directory, MERGED)
    content = {
        'files': sorted(files),
        'values': [[kind, key, value] for (kind, key), value in sorted(values.items())],
    }
    with open(f'{path}.new', 'w', encoding='utf-8') as file:
        # As one text, which takes a tenth of the time that json.dump takes.
        file.write(json.dumps(content))
    os.replace(f'{path}.new', path)


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def _locked(directory: str) -> Iterator[bool]:
    """The lock of those who merge, and whether it could be had without waiting."""
    descriptor = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_CREAT, 0o640)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)
