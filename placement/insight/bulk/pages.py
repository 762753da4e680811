# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: pages of providers and consumers, each of one moment, what changed since
another one, and sums of usage."""

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations, provider_filters, providers
from placement.db.statements.provider_filters import ProviderFilters
from placement.feed.follower import FollowedFeed, FollowerToken, Interruption
from placement.feed.keeper import FeedBypassed
from placement.insight.bulk import statements
from placement.insight.bulk.statements import ConsumerFilters, SummedBy
from placement.insight.paging import Page
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import TreeSums, sums_of

GroupKey = TypeVar('GroupKey')
Described = TypeVar('Described')

# Tells something of the rows of providers, given a snapshot of the same moment.
Describe = Callable[[db.Connection, Snapshot, Sequence[db.Row]], Sequence[Described]]

# Entries are dated before their transaction commits, by the clocks of several hosts.
MARGIN = datetime.timedelta(seconds=60)


class Changes(NamedTuple, Generic[Described]):
    """Providers or trees that changed, as they are now, and the uuids of those that are gone.

    `token` is the one after that; None where nobody can tell any more what changed since the
    one before, so that everything has to be read again.
    """

    items: Sequence[Described]
    deleted: Sequence[str]
    token: FollowerToken | None


class CloudProvider(NamedTuple):
    """A provider with everything that is known of it, at the moment of its page.

    `row` has what a list of providers shows. `allocations` is None where they were not asked for.
    """

    row: db.Row
    record: Provider
    allocations: Sequence[db.Row] | None


class CloudTree(NamedTuple):
    """A tree in sums, at the moment of its page; `row` and `root` are of its root.

    `fullest` is the name of the provider that has the fullest inventory, None without one.
    """

    row: db.Row
    root: Provider
    sums: TreeSums
    fullest: str | None


class CloudConsumer(NamedTuple):
    """A consumer with its allocations, at the moment of its page."""

    row: db.Row
    allocations: Sequence[db.Row]


class UsageSum(NamedTuple):
    """Usage of one project, user or type, or in one aggregate.

    `id` is its position in the order of pages. `name` is None for consumers without type.
    """

    id: int
    name: str | None
    consumers: int
    used: Mapping[str, int]


def list_providers(
    context: RequestContext,
    filters: ProviderFilters,
    after: str | None,
    limit: int,
    describe: Describe[Described],
    not_before: FollowerToken | None = None,
) -> Page[Described]:
    """Describe the first `limit` providers that meet every filter, by uuid, after a uuid.

    Without `after`, with the token of who reads this page and those after it. One statement and
    those of `describe`, beside those that bring the snapshot up to date, and two or three for
    the token. Raises `errors.TraitNotFound`, `errors.ResourceClassNotFound`,
    `errors.DatabaseUnavailable`, and `errors.NodeBehind` where the moment of the page would be
    before that of the token `not_before`.
    """

    def read(connection: db.Connection, snapshot: Snapshot) -> Page[Described]:
        feed = FollowedFeed(connection, time.time())
        if not_before is not None and feed.is_behind(not_before):
            raise errors.NodeBehind
        token = feed.token() if after is None else None
        rows = provider_filters.list_by_filters(connection, filters, after, limit + 1)
        items = describe(connection, snapshot, rows[:limit])
        return Page(items, has_more=len(rows) > limit, token=token)

    return context.snapshots.read_at_one_moment(read)


def list_changes(
    context: RequestContext,
    since: FollowerToken | datetime.datetime,
    limit: int,
    describe: Describe[Described],
    by_root: bool = False,
) -> Changes[Described]:
    """Describe what changed since a token or a time, `limit` providers at most, at one moment.

    With `by_root` their trees; a provider that is no root is among those that are gone, since it
    may have been one. One statement where nothing has changed since a token. The answer is empty,
    and the token stays, while the database is a node of a cluster that has not applied yet what
    the token knows. Raises `errors.DatabaseUnavailable`.
    """
    if isinstance(since, FollowerToken) and _is_unchanged(context, since):
        return Changes((), (), since)

    def read(connection: db.Connection, snapshot: Snapshot) -> Changes[Described]:
        feed = FollowedFeed(connection, time.time())
        token = since if isinstance(since, FollowerToken) else _find(connection, feed, since)
        batch = Interruption.LOST if token is None else feed.read(token, limit)
        if batch is Interruption.BEHIND:
            return Changes((), (), token)
        if batch is Interruption.LOST:
            return Changes((), (), None)
        uuids = {
            change.deleted_uuid for change in batch.changes if change.deleted_uuid is not None
        }
        # But for those that other providers have by now.
        deleted = uuids - providers.list_ids(connection, uuids).keys()
        ids = {change.provider_id for change in batch.changes if change.deleted_uuid is None}
        rows = provider_filters.list_by_ids(connection, ids)
        if by_root:
            roots = {snapshot.indexes.roots[provider_id] for provider_id in ids_in(snapshot, rows)}
            deleted |= {row.uuid for row in rows if row.id not in roots}
            rows = provider_filters.list_by_ids(connection, roots)
        return Changes(describe(connection, snapshot, rows), sorted(deleted), batch.token)

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


def described(
    connection: db.Connection,
    snapshot: Snapshot,
    rows: Sequence[db.Row],
    with_allocations: bool = False,
) -> list[CloudProvider]:
    """Providers that were listed, with everything that the snapshot of the same moment has.

    Raises `FeedBypassed` for one that is not in it.
    """
    ids = ids_in(snapshot, rows)
    taken = None
    if with_allocations:
        taken = _grouped(
            (row.provider_id, row) for row in allocations.list_by_providers(connection, ids)
        )
    return [
        CloudProvider(
            row, snapshot.provider(row.id), None if taken is None else taken.get(row.id, ())
        )
        for row in rows
    ]


def summed(
    connection: db.Connection, snapshot: Snapshot, rows: Sequence[db.Row]
) -> list[CloudTree]:
    """The trees of some roots, with the sums that the snapshot of the same moment has.

    Raises `FeedBypassed` for one that is not in it.
    """
    trees = [snapshot.tree(root_id) for root_id in ids_in(snapshot, rows)]
    sums = list(map(sums_of, trees))
    fullest = {of_tree.fullest.provider for of_tree in sums if of_tree.fullest is not None}
    names = {row.uuid: row.name for row in rows}
    names |= providers.list_names(connection, fullest - names.keys())
    return [
        CloudTree(
            row, tree.members[0], of_tree, of_tree.fullest and names.get(of_tree.fullest.provider)
        )
        for row, tree, of_tree in zip(rows, trees, sums, strict=True)
    ]


def ids_in(snapshot: Snapshot, rows: Sequence[db.Row]) -> list[int]:
    """The ids of rows; raises `FeedBypassed` for one that is not in a snapshot of this moment."""
    ids = [row.id for row in rows]
    if not all(map(snapshot.has_provider, ids)):
        raise FeedBypassed
    return ids


@db.consistent_reader
def list_consumers(
    context: RequestContext, filters: ConsumerFilters, after: str | None, limit: int
) -> Page[CloudConsumer]:
    """The first `limit` consumers that meet every filter, by uuid, after a uuid."""
    connection = context.connection
    rows = statements.list_consumers(connection, filters, after, limit + 1)
    shown = rows[:limit]
    held = _grouped(
        (row.uuid, row)
        for row in allocations.list_by_consumers(connection, [row.uuid for row in shown])
    )
    consumers = [CloudConsumer(row, held.get(row.uuid, ())) for row in shown]
    return Page(consumers, has_more=len(rows) > limit)


@db.reader
def list_usage_sums(
    context: RequestContext, by: SummedBy, after: int | None, limit: int
) -> Page[UsageSum]:
    """List the first `limit` sums of usage after a position."""
    rows = statements.list_usage_sums(
        context.connection, by, -1 if after is None else after, limit + 1
    )
    sums = [
        UsageSum(subject_id, of_subject[0].name, of_subject[0].consumers, _used(of_subject))
        for subject_id, of_subject in _grouped((row.id, row) for row in rows).items()
    ]
    return Page.of(sums, limit)


def _used(rows: Iterable[db.Row]) -> dict[str, int]:
    return {row.resource_class: row.used for row in rows}


def _grouped(pairs: Iterable[tuple[GroupKey, db.Row]]) -> dict[GroupKey, list[db.Row]]:
    grouped: dict[GroupKey, list[db.Row]] = {}
    for key, row in pairs:
        grouped.setdefault(key, []).append(row)
    return grouped
