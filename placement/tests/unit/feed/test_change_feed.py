# SPDX-License-Identifier: Apache-2.0
"""The change feed: what is recorded in it, what is read from it, what is removed."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema import tables
from placement.db.schema.own_tables import change_feed as feed
from placement.db.schema.own_tables import removed_changes
from placement.feed import change_feed, position, sink
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import News, Position, Reload, Zone
from placement.tests import opened
from placement.tests.functional.fixtures.clocks import turn_clock
from placement.tests.unit.feed.conftest import prune, write

Rows = Callable[..., list[tuple[object, ...]]]

# Every feed begins with this entry, which is about no provider.
FIRST = (1, 0)


def record(database: Database, *provider_ids: int, allocations_only: bool = False) -> None:
    opened.record(database, provider_ids, allocations_only)


def position_in(database: Database) -> Position:
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        return ChangeFeed(connection).position()


def read_on(database: Database, position: Position) -> News | Reload:
    with database.begin(Mode.READ) as connection:
        return position.read_on(ChangeFeed(connection).read(position))


def entries(rows: Rows) -> list[tuple[object, ...]]:
    return rows(feed.c.id, feed.c.provider_id)


# What is recorded


def test_a_transaction_records_each_provider_once_in_order(database: Database, rows: Rows) -> None:
    assert entries(rows) == [FIRST]
    record(database)
    assert entries(rows) == [FIRST]
    before = tables.utcnow()
    record(database, 7, 3, 7)

    assert entries(rows) == [FIRST, (2, 3), (3, 7)]
    times: list[Any] = [at for (at,) in rows(feed.c.at)[1:]]
    assert before <= times[0] == times[1] <= tables.utcnow()


# What is read


def test_gaps_are_zones_of_the_same_size_however_they_were_found(database: Database) -> None:
    before = position_in(database)
    write(database, *range(3, 30))
    for start in range(30, 30 + 3 * position.MAX_WINDOW, 30):
        write(database, *range(start, start + 30))
        news = read_on(database, before)
        assert isinstance(news, News)
        before = news.position

    assert before.zones == (Zone(2, 3, 0),)
    assert before.zones == position_in(database).zones


def interleave(database: Database, count: int) -> int:
    """Insert so many entries under every third id, as one node of a Galera cluster does; the
    last of their ids."""
    ids = range(4, 4 + 3 * count, 3)
    write(database, *ids)
    return ids[-1]


def test_a_position_with_one_zone_has_all_gaps_in_it(database: Database) -> None:
    interleave(database, 2 * position.MAX_WINDOW)
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        broad = ChangeFeed(connection).position(has_one_zone=True)
    exact = position_in(database)

    assert broad.narrowed(10**6) == exact.narrowed(10**6)
    assert broad.zones[0].start == 1
    (zone,) = broad.narrowed(256).zones
    assert zone.entries == 1 + sum(4 <= i < zone.end for i in range(4, 10**4, 3))


# What is removed


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of ten ids; one with two entries or less counts as removed before."""
    monkeypatch.setattr(position, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 2)


@pytest.mark.usefixtures('_small_blocks')
def test_pruning_removes_the_oldest_block_when_a_whole_one_stays(
    database: Database, rows: Rows
) -> None:
    record(database, *range(1, 19))
    prune(database)
    assert len(entries(rows)) == 19
    record(database, 7)
    prune(database)

    assert [entry_id for entry_id, _provider_id in entries(rows)] == [*range(10, 21)]


@pytest.mark.usefixtures('_small_blocks')
def test_pruning_appends_late_entries_of_a_removed_block_again(
    database: Database, rows: Rows
) -> None:
    record(database, *range(1, 20))
    prune(database)
    before = position_in(database)
    write(database, 2)
    prune(database)

    assert entries(rows)[0][0] == 10
    news = read_on(database, before)
    assert isinstance(news, News)
    assert [(entry.id, entry.provider_id) for entry in news.entries] == [(21, 20)]


@pytest.mark.usefixtures('_small_blocks')
def test_a_block_that_another_transaction_removes_meanwhile_is_not_noted_again(
    database: Database, rows: Rows
) -> None:
    record(database, *range(1, 30))

    def remove(connection: Any, cursor: Any, text: str, *_rest: Any) -> None:
        # What another transaction commits, once the ends of the feed have been read.
        if 'deleted_uuid' in text:
            cursor.connection.execute('DELETE FROM placement_provider_changes WHERE id < 10')

    sa.event.listen(database.engine, 'before_cursor_execute', remove)
    prune(database)

    assert [entry_id for entry_id, _provider_id in entries(rows)] == [*range(10, 31)]
    assert rows(removed_changes.c.end_id) == []


def test_ids_do_not_come_back_after_pruning(database: Database, rows: Rows) -> None:
    record(database, 7, 8)
    with database.engine.begin() as connection:
        connection.execute(sa.delete(feed))
        ChangeFeed(connection).prune()
    record(database, 9)

    assert entries(rows) == [(4, 9)]


def test_a_write_prunes_the_feed_now_and_then(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, 'WRITES_BETWEEN', 1)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 0)
    monkeypatch.setattr(position, 'BLOCK', 2)
    record(database, 7, 8, 9, 10)

    assert entries(rows) == [(2, 7), (3, 8), (4, 9), (5, 10)]


@pytest.mark.parametrize(
    ('max_ids', 'seconds', 'is_kept'),
    [(30, 3_800, True), (30, 4_000, False), (20, 3_800, True), (19, 3_800, False)],
)
def test_a_block_that_is_young_stays_within_the_length_that_the_feed_may_have(
    database: Database,
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
    max_ids: int,
    seconds: int,
    is_kept: bool,
) -> None:
    monkeypatch.setattr(position, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 3)
    write(database, *range(2, 21))
    at = tables.utcnow() - datetime.timedelta(seconds=seconds)
    with database.engine.begin() as connection:
        # Those before it are older, whatever the clocks of other workers say.
        connection.execute(sa.update(feed).where(feed.c.id == 4).values(at=at))
        day = datetime.timedelta(days=1)
        elders = feed.c.id.in_([*range(1, 4), *range(5, 10)])
        connection.execute(sa.update(feed).where(elders).values(at=at - day))
    prune(database, max_ids)

    assert (entries(rows)[0] == FIRST) == is_kept
    noted = [] if is_kept else [(1, 10, 9)]
    columns = removed_changes.c
    assert rows(columns.start_id, columns.end_id, columns.entries) == noted


@pytest.mark.parametrize('days', [40, -40])
def test_a_worker_with_a_wrong_clock_removes_no_block_for_its_age(
    database: Database,
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    days: int,
) -> None:
    monkeypatch.setattr(position, 'BLOCK', 10)
    write(database, *range(2, 20))
    turn_clock(monkeypatch, days)
    record(database, 7)
    dates: list[Any] = [at for (at,) in rows(feed.c.at)]
    assert dates[-1] - dates[0] < datetime.timedelta(days=1)
    prune(database, 30)

    assert entries(rows)[0] == FIRST
    assert 'the clock of this worker is 40 days' in caplog.text


def test_what_was_removed_is_noted_once_and_for_the_last_blocks(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'MAX_REMOVED', 2)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 3)
    with database.engine.begin() as connection:
        # As a database that was restored to an earlier state may have it.
        row = {'start_id': 0, 'end_id': 10, 'entries': 1}
        connection.execute(sa.insert(removed_changes), row)
    write(database, *range(2, 61))
    for _ in range(5):
        prune(database)

    columns = removed_changes.c
    assert rows(columns.end_id, columns.entries) == [(30, 10), (40, 10), (50, 10)]
