# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: pages of providers and consumers, each of one moment, and sums of usage."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations, consumer_pages, provider_filters, usage_sums
from placement.db.statements.consumer_pages import ConsumerFilters
from placement.db.statements.usage_sums import SummedBy
from placement.feed.follower import FollowedFeed
from placement.feed.follower_position import FollowerPosition
from placement.feed.keeper import FeedBypassed
from placement.objects.resource_provider import ProviderFilters, filters_by_id
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot

Key = TypeVar('Key')
Listed = TypeVar('Listed')


class CloudProvider(NamedTuple):
    """A provider with everything that is known of it, at the moment of its page.

    `row` has what a list of providers shows. `allocations` is None where they were not asked for.
    """

    row: db.Row
    record: Provider
    allocations: Sequence[db.Row] | None


class CloudConsumer(NamedTuple):
    """A consumer with its allocations, at the moment of its page."""

    row: db.Row
    allocations: Sequence[db.Row]


class UsageSum(NamedTuple):
    """What is used by one project, user or type, or in one aggregate.

    `id` is its position in the order of pages. `name` is None for consumers without type.
    """

    id: int
    name: str | None
    consumers: int
    used: Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[Listed]):
    """A part of a list, and whether there is more of it.

    `position` is that in the change feed at the moment of the first page of providers.
    """

    items: Sequence[Listed]
    has_more: bool
    position: FollowerPosition | None = None


def list_providers(
    context: RequestContext,
    filters: ProviderFilters,
    after: str | None,
    limit: int,
    with_allocations: bool = False,
    not_before: FollowerPosition | None = None,
) -> Page[CloudProvider]:
    """The first `limit` providers that meet every filter, by uuid, after a uuid.

    Without `after`, with the position of who reads this page and those after it. Two statements,
    three with allocations, beside those that bring the snapshot up to date, and two or three for
    the position. Raises `errors.TraitNotFound`, `errors.ResourceClassNotFound`,
    `errors.DatabaseUnavailable`, and `errors.NodeBehind` where the moment of the page would be
    before that of the position `not_before`.
    """

    def read(connection: db.Connection, snapshot: Snapshot) -> Page[CloudProvider]:
        feed = FollowedFeed(connection, time.time())
        if not_before is not None and feed.is_behind(not_before):
            raise errors.NodeBehind
        position = feed.position() if after is None else None
        wanted = filters_by_id(connection, filters)
        if wanted is None:
            return Page((), has_more=False, position=position)
        page = provider_filters.Page(after, limit + 1)
        rows = provider_filters.list_page(connection, wanted, page)
        providers = described(connection, snapshot, rows[:limit], with_allocations)
        return Page(providers, has_more=len(rows) > limit, position=position)

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
    ids = [row.id for row in rows]
    if not all(map(snapshot.has_provider, ids)):
        raise FeedBypassed
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


@db.reader_of_one_moment
def list_consumers(
    context: RequestContext, filters: ConsumerFilters, after: str | None, limit: int
) -> Page[CloudConsumer]:
    """The first `limit` consumers that meet every filter, by uuid, after a uuid."""
    connection = context.connection
    rows = consumer_pages.list_page(connection, filters, after, limit + 1)
    shown = rows[:limit]
    held = _grouped(
        (row.consumer_uuid, row)
        for row in allocations.list_by_consumers(connection, [row.uuid for row in shown])
    )
    consumers = [CloudConsumer(row, held.get(row.uuid, ())) for row in shown]
    return Page(consumers, has_more=len(rows) > limit)


@db.reader
def list_usage_sums(
    context: RequestContext, by: SummedBy, after: int, limit: int
) -> Page[UsageSum]:
    """What is used, by the first `limit` of what it is summed by, after a position."""
    rows = usage_sums.list_page(context.connection, by, after, limit + 1)
    sums = [
        UsageSum(one, of_one[0].name, of_one[0].consumers, _used(of_one))
        for one, of_one in _grouped((row.id, row) for row in rows).items()
    ]
    return Page(sums[:limit], has_more=len(sums) > limit)


def _used(rows: Iterable[db.Row]) -> dict[str, int]:
    return {row.resource_class: row.used for row in rows}


def _grouped(pairs: Iterable[tuple[Key, db.Row]]) -> dict[Key, list[db.Row]]:
    grouped: dict[Key, list[db.Row]] = {}
    for key, row in pairs:
        grouped.setdefault(key, []).append(row)
    return grouped
