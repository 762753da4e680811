# SPDX-License-Identifier: Apache-2.0
"""The change feed: the changed providers, as one transaction writes and reads them.

`feed.sink` appends the providers that a transaction changes in any way that a search can see.
Workers continue to read at their last position, so a search costs one small statement however
large the cloud is.
"""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from placement.db.schema.own_tables import change_feed, removed_changes
from placement.db.schema.tables import allocations, resource_classes
from placement.db.statements import clock
from placement.feed.entries import NewEntry, insert_entries
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

LOG = logging.getLogger(__name__)

# A block with at most this number of entries may have been removed before: then transactions that
# were still running at that time appended them.
MAX_LATE = 1_000

# Minimum age in seconds of the youngest entry of a removed block. Followers outside may ask for
# the changes of the last hour.
KEPT_SECONDS = 3_900

# Number of removed blocks whose number of entries is recorded.
MAX_REMOVED = 100

# The highest id that a feed can have.
MAX_ID = 2**63 - 1

# Usage by provider and class, without zeros.
Used = Mapping[int, Mapping[str, int]]

# The parts of a statement that depend on the position.
_START: sa.BindParameter[int] = sa.bindparam('start')
_HEAD: sa.BindParameter[int] = sa.bindparam('head')

_ID = change_feed.c.id
_ENTRY = (_ID, change_feed.c.provider_id, change_feed.c.allocations_only, change_feed.c.token)
_COUNT = sa.select(sa.func.count(_ID))
_LOWEST = sa.select(sa.func.min(_ID)).scalar_subquery()
_HIGHEST = sa.select(sa.func.max(_ID)).scalar_subquery()


def _in_zones(count: int) -> sa.ColumnElement[int]:
    """Number of entries in a number of zones, as part of one statement."""
    total: sa.ColumnElement[int] = sa.literal_column('0', sa.BigInteger)
    for number in range(count):
        start: sa.BindParameter[int] = sa.bindparam(f'start_{number}')
        end: sa.BindParameter[int] = sa.bindparam(f'end_{number}')
        total = total + _COUNT.where(start <= _ID, end > _ID).scalar_subquery()
    return total


def _is_as_read(zones: int) -> sa.ColumnElement[bool]:
    """The condition that the feed up to the head still matches a position with `zones` zones.

    One column, because PyMySQL takes as long to decode the description of a column as a row.
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
    """The statement that tests if the feed matches a position and ends there."""
    return sa.select(sa.and_(_is_as_read(zones), _HIGHEST == _HEAD).label('is_unchanged'))


@functools.cache
def _entries_after_head(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for the entries after the head, and for `_is_as_read`.

    Returns at least one row.
    """
    moment = sa.select(_is_as_read(zones).label('is_as_read')).subquery()
    return sa.select(moment.c.is_as_read, *_ENTRY).select_from(
        moment.outerjoin(change_feed, _HEAD < _ID)
    )


@functools.cache
def _entries_from_start(zones: int) -> sa.Select[*tuple[Any, ...]]:
    """The statement for the entries from the window on, the lowest id, and the count in zones.

    Returns at least one row.
    """
    figures = sa.select(_LOWEST.label('lowest'), _in_zones(zones).label('in_zones')).subquery()
    is_wanted = sa.and_(_START <= _ID, sa.bindparam('end') >= _ID)
    return sa.select(*_ENTRY, *figures.c).select_from(figures.outerjoin(change_feed, is_wanted))


# The usage of some providers by class.
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
    """The statement for the usage, and for `_is_unchanged` at the same moment.

    Returns at least one row.
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

# The newest entries, the lowest id and the number of entries, for the first position.
_NEWEST = (
    sa.select(*_ENTRY, _LOWEST, _COUNT.scalar_subquery()).order_by(_ID.desc()).limit(MAX_WINDOW)
)

_previous = sa.func.lag(change_feed.c.id).over(order_by=change_feed.c.id)
_numbered = sa.select(change_feed.c.id, _previous.label('previous')).subquery()

# Each gap in the ids, by the entries around it.
_GAPS = (
    sa.select(_numbered.c.previous, _numbered.c.id)
    .where(_numbered.c.id > _numbered.c.previous + 1, _numbered.c.id <= _START)
    .order_by(_numbered.c.id)
)


class ChangeFeed:
    """The change feed in the transaction of a connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def prune(self, max_ids: int = 0) -> None:
        """Remove the oldest block, if a whole block of newer ids remains.

        A block younger than `KEPT_SECONDS` stays, unless the feed has `max_ids` ids. Entries that
        appear in a removed block are appended again, because no worker may have read them. The
        feed is kept short because the statements that look for gaps scan all of it.
        """
        ids = sa.select(sa.func.min(change_feed.c.id), sa.func.max(change_feed.c.id))
        lowest, newest = self._connection.execute(ids).one()
        if lowest is None or newest < next_block(next_block(lowest)):
            return
        block_id, end = change_feed.c.id, next_block(lowest)
        in_block = sa.and_(block_id >= lowest, block_id < end)
        if newest - lowest < max_ids and self._is_kept(in_block):
            return
        few = sa.select(block_id, change_feed.c.provider_id, change_feed.c.deleted_uuid)
        entries = self._connection.execute(few.where(in_block).limit(MAX_LATE + 1)).all()
        if not entries:
            # Another transaction has removed and recorded them meanwhile.
            return
        if len(entries) <= MAX_LATE:
            # An entry that appears meanwhile stays until the next call.
            in_block = block_id.in_([entry_id for entry_id, *_again in entries])
            again = {
                NewEntry(provider_id, deleted_uuid=uuid) for _id, provider_id, uuid in entries
            }
            ordered = sorted(
                again, key=lambda entry: (entry.provider_id, entry.deleted_uuid or '')
            )
            insert_entries(self._connection, secrets.randbits(63), ordered)
        removed = self._connection.execute(sa.delete(change_feed).where(in_block)).rowcount
        if removed:
            self._note_removed(lowest, end, removed)

    def _is_kept(self, in_block: sa.ColumnElement[bool]) -> bool:
        """True if the youngest entry of a block is too young to be removed.

        Also True while the clocks of worker and database differ.
        """
        difference = clock.difference(self._connection)
        if difference is not None:
            LOG.warning('Old entries of the change feed are kept, since %s.', difference)
            return True
        bound = clock.earlier(self._connection, KEPT_SECONDS)
        is_young = sa.select(sa.func.max(change_feed.c.at) > bound).where(in_block)
        return bool(self._connection.scalar(is_young))

    def _note_removed(self, start: int, end: int, entries: int) -> None:
        """Record the number of entries in a removed part of the feed, for followers."""
        # A restored database assigns ids again, so there may be a record already.
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
        """The position after everything that the transaction sees.

        With `has_one_zone`, a feed with gaps has one zone of all ids below the newest entries.
        Finding each gap takes long where most ids are gaps, as in a Galera cluster.
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
        """The gaps in the ids before an entry."""
        rows = self._connection.execute(_GAPS, {'start': end})
        return [Zone(before + 1, after, 0) for before, after in rows]

    def read(self, position: Position) -> Reading:
        """Read the feed from a position on.

        One statement, unless entries disappeared, or appeared below the head. The statement counts
        the entries of the window instead of returning them, which saves the driver time.
        """
        statement = _entries_after_head(len(position.zones))
        rows = self._connection.execute(statement, _values(position)).all()
        if not rows[0][0]:
            return self.read_window(position, MAX_ID)
        entries = [row[1:] for row in rows if row[1] is not None]
        return Reading(entries, True, position.lowest, position.in_zones)

    def read_window(self, position: Position, end: int) -> Reading:
        """Read all entries from the window of a position to an id."""
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
        """True if nothing was recorded since a position. One statement."""
        statement = _is_unchanged(len(position.zones))
        return bool(self._connection.scalar(statement, _values(position)))

    def used(self, position: Position, provider_ids: Collection[int]) -> Used | None:
        """Read the usage of some providers, and test that nothing was recorded since a position.

        One statement, so that both are of one moment: under READ COMMITTED each statement sees a
        moment of its own.
        """
        values = {**_values(position), 'provider_ids': list(provider_ids)}
        rows = self._connection.execute(_used_at_one_moment(len(position.zones)), values).all()
        used: dict[int, dict[str, int]] = {provider_id: {} for provider_id in provider_ids}
        for _is_unchanged, provider_id, resource_class, amount in rows:
            if provider_id is not None:
                used[provider_id][resource_class] = amount
        return used if rows[0][0] else None


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
