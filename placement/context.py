# SPDX-License-Identifier: Apache-2.0
"""Who asks, and the database that answers: what one request carries through every layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oslo_context import context as oslo_context

if TYPE_CHECKING:
    import sqlalchemy

    from placement.db.engine.database import Database
    from placement.feed.keeper import SnapshotKeeper


class RequestContext(oslo_context.RequestContext):
    """The identity of a caller together with the means its request works with.

    The middleware makes it from the headers of the request, `attach` completes it. Until then
    `database` and `snapshots` raise `RuntimeError`, and so does `connection` while no transaction
    is open: no statement can run outside one. `placement.db.engine.transactions` sets
    `open_connection` for as long as a transaction lasts.

    `allow_replica_read` lets a replica answer, where there is one. It may lag behind what was
    committed, so only requests that read and show what they have read allow it.
    """

    def __init__(
        self, database: Database | None = None, allow_replica_read: bool = False, **identity: Any
    ) -> None:
        super().__init__(**identity)
        self._database = database
        self._snapshots: SnapshotKeeper | None = None
        self.allow_replica_read = allow_replica_read
        self.open_connection: sqlalchemy.Connection | None = None

    def attach(
        self, database: Database, snapshots: SnapshotKeeper, allow_replica_read: bool
    ) -> None:
        """Give the request what it works with."""
        self._database = database
        self._snapshots = snapshots
        self.allow_replica_read = allow_replica_read

    @property
    def database(self) -> Database:
        """The database of the service."""
        if self._database is None:
            raise RuntimeError('the context has no database')
        return self._database

    @property
    def snapshots(self) -> SnapshotKeeper:
        """The keeper of the snapshot that searches read."""
        if self._snapshots is None:
            raise RuntimeError('the context has no snapshots')
        return self._snapshots

    @property
    def connection(self) -> sqlalchemy.Connection:
        """The connection of the open transaction."""
        if self.open_connection is None:
            raise RuntimeError('no transaction is open')
        return self.open_connection
