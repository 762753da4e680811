# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: pages of providers and consumers, each of one moment, and sums of usage."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations, provider_filters, providers
from placement.db.statements.provider_filters import ProviderFilters
from placement.feed.follower import FollowedFeed
from placement.feed.follower_token import FollowerToken
from placement.feed.keeper import FeedBypassed
from placement.insight.bulk import statements
from placement.insight.bulk.statements import ConsumerFilters, SummedBy
from placement.insight.paging import Page
from placement.search.insight.tree_sums import TreeSums, sums_of
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot

GroupKey = TypeVar('GroupKey')
Described = TypeVar('Described')


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
    with_allocations: bool = False,
    not_before: FollowerToken | None = None,
) -> Page[CloudProvider]:
    """The first `limit` providers that meet every filter, by uuid, after a uuid.

    Without `after`, with the token of who reads this page and those after it. Two statements,
    three with allocations, beside those that bring the snapshot up to date, and two or three for
    the token. Raises `errors.TraitNotFound`, `errors.ResourceClassNotFound`,
    `errors.DatabaseUnavailable`, and `errors.NodeBehind` where the moment of the page would be
    before that of the token `not_before`.
    """
    describe = functools.partial(described, with_allocations=with_allocations)
    return _page_of(context, filters, after, limit, describe, not_before)


def list_trees(
    context: RequestContext,
    filters: ProviderFilters,
    after: str | None,
    limit: int,
    not_before: FollowerToken | None = None,
) -> Page[CloudTree]:
    """The first `limit` trees whose root meets every filter, by the uuid of the root, after a
    uuid; otherwise as `list_providers`, with one statement more for names.
    """
    roots = dataclasses.replace(filters, is_root=True)
    return _page_of(context, roots, after, limit, summed, not_before)


def _page_of(
    context: RequestContext,
    filters: ProviderFilters,
    after: str | None,
    limit: int,
    describe: Callable[[db.Connection, Snapshot, Sequence[db.Row]], Sequence[Described]],
    not_before: FollowerToken | None,
) -> Page[Described]:
    def read(connection: db.Connection, snapshot: Snapshot) -> Page[Described]:
        feed = FollowedFeed(connection, time.time())
        if not_before is not None and feed.is_behind(not_before):
            raise errors.NodeBehind
        token = feed.token() if after is None else None
        rows = provider_filters.list_by_filters(connection, filters, after, limit + 1)
        items = describe(connection, snapshot, rows[:limit])
        return Page(items, has_more=len(rows) > limit, token=token)

    return context.snapshots.read_at_one_moment(read)


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
        (row.consumer_uuid, row)
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
