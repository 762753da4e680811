# SPDX-License-Identifier: Apache-2.0
"""The context of a request: the identity of the caller, and the door to a transaction."""

from __future__ import annotations

import string
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from oslo_context import context as oslo_context

from placement.db import transaction
from placement.db.changes import Changes, Sink
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.rows import Connection
from placement.db.transaction import OpenTransaction

Result = TypeVar('Result')

# Characters that a log line shows unchanged. A control character could begin a new line or move
# the cursor of a terminal; a blank or a quote could seem to end a field.
LOGGED = string.ascii_letters + string.digits + string.punctuation.replace('"', '')
# The same for attributes of a caller. Names in Keystone, and tokens of noauth2, may have any
# character; the identity of the caller consists of several names with blanks between them.
_LOGGED_OF_CALLER = LOGGED + ' "'


def quote_for_log(text: str | bytes, safe: str = LOGGED) -> str:
    """The text in UTF-8, with all characters but the `safe` ones percent-encoded."""
    return urllib.parse.quote(text, safe=safe)


def quote_environ_for_log(text: str, safe: str = LOGGED) -> str:
    """`quote_for_log` of a text in a WSGI environ, whose characters stand for bytes."""
    return quote_for_log(text.encode('latin-1', 'replace'), safe)


def printable(text: str) -> str:
    """The text for a terminal, with unprintable characters as escape sequences of Python.

    Otherwise a name could move the cursor, or answer for the operator.
    """
    return ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode() for one in text
    )


class RequestContext(oslo_context.RequestContext):
    """The identity of a caller, and the door to a transaction.

    The middleware creates it from the headers of the request. `attach` adds the database. Without
    an open transaction, `connection` and `changes` raise `RuntimeError`, so no statement can run
    outside one.

    `allow_replica_read` permits reads from a replica, which may lag behind, so only requests that
    write nothing set it. `sinks` get the changes of the request after the first sink of the
    database.
    """

    def __init__(self, database: Database | None = None, **identity: Any) -> None:
        super().__init__(**identity)
        self._open: OpenTransaction | None = None
        if database is not None:
            self.attach(database)

    def attach(
        self, database: Database, allow_replica_read: bool = False, sinks: Sequence[Sink] = ()
    ) -> None:
        """Set the database and the sinks of the transactions."""
        self.database = database
        self.allow_replica_read = allow_replica_read
        self.sinks = sinks

    def transaction(self, mode: Mode, work: Callable[[], Result], name: str) -> Result:
        """Return the result of `work` in the open transaction, or in a new one.

        `name` is for the log.

        :raises Exception: see `placement.db.engine.transactions.retry`
        """
        if self._open is not None:
            return work()

        def bound(opened: OpenTransaction) -> Result:
            self._open = opened
            try:
                return work()
            finally:
                self._open = None

        if mode is Mode.WRITE:
            return transaction.write(self.database, self.sinks, bound, name)
        return transaction.read(self.database, mode, self.allow_replica_read, bound, name)

    def get_logging_values(self) -> dict[str, Any]:
        """The attributes for log formats, quoted."""
        return {name: _quoted(value) for name, value in super().get_logging_values().items()}

    @property
    def is_in_transaction(self) -> bool:
        """True while a transaction is open."""
        return self._open is not None

    @property
    def connection(self) -> Connection:
        """The connection of the open transaction."""
        return self._opened.connection

    @property
    def changes(self) -> Changes:
        """The changes of the open transaction."""
        return self._opened.changes

    @property
    def _opened(self) -> OpenTransaction:
        if self._open is None:
            raise RuntimeError('no transaction is open')
        return self._open


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return quote_for_log(value, safe=_LOGGED_OF_CALLER)
    if isinstance(value, list):
        return [_quoted(part) for part in value]
    return value
