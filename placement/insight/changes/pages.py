# SPDX-License-Identifier: Apache-2.0
"""Changes of the cloud since a token or a time, from one token to the next."""

import dataclasses
import datetime
import time
from collections.abc import Sequence
from typing import NamedTuple

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import provider_filters, providers
from placement.feed.follower import Change, FollowedFeed, Untold
from placement.feed.follower_position import FollowerPosition
from placement.insight.bulk.pages import CloudProvider, described
from placement.insight.changes import statements
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


# Entries are dated before their transaction commits, by the clocks of several hosts.
MARGIN = datetime.timedelta(seconds=60)


def list_changes(
    context: RequestContext,
    since: FollowerPosition | datetime.datetime,
    limit: int,
    with_allocations: bool = False,
) -> Changes:
    """List the changes since a position or a time, `limit` providers at most, all of one moment.

    One statement where nothing has changed since a position. The answer is empty, and the
    position stays, while the database is a node of a cluster that has not applied yet what the
    position knows. Raises `errors.DatabaseUnavailable`.
    """
    if isinstance(since, FollowerPosition) and _is_unchanged(context, since):
        return Changes((), (), since)

    def read(connection: db.Connection, snapshot: Snapshot) -> Changes:
        feed = FollowedFeed(connection, time.time())
        position = since if isinstance(since, FollowerPosition) else _find(connection, feed, since)
        told = Untold.LOST if position is None else feed.read(position, limit)
        if told is Untold.BEHIND:
            return Changes((), (), position)
        if told is Untold.LOST:
            return LOST
        ids = {change.provider_id for change in told.changes if change.deleted_uuid is None}
        rows = provider_filters.list_by_ids(connection, ids)
        listed = described(connection, snapshot, rows, with_allocations)
        return Changes(listed, _deleted(connection, told.changes), told.position)

    return context.snapshots.read_at_one_moment(read)


def _find(
    connection: db.Connection, feed: FollowedFeed, since: datetime.datetime
) -> FollowerPosition | None:
    """The position of somebody who has read all that was committed before a time, or less.

    None where changes since then were removed from the feed.
    """
    try:
        since -= MARGIN
    except OverflowError:
        since = datetime.datetime.min
    if not statements.has_all_since(connection, since):
        return None
    first = statements.find_first_entry(connection, since)
    position = feed.position()
    return position if first is None else dataclasses.replace(position, told=first - 1)


@db.reader
def _is_unchanged(context: RequestContext, position: FollowerPosition) -> bool:
    feed = FollowedFeed(context.connection, time.time())
    return position.is_unchanged(feed.figures(position))


def _deleted(connection: db.Connection, changes: Sequence[Change]) -> list[str]:
    """The uuids of providers that were deleted, but for those that others have by now."""
    uuids = {change.deleted_uuid for change in changes if change.deleted_uuid is not None}
    return sorted(uuids - providers.list_ids(connection, uuids).keys())
