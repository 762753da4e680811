# SPDX-License-Identifier: Apache-2.0
"""Changes of the cloud since a token or a time, from one token to the next."""

import dataclasses
import datetime
import functools
import time
from collections.abc import Callable, Collection, Sequence
from typing import Generic, NamedTuple, TypeVar

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import provider_filters, providers
from placement.feed.follower import FollowedFeed, Interruption
from placement.feed.follower_token import FollowerToken
from placement.insight.bulk.pages import CloudProvider, CloudTree, described, ids_in, summed
from placement.insight.changes import statements
from placement.search.model.snapshot import Snapshot

Changed = TypeVar('Changed')


class Changes(NamedTuple, Generic[Changed]):
    """Providers or trees that changed, as they are now, and the uuids of those that are gone.

    `token` is the one after that; None where nobody can tell any more what changed since the
    one before, so that everything has to be read again.
    """

    items: Sequence[Changed]
    deleted: Sequence[str]
    token: FollowerToken | None


class _Described(NamedTuple, Generic[Changed]):
    """What is told of providers that changed, and the uuids of those of which nothing is."""

    items: Sequence[Changed]
    gone: Collection[str] = ()


# Tells something of the rows of providers that changed.
_Describe = Callable[[db.Connection, Snapshot, Sequence[db.Row]], _Described[Changed]]


# Entries are dated before their transaction commits, by the clocks of several hosts.
MARGIN = datetime.timedelta(seconds=60)


def list_changes(
    context: RequestContext,
    since: FollowerToken | datetime.datetime,
    limit: int,
    with_allocations: bool = False,
) -> Changes[CloudProvider]:
    """List the changes since a token or a time, `limit` providers at most, all of one moment.

    One statement where nothing has changed since a token. The answer is empty, and the token
    stays, while the database is a node of a cluster that has not applied yet what the token
    knows. Raises `errors.DatabaseUnavailable`.
    """
    return _list(context, since, limit, functools.partial(_each, with_allocations))


def list_changed_trees(
    context: RequestContext, since: FollowerToken | datetime.datetime, limit: int
) -> Changes[CloudTree]:
    """List the trees of which some provider changed; otherwise as `list_changes`.

    A provider that is no root is among those that are gone, since it may have been one.
    """
    return _list(context, since, limit, _trees)


def _each(
    with_allocations: bool, connection: db.Connection, snapshot: Snapshot, rows: Sequence[db.Row]
) -> _Described[CloudProvider]:
    return _Described(described(connection, snapshot, rows, with_allocations))


def _trees(
    connection: db.Connection, snapshot: Snapshot, rows: Sequence[db.Row]
) -> _Described[CloudTree]:
    roots = {snapshot.indexes.roots[provider_id] for provider_id in ids_in(snapshot, rows)}
    rows_of_roots = provider_filters.list_by_ids(connection, roots)
    return _Described(
        summed(connection, snapshot, rows_of_roots),
        [row.uuid for row in rows if row.id not in roots],
    )


def _list(
    context: RequestContext,
    since: FollowerToken | datetime.datetime,
    limit: int,
    describe: _Describe[Changed],
) -> Changes[Changed]:
    if isinstance(since, FollowerToken) and _is_unchanged(context, since):
        return Changes((), (), since)

    def read(connection: db.Connection, snapshot: Snapshot) -> Changes[Changed]:
        feed = FollowedFeed(connection, time.time())
        token = since if isinstance(since, FollowerToken) else _find(connection, feed, since)
        batch = Interruption.LOST if token is None else feed.read(token, limit)
        if batch is Interruption.BEHIND:
            return Changes((), (), token)
        if batch is Interruption.LOST:
            return Changes((), (), None)
        ids = {change.provider_id for change in batch.changes if change.deleted_uuid is None}
        items, gone = describe(connection, snapshot, provider_filters.list_by_ids(connection, ids))
        uuids = {
            change.deleted_uuid for change in batch.changes if change.deleted_uuid is not None
        }
        # But for those that other providers have by now.
        deleted = uuids - providers.list_ids(connection, uuids).keys()
        return Changes(items, sorted(deleted.union(gone)), batch.token)

    return context.snapshots.read_at_one_moment(read)


def _find(
    connection: db.Connection, feed: FollowedFeed, since: datetime.datetime
) -> FollowerToken | None:
    """The token of somebody who has read all that was committed before a time, or less.

    None where changes since then were removed from the feed.
    """
    try:
        since -= MARGIN
    except OverflowError:
        since = datetime.datetime.min
    if not statements.has_all_since(connection, since):
        return None
    first = statements.find_first_entry(connection, since)
    token = feed.token()
    return token if first is None else dataclasses.replace(token, delivered=first - 1)


@db.reader
def _is_unchanged(context: RequestContext, token: FollowerToken) -> bool:
    return FollowedFeed(context.connection, time.time()).is_unchanged(token)
