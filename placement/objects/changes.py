# SPDX-License-Identifier: Apache-2.0
"""What has changed in the cloud since somebody read it, from one token to the next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import provider_filters, providers
from placement.feed.follower import Change, FollowedFeed, Untold
from placement.feed.follower_position import FollowerPosition
from placement.objects.cloud import CloudProvider, described
from placement.search.model.snapshot import Snapshot


class Changes(NamedTuple):
    """Providers that changed, as they are now, and the uuids of those that were deleted.

    `position` is the one after that; None where nobody can tell any more what changed since the
    one before, so that everything has to be read again.
    """

    providers: Sequence[CloudProvider]
    deleted: Sequence[str]
    position: FollowerPosition | None


LOST = Changes((), (), None)


def list_changes(
    context: RequestContext, since: FollowerPosition, limit: int, with_allocations: bool = False
) -> Changes:
    """What changed since a position, `limit` providers at most, all of one moment.

    One statement while nothing has changed. Nothing is told, and the position stays, while the
    database is a node of a cluster that has not applied yet what the position knows. Raises
    `errors.DatabaseUnavailable`.
    """
    if _is_unchanged(context, since):
        return Changes((), (), since)

    def read(connection: db.Connection, snapshot: Snapshot) -> Changes:
        told = FollowedFeed(connection, time.time()).read(since, limit)
        if told is Untold.BEHIND:
            return Changes((), (), since)
        if told is Untold.LOST:
            return LOST
        ids = {change.provider_id for change in told.changes}
        rows = provider_filters.list_by_ids(connection, ids)
        if told.may_be_deleted - {row.id for row in rows}:
            return LOST
        listed = described(connection, snapshot, rows, with_allocations)
        return Changes(listed, _deleted(connection, told.changes), told.position)

    return context.snapshots.read_at_one_moment(read)


@db.reader
def _is_unchanged(context: RequestContext, position: FollowerPosition) -> bool:
    feed = FollowedFeed(context.connection, time.time())
    return position.is_unchanged(feed.figures(position))


def _deleted(connection: db.Connection, changes: Sequence[Change]) -> list[str]:
    """The uuids of providers that were deleted, but for those that others have by now."""
    uuids = {change.deleted_uuid for change in changes if change.deleted_uuid is not None}
    return sorted(uuids - providers.list_ids(connection, uuids).keys())
