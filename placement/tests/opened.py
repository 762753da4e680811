# SPDX-License-Identifier: Apache-2.0
"""Databases on engines, as the service opens them, with a check that every change is named."""

from collections.abc import Iterable

import sqlalchemy as sa

from placement.db.changes import Changes, Part
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.feed.sink import Feed


def database_on(
    engine: sa.Engine, read_engine: sa.Engine | None = None, max_ids: int = 0
) -> Database:
    """Return a database; its transactions fail where they name no change of a table they write."""
    return Database(engine, Feed(max_ids), read_engine, checks_changes=True)


def record(
    database: Database, provider_ids: Iterable[int], allocations_only: bool = False
) -> None:
    """Append entries about providers to the feed in a transaction that changes nothing else."""
    changes = Changes()
    with database.begin(Mode.WRITE, changes=changes):
        if allocations_only:
            for provider_id in provider_ids:
                changes.allocations(provider_id, {})
        else:
            changes.provider(provider_ids, Part.RELATED)
