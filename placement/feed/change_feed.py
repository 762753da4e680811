# SPDX-License-Identifier: Apache-2.0
"""The change feed: which providers have changed, as one transaction writes and reads it.

Every transaction that changes anything a search can see appends the providers it touched, with
`ChangeFeed.record`. Workers read on from where they last were, so that a search costs one small
statement however large the cloud is.
"""

from __future__ import annotations

import datetime
import functools
import random
import weakref
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.schema.own_tables import change_feed, removed_changes
from placement.db.schema.tables import allocations, resource_classes, utcnow
from placement.feed.commit_outcome import insert_entries
from placement.feed.position import (
    BLOCK,
    MAX_WINDOW,
    Entry,
    Position,
    Reading,
    Removed,
    Zone,
    next_block,
)

# How often, by chance, a writer looks whether a block has to be removed.
PRUNE_ONE_IN = 1_000

# A block that has no more entries may have been removed before: then what it has was appended by
# transactions that were still running at that time.
MAX_LATE = 1_000

# For so many seconds a block stays, for the sake of those who follow the changes from outside: an
# hour, and some minutes for those who ask what changed in the last hour.
KEPT_SECONDS = 3_900

# Of so many blocks that were removed it is known how many entries they had.
MAX_REMOVED = 100

# The highest id that a feed can have.
MAX_ID = 2**63 - 1

# How many ids a feed may have (see `keep`), by the dialect that the engines of a database share.
_MAX_IDS: weakref.WeakKeyDictionary[sa.Dialect, int] = weakref.WeakKeyDictionary()

# What is used of each class, by provider. Where nothing is, the class or the provider is missing.
Used = Mapping[int, Mapping[str, int]]

# The parts of a statement that depend on how far the feed was read.
_START: sa.BindParameter[int] = sa.bindparam('start')
_HEAD: sa.BindParameter[int] = sa.bindparam('head')

_ID = change_feed.c.id
_ENTRY = (_ID, change_feed.c.provider_id, change_feed.c.allocations_only, change_feed.c.token)
_COUNT = sa.select(sa.func.count(_ID))
_LOWEST = sa.select(sa.func.min(_ID)).scalar_subquery()
_HIGHEST = sa.select(sa.func.max(_ID)).scalar_subquery()


def _in_zones(count: int) -> sa.ColumnElement[int]:
    """How many entries so many zones have, as one statement with the rest of it."""
    total: sa.ColumnElement[int] = sa.literal_column('0', sa.BigInteger)
    for number in range(count):
        start: sa.BindParameter[int] = sa.bindparam(f'start_{number}')
        end: sa.BindParameter[int] = sa.bindparam(f'end_{number}')
        total = total + _COUNT.where(start <= _ID, end > _ID).scalar_subquery()
    return total


def _is_as_read(zones: int) -> sa.ColumnElement[bool]:
    """The condition that everything up to the head is as a position with so many zones has it.

    Figures, because PyMySQL takes as long for the description of a column as for a row.
    """
    in_window = _COUNT.where(_START <= _ID, _HEAD >= _ID).scalar_subquery()
    token = sa.select(change_feed.c.token).where(_HEAD == _ID).scalar_subquery()
    return sa.and_(
        sa.bindparam('lowest', type_=sa.BigInteger) == _LOWEST,
        sa.bindparam('in_zones', type_=sa.BigInteger) == _in_zones(zones),
        sa.bindparam('in_window', type_=sa.BigInteger) == in_window,
        sa.bindparam('token', type_=sa.BigInteger) == token,
    )


@functools.cache
def _is_unchanged(zones: int) -> sa.Select[bool]:
    """The statement for whether the feed is as a position has it, and has nothing after that."""
    return sa.select(sa.and_(_is_as_read(zones), _HIGHEST == _HEAD).label('is_unchanged'))


@functools.cache
def _entries_after_head(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for the entries after the head, and whether all before is as it was read.

    One row at least, also when there are no such entries.
    """
    moment = sa.select(_is_as_read(zones).label('is_as_read')).subquery()
    return sa.select(moment.c.is_as_read, *_ENTRY).select_from(
        moment.outerjoin(change_feed, _HEAD < _ID)
    )


@functools.cache
def _entries_from_start(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for the entries from the window on, and two figures below it.

    One row at least.
    """
    figures = sa.select(_LOWEST.label('lowest'), _in_zones(zones).label('in_zones')).subquery()
    is_wanted = sa.and_(_START <= _ID, sa.bindparam('end') >= _ID)
    return sa.select(*_ENTRY, *figures.c).select_from(figures.outerjoin(change_feed, is_wanted))


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
def _used_at_one_moment(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for what is used, and whether the feed is unchanged at the same moment.

    One row at least, also when nothing is used.
    """
    moment = _is_unchanged(zones).subquery()
    return sa.select(*moment.c, *_USED.c).select_from(moment.outerjoin(_USED, sa.true()))


_REMOVED = sa.select(
    sa.func.min(removed_changes.c.start_id),
    sa.func.max(removed_changes.c.end_id),
    sa.func.sum(removed_changes.c.entries),
).where(
    removed_changes.c.end_id > sa.bindparam('after'),
    removed_changes.c.end_id <= sa.bindparam('end'),
)

# The newest entries and two figures, for the first position.
_NEWEST = (
    sa.select(*_ENTRY, _LOWEST, _COUNT.scalar_subquery()).order_by(_ID.desc()).limit(MAX_WINDOW)
)

_previous = sa.func.lag(change_feed.c.id).over(order_by=change_feed.c.id)
_numbered = sa.select(change_feed.c.id, _previous.label('previous')).subquery()

# Each range of ids that is missing, by the entries around it.
_GAPS = (
    sa.select(_numbered.c.previous, _numbered.c.id)
    .where(_numbered.c.id > _numbered.c.previous + 1, _numbered.c.id <= _START)
    .order_by(_numbered.c.id)
)


def keep(engine: sa.Engine, max_ids: int) -> None:
    """Set retention: keep entries younger than an hour, at most `max_ids` ids.

    Without that it keeps the last block and what comes after it.
    """
    _MAX_IDS[engine.dialect] = max_ids


class UsedAtOneMoment(NamedTuple):
    """Usage of some providers, and whether the feed was then as it had been read."""

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
        self._prune_by_chance()

    def record_former_uuid(self, provider_id: int, uuid: str) -> None:
        """Append that the transaction deletes a provider, or gives it another uuid."""
        insert_entries(self._connection, [provider_id], False, [uuid])
        self._prune_by_chance()

    def _prune_by_chance(self) -> None:
        if random.randrange(PRUNE_ONE_IN) == 0:
            self.prune()

    def prune(self) -> None:
        """Remove the oldest block, when a whole block of newer ids remains.

        One that is not old enough yet stays, unless the feed is longer than it may be. Entries of
        a block that was removed before are appended again, since no worker may have read them.
        Longer feeds make the statements slower that look for gaps in all of it: to count 33,000
        entries takes MariaDB 3.8 ms, PostgreSQL 2.9 ms.
        """
        ids = sa.select(sa.func.min(change_feed.c.id), sa.func.max(change_feed.c.id))
        lowest, newest = self._connection.execute(ids).one()
        if lowest is None or newest < next_block(next_block(lowest)):
            return
        block_id, end = change_feed.c.id, next_block(lowest)
        in_block = sa.and_(block_id >= lowest, block_id < end)
        max_ids = _MAX_IDS.get(self._connection.dialect, 0)
        if newest - lowest < max_ids and self._is_kept(in_block):
            return
        few = sa.select(block_id, change_feed.c.provider_id, change_feed.c.deleted_uuid)
        entries = self._connection.execute(few.where(in_block).limit(MAX_LATE + 1)).all()
        if not entries:
            # Another transaction has removed them meanwhile, and noted them.
            return
        if len(entries) <= MAX_LATE:
            # One that appears meanwhile stays, for the next time.
            in_block = block_id.in_([entry_id for entry_id, *_again in entries])
            again = {(provider_id, uuid or '', uuid) for _id, provider_id, uuid in entries}
            ordered = sorted(again, key=lambda entry: entry[:2])
            provider_ids, _texts, uuids = zip(*ordered, strict=True)
            insert_entries(self._connection, provider_ids, False, uuids)
        removed = self._connection.execute(sa.delete(change_feed).where(in_block)).rowcount
        if removed:
            self._note_removed(lowest, end, removed)

    def _is_kept(self, in_block: sa.ColumnElement[bool]) -> bool:
        """Return whether the newest entry of a block is too young to be removed."""
        newest = sa.select(change_feed.c.at).where(in_block).order_by(change_feed.c.id.desc())
        at = self._connection.scalar(newest.limit(1))
        return at is not None and utcnow() - at < datetime.timedelta(seconds=KEPT_SECONDS)

    def _note_removed(self, start: int, end: int, entries: int) -> None:
        """Note how many entries a part of the feed had, for followers."""
        # Noted before, where the ids of a database that was restored were given out again.
        same = removed_changes.c.end_id == end
        self._connection.execute(sa.delete(removed_changes).where(same))
        row = {'start_id': start, 'end_id': end, 'entries': entries}
        self._connection.execute(sa.insert(removed_changes), row)
        old = removed_changes.c.end_id < end - MAX_REMOVED * BLOCK
        self._connection.execute(sa.delete(removed_changes).where(old))

    def count(self) -> int:
        """Return the number of entries."""
        return self._connection.execute(_COUNT).scalar_one()

    def position(self, has_one_zone: bool = False) -> Position:
        """The position of somebody who has read everything that the transaction sees.

        With `has_one_zone` it has all ids below the newest entries in one zone, where some are
        missing. To find each gap takes a tenth of a second where every third id was given out.
        """
        rows = self._connection.execute(_NEWEST).all()
        if not rows:
            return Position.of(0, ())
        entries = [Entry(*row[:4]) for row in reversed(rows)]
        lowest, count = rows[0][4:]
        below = Zone(lowest, entries[0].id, count - len(entries))
        if below.entries == below.end - below.start:
            return Position.of(lowest, entries)
        gaps = [below] if has_one_zone else self._gaps(below.end)
        return Position.of(lowest, entries, gaps)

    def _gaps(self, end: int) -> list[Zone]:
        """The ranges of ids that are missing before an entry."""
        rows = self._connection.execute(_GAPS, {'start': end})
        return [Zone(before + 1, after, 0) for before, after in rows]

    def read(self, position: Position) -> Reading:
        """Read what the feed says now from a position on.

        It is one statement, unless entries are gone or appeared below the head. The server only
        counts the window: with PyMySQL, to read ten entries of it again took a seventh of the time
        of a search.
        """
        statement = _entries_after_head(len(position.zones))
        rows = self._connection.execute(statement, _values(position)).all()
        if not rows[0][0]:
            return self.read_window(position, MAX_ID)
        entries = [row[1:] for row in rows if row[1] is not None]
        return Reading(entries, True, position.lowest, position.in_zones)

    def read_window(self, position: Position, end: int) -> Reading:
        """Read what the feed says now from the window on to an id, whether that has changed."""
        values = {**_values(position), 'end': end}
        rows = self._connection.execute(_entries_from_start(len(position.zones)), values).all()
        lowest, in_zones = rows[0][4:]
        removed = None
        if lowest is not None and lowest > position.lowest:
            ends = {'after': position.lowest, 'end': lowest}
            row = self._connection.execute(_REMOVED, ends).one()
            removed = None if row[0] is None else Removed(*map(int, row))
        entries = [row for row in rows if row[0] is not None]
        return Reading(entries, False, lowest, in_zones, removed)

    def is_unchanged(self, position: Position) -> bool:
        """Return whether the feed is as a position has it, in one statement."""
        statement = _is_unchanged(len(position.zones))
        return bool(self._connection.scalar(statement, _values(position)))

    def used(self, position: Position, provider_ids: Collection[int]) -> UsedAtOneMoment:
        """Read what is used of some providers, and whether nothing was recorded since a position.

        It is one statement for the sake of one moment: under READ COMMITTED each statement has a
        moment of its own.
        """
        values = {**_values(position), 'provider_ids': list(provider_ids)}
        rows = self._connection.execute(_used_at_one_moment(len(position.zones)), values).all()
        used: dict[int, dict[str, int]] = {provider_id: {} for provider_id in provider_ids}
        for _is_unchanged, provider_id, resource_class, amount in rows:
            if provider_id is not None:
                used[provider_id][resource_class] = amount
        return UsedAtOneMoment(used, bool(rows[0][0]))


def _values(position: Position) -> dict[str, Any]:
    values = {
        'start': position.start,
        'head': position.head,
        'lowest': position.lowest,
        'token': position.token,
        'in_window': len(position.window),
        'in_zones': position.in_zones,
    }
    for number, zone in enumerate(position.zones):
        values |= {f'start_{number}': zone.start, f'end_{number}': zone.end}
    return values
