# SPDX-License-Identifier: Apache-2.0
"""The change feed as somebody outside follows it, from one token to the next.

A follower is told what changed since its token: never too little, and now and then something once
more. `FollowedFeed` is what one transaction sees of that.
"""

import enum
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.schema.own_tables import NO_PROVIDER, change_feed, removed_changes
from placement.feed.follower_position import (
    MAX_LAG_SECONDS,
    NO_ZONE,
    WINDOW,
    Figures,
    FollowerPosition,
    bitmap,
    window_start,
)
from placement.feed.position import Zone

# Ranges of so many ids are counted to find those in which ids are missing.
RANGE = 1_024

# Entries that are read for each provider that an answer may have: mostly a provider has several.
ENTRIES_FOR_EACH = 5

_id = change_feed.c.id
_count = sa.select(sa.func.count(_id))
_HEAD: sa.BindParameter[int] = sa.bindparam('head')
_START: sa.BindParameter[int] = sa.bindparam('start')
_END: sa.BindParameter[int] = sa.bindparam('end')
_ZONE_START: sa.BindParameter[int] = sa.bindparam('zone_start')
_ZONE_END: sa.BindParameter[int] = sa.bindparam('zone_end')
_TOKEN = change_feed.c.token
_LOWEST = sa.select(sa.func.min(_id)).scalar_subquery()

# One row, from the ends of the index, and from the ranges of the window and of the zone.
_FIGURES = sa.select(
    _LOWEST,
    sa.select(sa.func.max(_id)).scalar_subquery(),
    _count.where(_id >= _START).scalar_subquery(),
    sa.select(_TOKEN).where(_id == _HEAD).scalar_subquery(),
    _count.where(_id >= _ZONE_START, _id < _ZONE_END).scalar_subquery(),
)
_COUNT = _count.where(_id >= _START, _id < _END)
# The newest entries, as many as a window may have.
_LATEST = sa.select(_id, _TOKEN, _LOWEST).order_by(_id.desc()).limit(WINDOW)
_IDS = sa.select(_id).where(_id >= _START, _id <= _HEAD)
_ENTRIES = (
    sa.select(_id, change_feed.c.provider_id, change_feed.c.deleted_uuid)
    .where(_id > sa.bindparam('told'))
    .order_by(_id)
    .limit(sa.bindparam('limit'))
)
_REMOVED = sa.select(
    sa.func.sum(removed_changes.c.entries),
    sa.func.min(removed_changes.c.start_id),
    sa.func.max(removed_changes.c.end_id),
).where(removed_changes.c.end_id > _START, removed_changes.c.end_id <= _END)
# Numbers in the text, because a server does not take two parameters for the same expression.
_range_start = (_id - _id % sa.literal_column(str(RANGE))).label('range_start')
_RANGES = (
    sa.select(_range_start, sa.func.count(_id))
    .where(_id >= _START, _id < _END)
    .group_by('range_start')
    .order_by('range_start')
)


class Change(NamedTuple):
    """A provider that changed; with a uuid one that was deleted, or has another uuid now."""

    provider_id: int
    deleted_uuid: str | None


class Told(NamedTuple):
    """Changes since a position, and the position after them."""

    changes: Sequence[Change]
    position: FollowerPosition


class Untold(enum.Enum):
    """Why nothing can be told: what the token knows is not here yet, or it is not here at all."""

    BEHIND = 'behind'
    LOST = 'lost'


class FollowedFeed:
    """The change feed, as a transaction sees it whose statements all see one moment.

    `now` is the time in seconds since 1970.
    """

    def __init__(self, connection: sa.Connection, now: float) -> None:
        self._connection = connection
        self._now = int(now)

    def position(self) -> FollowerPosition:
        """The position of somebody who knows everything that the transaction sees."""
        return self._position()

    def figures(self, position: FollowerPosition) -> Figures:
        """Read the figures that tell if the feed is as a position has it, in one statement."""
        values = {
            'head': position.head,
            'start': position.window_start,
            'zone_start': position.zone.start,
            'zone_end': position.zone.end,
        }
        return Figures(*self._connection.execute(_FIGURES, values).one())

    def is_behind(self, position: FollowerPosition) -> bool:
        """Return whether the transaction sees a moment before that of a position."""
        figures = self.figures(position)
        return (
            not position.is_unchanged(figures) and self._told(position, figures) is Untold.BEHIND
        )

    def read(self, position: FollowerPosition, limit: int) -> Told | Untold:
        """At most so many of the changes since a position, the oldest of them first."""
        figures = self.figures(position)
        told = self._told(position, figures)
        if isinstance(told, Untold):
            return told
        if figures.lowest is None or told < figures.lowest - 1:
            return Untold.LOST
        values = {'told': told, 'limit': limit * ENTRIES_FOR_EACH}
        entries = self._connection.execute(_ENTRIES, values).all()
        changes: dict[Change, None] = {}
        for entry_id, provider_id, uuid in entries:
            if provider_id != NO_PROVIDER:
                changes[Change(provider_id, uuid)] = None
            if len(changes) > limit:
                changes.popitem()
                break
            told = entry_id
        following = self._position(told, position)
        return Told(tuple(changes), following)

    def _told(self, position: FollowerPosition, figures: Figures) -> int | Untold:
        """The id up to which entries were told, below those that have appeared late."""
        lowest, zone = figures.lowest, position.zone
        if lowest is None or not position.head:
            return Untold.LOST
        if figures.token not in (None, position.token):
            return Untold.LOST
        in_zone = figures.in_zone
        if lowest > position.lowest:
            in_zone = self._in_whole_zone(position, figures, lowest)
            if in_zone != zone.entries:
                # What appeared late was removed before anybody could tell.
                return Untold.LOST
        ids = self._window(position.head)
        if not ids >= position.seen_ids or in_zone < zone.entries:
            is_recent = abs(self._now - position.at) < MAX_LAG_SECONDS
            return Untold.BEHIND if is_recent else Untold.LOST
        late = set(ids - position.seen_ids)
        if in_zone > zone.entries:
            late.add(zone.start)
        if lowest < position.lowest:
            late.add(lowest)
        return min([position.told, *(one - 1 for one in late)])

    def _in_whole_zone(self, position: FollowerPosition, figures: Figures, lowest: int) -> int:
        """How many entries a zone has together with those that were removed from it since.

        -1 where that is not known, because nobody noted what was removed, or part of the window
        was. No id was missing below the zone, and between it and the window.
        """
        zone = position.zone
        values = {'start': position.lowest, 'end': lowest}
        entries, first, noted = self._connection.execute(_REMOVED, values).one()
        if first is not None and first < position.lowest:
            # An entry appeared below all others, and was removed with them.
            return -1
        end = lowest if noted is None else int(noted)
        if position.window_start < end:
            return -1
        if zone.start >= end or not zone.end:
            return figures.in_zone
        if noted is None:
            return -1
        full = zone.start - position.lowest + max(0, end - zone.end)
        return figures.in_zone + int(entries) - full

    def _window(self, head: int) -> frozenset[int]:
        """The ids of a window that are there."""
        values = {'start': window_start(head), 'head': head}
        return frozenset(self._connection.scalars(_IDS, values))

    def _position(
        self, told: int | None = None, before: FollowerPosition | None = None
    ) -> FollowerPosition:
        """The position now, where that of before says which ids were missing until then."""
        latest = self._connection.execute(_LATEST).all()
        if not latest:
            return FollowerPosition(0, 0, 0, 0, 0, self._now)
        head, token, lowest = latest[0]
        start, zone = lowest, NO_ZONE
        if before is not None and lowest >= before.lowest:
            # A window is counted once it has ended.
            start = max(lowest, before.window_start)
            zone = before.zone._replace(start=max(lowest, before.zone.start))
        zones = (zone, self._zone(start, window_start(head)))
        return FollowerPosition(
            head=head,
            token=token,
            seen=bitmap(head, frozenset(row[0] for row in latest)),
            lowest=lowest,
            told=head if told is None else told,
            at=self._now,
            zone=self._joined([one for one in zones if one.end > one.start]),
        )

    def _zone(self, start: int, end: int) -> Zone:
        """The least zone, of whole ranges, that has all ids missing from a start to an end."""
        # One count of all takes less than one of each range.
        if end <= start or self._count(start, end) == end - start:
            return NO_ZONE
        rows = self._connection.execute(_RANGES, {'start': start, 'end': end}).all()
        bounds = [(max(one, start), min(one + RANGE, end), count) for one, count in rows]
        for first, last, count in bounds:
            if first != start or count < last - first:
                break
            start = last
        for first, last, count in reversed(bounds):
            if last != end or count < last - first or end <= start:
                break
            end = first
        return Zone(start, end, 0)

    def _joined(self, zones: Sequence[Zone]) -> Zone:
        """One zone of several, with the number of entries that are in it."""
        if not zones:
            return NO_ZONE
        start, end = min(zone.start for zone in zones), max(zone.end for zone in zones)
        entries = self._count(start, end)
        return Zone(start, end, entries) if entries < end - start else NO_ZONE

    def _count(self, start: int, end: int) -> int:
        """How many entries there are from one id to before another."""
        return self._connection.scalar(_COUNT, {'start': start, 'end': end}) or 0
