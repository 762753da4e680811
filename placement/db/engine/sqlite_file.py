# SPDX-License-Identifier: Apache-2.0
"""The files of a SQLite database: their mode, and the detection of replacement and removal.

A connection keeps the files that it opened, even after they are moved. So after a backup replaced
the file of the database, old connections would write to a file without a name, and their changes
would be lost. Worse, SQLite finds the write-ahead log by its name, and would apply the log of the
old file to the new one.

If the log itself was removed, changes since its last checkpoint are lost with the last connection
that has it open. The first connection that detects this copies them into the database. Then the
worker has to be restarted: connections of one process share the index of the log, which belongs
to the removed one as long as any of them is open.
"""

import contextlib
import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement import errors

LOG = logging.getLogger(__name__)

# Device and inode.
Identity = tuple[int, int]

MODE = 0o640


def watch(engine: sa.Engine, path: str, may_make: bool = True) -> None:
    """Make the pool of an engine replace its connections if the files at `path` were replaced.

    The first connection creates a missing file, unless the URL has a mode of its own.
    """
    was_open = False
    removed_log: sqlite3.Error | None = None

    @sa.event.listens_for(engine, 'do_connect')
    def refuse_missing_file(*_arguments: object) -> None:
        if removed_log is not None:
            raise removed_log
        # Connecting would create an empty file, which only the first connection may do, for
        # `db sync`.
        if may_make and not was_open:
            _make_private(path)
        if was_open and not os.path.exists(path):
            raise _error(f'the database file {path} is missing', sqlite3.SQLITE_CANTOPEN)

    @sa.event.listens_for(engine, 'connect')
    def note_files(connection: Any, record: Any) -> None:
        nonlocal was_open
        # Reading opens the log, so that its file exists.
        connection.execute('SELECT 1 FROM sqlite_master LIMIT 1').fetchall()
        record.info['file'] = identity(path)
        record.info['log'] = Log(path)
        was_open = True

    @sa.event.listens_for(engine, 'checkout')
    def compare_files(connection: Any, record: Any, _proxy: object) -> None:
        nonlocal removed_log
        log: Log = record.info['log']
        if identity(path) != record.info['file']:
            discard_log(path, log.file)
            raise sa.exc.InvalidatePoolError('The database file was replaced.')
        if not log.is_in_place():
            removed_log = removed_log or log.save(connection)
            raise db_errors.DBError(removed_log) from removed_log


def check_log(connection: sa.Connection) -> None:
    """Save a transaction that has just committed, if its log was removed meanwhile.

    :raises errors.OutcomeUnknown: it cannot be saved
    """
    log: Log | None = connection.info.get('log')
    if log is not None and not log.is_in_place() and not log.is_saved(connection.connection):
        LOG.error('The write-ahead log was removed while a change was written, which may be lost.')
        raise errors.OutcomeUnknown


class Log:
    """The write-ahead log that a connection has open, and its index."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.file, self._index = self._files()

    def _files(self) -> tuple[Identity | None, Identity | None]:
        return identity(f'{self._path}-wal'), identity(f'{self._path}-shm')

    def is_in_place(self) -> bool:
        """True if neither was replaced or removed."""
        return self._files() == (self.file, self._index)

    def save(self, connection: Any) -> sqlite3.Error:
        """Copy a removed log into the database; return the error with the remedy."""
        lost = '' if self.is_saved(connection) else ', and changes may be lost with it'
        words = f'the write-ahead log of {self._path} was removed{lost}; restart the service'
        return _error(words, sqlite3.SQLITE_IOERR)

    def is_saved(self, connection: Any) -> bool:
        """Copy the log into the database; False if other connections have another log already, or
        use this one for too long."""
        with _locked_directory(self._path), contextlib.suppress(sqlite3.Error):
            if None in self._files():
                is_busy, *_ = connection.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone()
                return not is_busy
        return False


def _error(message: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


def _make_private(path: str) -> None:
    """Create a missing file, which only its owner and its group may read.

    SQLite would create it readable for all, and creates its other files with the same mode.
    """
    # SQLite itself reports why a file cannot be opened.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, MODE))


def identity(path: str) -> Identity | None:
    """Return the identity of the file at a path; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def discard_log(path: str, old_log: Identity | None) -> None:
    """Remove the write-ahead log and its index, if the log belongs to the old file.

    The calling connection has it open, so no other file can have its inode. Other workers call
    this as well: after the first call, the log may belong to the new file.
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
    """Lock the directory against the same check of other workers."""
    directory = os.open(os.path.dirname(path) or '.', os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
