# SPDX-License-Identifier: Apache-2.0
"""Noticing that the file of a SQLite database was replaced or removed under running workers.

A connection keeps the file that it opened, wherever that is moved. So after a backup was moved to
its place, old connections would go on with a file that has no name any more, and lose what they
write. Worse, the write-ahead log beside it is found by its name: it is that of the old file, and
SQLite would apply it to the new one.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

# Device and inode.
Identity = tuple[int, int]


def watch(engine: sa.Engine, path: str) -> None:
    """Make the pool of an engine replace its connections when another file is at `path`."""
    was_open = False

    @sa.event.listens_for(engine, 'do_connect')
    def refuse_missing_file(*_arguments: Any) -> None:
        # To connect would make an empty file. The first connection may: `db sync` begins so.
        if was_open and not os.path.exists(path):
            error = sqlite3.OperationalError(f'the database file {path} is missing')
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error

    @sa.event.listens_for(engine, 'connect')
    def note_files(connection: Any, record: Any) -> None:
        nonlocal was_open
        # Reading opens the log, which has to have its name by now.
        connection.execute('SELECT 1 FROM sqlite_master LIMIT 1').fetchall()
        record.info['file'] = identity(path)
        record.info['log'] = identity(f'{path}-wal')
        was_open = True

    @sa.event.listens_for(engine, 'checkout')
    def compare_file(_connection: Any, record: Any, _proxy: Any) -> None:
        if identity(path) != record.info['file']:
            discard_log(path, record.info['log'])
            raise sa.exc.InvalidatePoolError('The database file was replaced.')


def identity(path: str) -> Identity | None:
    """Return which file is at a path; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def discard_log(path: str, old_log: Identity | None) -> None:
    """Remove the write-ahead log at its place if it is that of the old file, with its index.

    The connection that compares has it open, so no other file can have its inode. Other workers
    come here too: after the first of them, the log at this place may be that of the new file.
    """
    if old_log is None or identity(path) is None:
        return
    with _locked_directory(path):
        if identity(f'{path}-wal') == old_log:
            for suffix in ('-wal', '-shm'):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path + suffix)


@contextlib.contextmanager
def _locked_directory(path: str) -> Iterator[None]:
    """Keep other workers from looking for the log meanwhile."""
    directory = os.open(os.path.dirname(path) or '.', os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
