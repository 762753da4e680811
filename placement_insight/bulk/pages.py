# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: pages of providers, consumers, changes and sums, each of one moment."""

import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import allocations, provider_filters, providers
from placement.db.statements.provider_filters import ProviderFilters
from placement.db.transaction import in_transaction
from placement.feed.keeper import FeedBypassed, SnapshotKeeper
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement_insight.bulk import statements
from placement_insight.bulk.follower import FollowedFeed, FollowerToken, Interruption
from placement_insight.bulk.statements import ConsumerFilters, SummedBy
from placement_insight.errors import NodeBehind
from placement_insight.paging import Page
from placement_insight.search.tree_sums import TreeSums, sums_of

GroupKey = TypeVar('GroupKey')
Described = TypeVar('Described')

# Reads the elements of a page for rows of providers, given a snapshot of the same moment.
Describe = Callable[[Connection, Snapshot, Sequence[Row]], Sequence[Described]]

# Added to a time: entries are dated before their COMMIT, and by the clocks of several hosts.
MARGIN = datetime.timedelta(seconds=60)


class Changes(NamedTuple, Generic[Described]):
    """Providers or trees that changed, in their present state, and the uuids of deleted ones.

    `token` is the position after these changes; None if changes since the position before are no
    longer known, so that the client has to read everything again.
    """

    items: Sequence[Described]
    deleted: Sequence[str]
    token: FollowerToken | None


class CloudProvider(NamedTuple):
    """A provider at the moment of its page.

    `row` has the members of a list of providers; `allocations` is empty if not asked for.
    """

    row: Row
    record: Provider
    allocations: Sequence[Row]


class CloudTree(NamedTuple):
    """The sums of a tree at the moment of its page; `row` and `root` describe its root.

    `fullest` is the name of the provider with the fullest inventory, None without inventories.
    """

    row: Row
    root: Provider
    sums: TreeSums
    fullest: str | None


class CloudConsumer(NamedTuple):
    """A consumer with its allocations, at the moment of its page."""

    row: Row
    allocations: Sequence[Row]


class UsageSum(NamedTuple):
    """Usage of one project, user or type, or in one aggregate.

    Pages are in the order of `id`. `name` is None for consumers without type.
    """

    id: int
    name: str | None
    consumers: int
    used: Mapping[str, int]


def list_providers(
    snapshots: SnapshotKeeper,
    filters: ProviderFilters,
    after: str | None,
    limit: int,
    describe: Describe[Described],
    not_before: FollowerToken | None = None,
    with_token: bool = True,
) -> Page[Described]:
    """Describe the first `limit` providers that meet every filter, by uuid, after a uuid.

    The first page, without `after`, has a token for following the changes since, unless
    `with_token` is false. Executes one statement, those of `describe`, two or three for the token,
    and those that refresh the snapshot.

    :raises errors.TraitNotFound: a filter names an unknown trait
    :raises errors.ResourceClassNotFound: a filter names an unknown class
    :raises errors.DatabaseUnavailable: the database does not answer
    :raises NodeBehind: the database shows an earlier moment than the token `not_before`
    """

    def read(connection: Connection, snapshot: Snapshot) -> Page[Described]:
        feed = FollowedFeed(connection, time.time())
        if not_before is not None and feed.is_behind(not_before):
            raise NodeBehind
        token = feed.token() if with_token and after is None else None
        rows = provider_filters.list_by_filters(connection, filters, after, limit + 1)
        items = describe(connection, snapshot, rows[:limit])
        return Page(items, has_more=len(rows) > limit, token=token)

    return snapshots.read_at_one_moment(read)


def list_changes(
    context: RequestContext,
    snapshots: SnapshotKeeper,
    since: FollowerToken | datetime.datetime,
    limit: int,
    describe: Describe[Described],
    by_root: bool = False,
) -> Changes[Described]:
    """Describe at most `limit` providers that changed since a token or a time, at one moment.

    With `by_root`, describe their trees, and report a provider that is no root as deleted, since
    it may have been one. Executes one statement if nothing has changed since a token. While a
    cluster node lags behind the token, the answer is empty, and the token stays.

    :raises errors.DatabaseUnavailable: the database does not answer
    """
    if isinstance(since, FollowerToken) and _is_unchanged(context, since):
        return Changes((), (), since)

    def read(connection: Connection, snapshot: Snapshot) -> Changes[Described]:
        feed = FollowedFeed(connection, time.time())
        token = since if isinstance(since, FollowerToken) else _find_token(connection, feed, since)
        batch = Interruption.LOST if token is None else feed.read(token, limit)
        if batch is Interruption.BEHIND:
            return Changes((), (), token)
        if batch is Interruption.LOST:
            return Changes((), (), None)
        uuids = {
            change.deleted_uuid for change in batch.changes if change.deleted_uuid is not None
        }
        # A uuid that another provider has by now is not deleted.
        deleted = uuids - providers.list_ids(connection, uuids).keys()
        ids = {change.provider_id for change in batch.changes if change.deleted_uuid is None}
        rows = provider_filters.list_by_ids(connection, ids)
        if by_root:
            roots = {snapshot.indexes.roots[provider_id] for provider_id in ids_in(snapshot, rows)}
            deleted |= {row.uuid for row in rows if row.id not in roots}
            rows = provider_filters.list_by_ids(connection, roots)
        return Changes(describe(connection, snapshot, rows), sorted(deleted), batch.token)

    return snapshots.read_at_one_moment(read)


def _find_token(
    connection: Connection, feed: FollowedFeed, since: datetime.datetime
) -> FollowerToken | None:
    """Return a token for the changes that were committed at a time or later, or for more.

    None if some of them were removed from the feed.
    """
    try:
        since -= MARGIN
    except OverflowError:
        since = datetime.datetime.min
    if not statements.has_all_since(connection, since):
        return None
    first = statements.find_first_entry(connection, since)
    token = feed.token()
    return token if first is None else token._replace(delivered=first - 1)


@in_transaction(Mode.READ)
def _is_unchanged(context: RequestContext, token: FollowerToken) -> bool:
    return FollowedFeed(context.connection, time.time()).is_unchanged(token)


def described(
    connection: Connection,
    snapshot: Snapshot,
    rows: Sequence[Row],
    with_allocations: bool = False,
) -> list[CloudProvider]:
    """Return the providers of some rows, described from a snapshot of the same moment.

    :raises FeedBypassed: the snapshot lacks one
    """
    ids = ids_in(snapshot, rows)
    listed = allocations.list_by_providers(connection, ids) if with_allocations else ()
    taken = _grouped((row.provider_id, row) for row in listed)
    return [CloudProvider(row, snapshot.provider(row.id), taken.get(row.id, ())) for row in rows]


def summed(connection: Connection, snapshot: Snapshot, rows: Sequence[Row]) -> list[CloudTree]:
    """Return the trees of some roots, with sums from a snapshot of the same moment.

    :raises FeedBypassed: the snapshot lacks one
    """
    try:
        trees = [snapshot.tree(row.id) for row in rows]
    except KeyError as error:
        raise FeedBypassed from error
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


def ids_in(snapshot: Snapshot, rows: Sequence[Row]) -> list[int]:
    """Return the ids of rows.

    :raises FeedBypassed: a snapshot of the same moment lacks one
    """
    ids = [row.id for row in rows]
    if not all(map(snapshot.has_provider, ids)):
        raise FeedBypassed
    return ids


@in_transaction(Mode.READ_ONE_MOMENT)
def list_consumers(
    context: RequestContext, filters: ConsumerFilters, after: str | None, limit: int
) -> Page[CloudConsumer]:
    """List the first `limit` consumers that meet every filter, by uuid, after a uuid."""
    connection = context.connection
    rows = statements.list_consumers(connection, filters, after, limit + 1)
    shown = rows[:limit]
    listed = allocations.list_by_consumers(connection, [row.uuid for row in shown])
    held = _grouped((row.uuid, row) for row in listed)
    consumers = [CloudConsumer(row, held.get(row.uuid, ())) for row in shown]
    return Page(consumers, has_more=len(rows) > limit)


@in_transaction(Mode.READ)
def list_usage_sums(
    context: RequestContext, by: SummedBy, after: int | None, limit: int
) -> Page[UsageSum]:
    """List the first `limit` sums of usage after an id."""
    rows = statements.list_usage_sums(
        context.connection, by, -1 if after is None else after, limit + 1
    )
    sums = [
        UsageSum(subject_id, of_subject[0].name, of_subject[0].consumers, _used(of_subject))
        for subject_id, of_subject in _grouped((row.id, row) for row in rows).items()
    ]
    return Page.of(sums, limit)


def _used(rows: Iterable[Row]) -> dict[str, int]:
    return {row.resource_class: row.used for row in rows}


def _grouped(pairs: Iterable[tuple[GroupKey, Row]]) -> dict[GroupKey, list[Row]]:
    grouped: dict[GroupKey, list[Row]] = {}
    for key, row in pairs:
        grouped.setdefault(key, []).append(row)
    return grouped
