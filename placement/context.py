# SPDX-License-Identifier: Apache-2.0
"""Who asks, and the database that answers: what one request carries through every layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_context import context as oslo_context

if TYPE_CHECKING:
    import sqlalchemy

    from placement.db.engine.api import Database
    from placement.feed.keeper import SnapshotKeeper


class RequestContext(oslo_context.RequestContext):
    """The identity of a caller together with the means its request works with.

    `database` and `snapshots` are set by the dispatcher; `connection` exists only while a
    transaction is open (`placement.db.engine.api.reader` and `writer`), so that no statement can
    run outside one. `allow_replica_read` lets a replica answer, where there is one.
    """

    def __init__(self, database: Database | None = None, **identity: Any) -> None:
        super().__init__(**identity)
        self.database = database
        self.snapshots: SnapshotKeeper | None = None
        self.allow_replica_read = False
        self.connection: sqlalchemy.Connection | None = None
