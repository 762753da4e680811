# SPDX-License-Identifier: Apache-2.0
"""The statements that find a time in the change feed."""

import datetime

import sqlalchemy as sa

from placement.db.schema.own_tables import change_feed, removed_changes
from placement.db.schema.tables import resource_providers

_OLDEST = sa.select(change_feed.c.at).order_by(change_feed.c.id).limit(1)


def find_first_entry(connection: sa.Connection, since: datetime.datetime) -> int | None:
    """Return the lowest id of the entries that were written at a time or later."""
    lowest = sa.select(sa.func.min(change_feed.c.id)).where(change_feed.c.at >= since)
    return connection.scalar(lowest)


def has_all_since(connection: sa.Connection, since: datetime.datetime) -> bool:
    """Return whether the feed has every change that was made at a time or later.

    It goes back to that time, or to the beginning of the cloud: none of it was removed, and no
    provider is older than its first entry.
    """
    oldest = connection.scalar(_OLDEST)
    if oldest is None or oldest <= since:
        return oldest is not None
    created_at = resource_providers.c.created_at
    is_older = sa.or_(created_at < oldest, created_at.is_(None))
    older = sa.select(resource_providers.c.id).where(is_older).exists()
    removed = sa.select(removed_changes.c.end_id).exists()
    return not connection.scalar(sa.select(sa.or_(older, removed)))
