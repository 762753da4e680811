# SPDX-License-Identifier: Apache-2.0
"""The change feed: which providers have changed, as one transaction writes and reads it.

Every transaction that changes anything a search can see appends the providers it touched, with
`ChangeFeed.record`. Workers read on from where they last were, so that a search costs one small
statement however large the cloud is.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.engine.commit_outcome import insert_entries
from placement.db.schema.own_tables import change_feed
from placement.db.schema.tables import allocations, resource_classes
from placement.feed.position import MAX_WINDOW, Entry, Position, Reading, Zone, next_block

# How often, by chance, a writer looks whether a block has to be removed.
PRUNE_ONE_IN = 1_000

# A block that has no more entries may have been removed before: then what it has was appended by
# transactions that were still running at that time.
MAX_LATE = 1_000

# What is used of each class, by provider. Where nothing is, the class or the provider is missing.
Used = Mapping[int, Mapping[str, int]]

# The parts of a statement that depend on how far the feed was read.
_START: sa.BindParameter[int] = sa.bindparam('start')
_LOWEST = sa.select(sa.func.min(change_feed.c.id)).scalar_subquery()
_IN_WINDOW = (
    sa.select(sa.func.count(change_feed.c.id)).where(change_feed.c.id >= _START).scalar_subquery()
)


def _in_zones(count: int) -> sa.ColumnElement[int]:
    """How many entries so many zones have, as one statement with the rest of it."""
    total: sa.ColumnElement[int] = sa.literal_column('0', sa.BigInteger)
    for number in range(count):
        is_inside = sa.and_(
            change_feed.c.id >= sa.bindparam(f'start_{number}'),
            change_feed.c.id < sa.bindparam(f'end_{number}'),
        )
        inside = sa.select(sa.func.count(change_feed.c.id)).where(is_inside).scalar_subquery()
        total = total + inside
    return total


_ENTRY = (
    change_feed.c.id,
    change_feed.c.provider_id,
    change_feed.c.allocations_only,
    change_feed.c.token,
)

# What is used of each class of some providers.
_USED = (
    sa.select(
        allocations.c.resource_provider_id.label('provider_id'),
        resource_classes.c.name.label('resource_class'),
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger).label('used'),
    )
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .where(allocations.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True)))
    .group_by(allocations.c.resource_provider_id, resource_classes.c.name)
    .subquery()
)


@functools.cache
def _entries_from_start(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for a `Reading`, when the position has so many zones."""
    return sa.select(*_ENTRY, _LOWEST, _in_zones(zones)).where(change_feed.c.id >= _START)


@functools.cache
def _used_at_one_moment(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for what is used, and for three figures of the feed at the same moment.

    One row at least, also when nothing is used.
    """
    moment = sa.select(
        _LOWEST.label('lowest'),
        _IN_WINDOW.label('in_window'),
        _in_zones(zones).label('in_zones'),
    ).subquery()
    return sa.select(
        moment.c.lowest,
        moment.c.in_window,
        moment.c.in_zones,
        _USED.c.provider_id,
        _USED.c.resource_class,
        _USED.c.used,
    ).select_from(moment.outerjoin(_USED, sa.true()))


# The newest entries and two figures, for the first position.
_NEWEST = (
    sa.select(*_ENTRY, _LOWEST, sa.select(sa.func.count(change_feed.c.id)).scalar_subquery())
    .order_by(change_feed.c.id.desc())
    .limit(MAX_WINDOW)
)

_previous = sa.func.lag(change_feed.c.id).over(order_by=change_feed.c.id)
_numbered = sa.select(change_feed.c.id, _previous.label('previous')).subquery()

# Each range of ids that is missing, by the entries around it.
_GAPS = (
    sa.select(_numbered.c.previous, _numbered.c.id)
    .where(_numbered.c.id > _numbered.c.previous + 1, _numbered.c.id <= _START)
    .order_by(_numbered.c.id)
)


class UsedAtOneMoment(NamedTuple):
    """What is used of some providers, and whether the feed was then as it had been read."""

    used: Used
    is_unchanged: bool


class ChangeFeed:
    """The change feed, as the transaction of a connection sees it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def record(self, provider_ids: Collection[int], allocations_only: bool = False) -> None:
        """Append providers that the transaction changes; nothing where there are none.

        With `allocations_only` readers need to read no more than what is allocated of them. A
        transaction that changes other things as well may record both, in any order.
        """
        if not provider_ids:
            return
        insert_entries(self._connection, sorted(set(provider_ids)), allocations_only)
        if random.randrange(PRUNE_ONE_IN) == 0:
            self.prune()

    def prune(self) -> None:
        """Remove the oldest block, when a whole block of newer ids remains.

        Entries of a block that was removed before are appended again, since no worker may have
        read them. Longer feeds would make the statements slower that look for gaps in all of it:
        to count 33,000 entries takes MariaDB 3.8 ms, PostgreSQL 2.9 ms.
        """
        ids = sa.select(sa.func.min(change_feed.c.id), sa.func.max(change_feed.c.id))
        lowest, newest = self._connection.execute(ids).one()
        if lowest is None or newest < next_block(next_block(lowest)):
            return
        block_id = change_feed.c.id
        in_block = sa.and_(block_id >= lowest, block_id < next_block(lowest))
        few = sa.select(block_id, change_feed.c.provider_id).where(in_block).limit(MAX_LATE + 1)
        entries = self._connection.execute(few).all()
        if len(entries) <= MAX_LATE:
            # One that appears meanwhile stays, for the next time.
            in_block = block_id.in_([one for one, _provider_id in entries])
            again = sorted({provider_id for _one, provider_id in entries})
            insert_entries(self._connection, again, allocations_only=False)
        self._connection.execute(sa.delete(change_feed).where(in_block))

    def position(self) -> Position:
        """The position of somebody who has read everything that the transaction sees."""
        rows = self._connection.execute(_NEWEST).all()
        if not rows:
            return Position(0, ())
        entries = [Entry(*row[:4]) for row in reversed(rows)]
        lowest, count = rows[0][4:]
        start = entries[0].id
        has_gaps = count - len(entries) < start - lowest
        return Position.of(lowest, entries, self._gaps(start) if has_gaps else ())

    def _gaps(self, end: int) -> list[Zone]:
        """The ranges of ids that are missing before an entry."""
        rows = self._connection.execute(_GAPS, {'start': end})
        return [Zone(before + 1, after, 0) for before, after in rows]

    def read(self, position: Position) -> Reading:
        """What the feed says now from a position on, in one statement."""
        statement = _entries_from_start(len(position.zones))
        rows = self._connection.execute(statement, _values(position)).all()
        if not rows:
            return Reading((), None, 0)
        return Reading(rows, *rows[0][4:])

    def used(self, position: Position, provider_ids: Collection[int]) -> UsedAtOneMoment:
        """What is used of some providers, and whether nothing was recorded since a position.

        It is one statement for the sake of one moment: under READ COMMITTED each statement has a
        moment of its own.
        """
        values = {**_values(position), 'provider_ids': list(provider_ids)}
        rows = self._connection.execute(_used_at_one_moment(len(position.zones)), values).all()
        expected = (position.lowest, len(position.window), position.in_zones)
        used: dict[int, dict[str, int]] = {one: {} for one in provider_ids}
        for *_figures, provider_id, resource_class, amount in rows:
            if provider_id is not None:
                used[provider_id][resource_class] = amount
        return UsedAtOneMoment(used, tuple(rows[0][:3]) == expected)


def _values(position: Position) -> dict[str, Any]:
    values = {'start': position.start}
    for number, zone in enumerate(position.zones):
        values |= {f'start_{number}': zone.start, f'end_{number}': zone.end}
    return values
