# SPDX-License-Identifier: Apache-2.0
"""The context of a request: who asks, and the database that answers, through every layer."""

from __future__ import annotations

import string
import urllib.parse
from typing import TYPE_CHECKING, Any

from oslo_context import context as oslo_context

if TYPE_CHECKING:
    import sqlalchemy

    from placement.db.engine.database import Database
    from placement.feed.keeper import SnapshotKeeper
    from placement.insight.history.recorder import ChangeRecorder
    from placement.insight.questions import Insight


# Characters that a log line shows as they are. A control character could begin a new line, or move
# the cursor of the terminal that shows it; a blank or a quote could pretend to end a field.
LOGGED = string.ascii_letters + string.digits + string.punctuation.replace('"', '')
# Those of the attributes of a caller. Their names may have any character, and so may a noauth2
# token; the identity of the caller is a text of several names already.
_LOGGED_OF_CALLER = LOGGED + ' "'


def quote_for_log(text: str | bytes, safe: str = LOGGED) -> str:
    """The text with every character percent-encoded that is not `safe`, as UTF-8."""
    return urllib.parse.quote(text, safe=safe)


def quote_environ_for_log(text: str) -> str:
    """A text of the WSGI environment, whose characters stand for bytes, as `quote_for_log`."""
    return quote_for_log(text.encode('latin-1', 'replace'))


class RequestContext(oslo_context.RequestContext):
    """The identity of a caller together with the means its request works with.

    The middleware makes it from the headers of the request, `attach` completes it: until then it
    has no `database`, `snapshots` and `insight`. `connection` raises `RuntimeError` while no
    transaction is open: no statement can run outside one. `placement.db.engine.transactions` sets
    `open_connection` for as long as a transaction lasts.

    `allow_replica_read` lets a replica answer, where there is one. It may lag behind what was
    committed, so only requests that read and show what they have read allow it.

    `change_recorder` notes what the request changes, for the history; None while that is off.
    """

    database: Database
    snapshots: SnapshotKeeper
    insight: Insight

    def __init__(
        self, database: Database | None = None, allow_replica_read: bool = False, **identity: Any
    ) -> None:
        super().__init__(**identity)
        if database is not None:
            self.database = database
        self.allow_replica_read = allow_replica_read
        self.open_connection: sqlalchemy.Connection | None = None
        self.change_recorder: ChangeRecorder | None = None

    def attach(
        self,
        database: Database,
        snapshots: SnapshotKeeper,
        insight: Insight,
        allow_replica_read: bool,
        action: str = '',
    ) -> None:
        """Give the request what it works with; `action` is what the history calls it."""
        self.database = database
        self.snapshots = snapshots
        self.insight = insight
        self.allow_replica_read = allow_replica_read
        if insight.change_history is not None:
            self.change_recorder = insight.change_history.recorder(self, action)

    def get_logging_values(self) -> dict[str, Any]:
        """The attributes for the formats of log lines, quoted."""
        return {name: _quoted(value) for name, value in super().get_logging_values().items()}

    @property
    def connection(self) -> sqlalchemy.Connection:
        """The connection of the open transaction."""
        if self.open_connection is None:
            raise RuntimeError('no transaction is open')
        return self.open_connection


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return quote_for_log(value, safe=_LOGGED_OF_CALLER)
    if isinstance(value, list):
        return [_quoted(part) for part in value]
    return value
