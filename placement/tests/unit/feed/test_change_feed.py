# SPDX-License-Identifier: Apache-2.0
"""The change feed: what is recorded in it, what is read from it, what is removed."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import tables
from placement.db.schema.own_tables import change_feed as feed
from placement.db.schema.own_tables import removed_changes
from placement.feed import change_feed, position
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import News, Position, Reload, Zone
from placement.tests.unit.feed.conftest import prune

Rows = Callable[..., list[tuple[object, ...]]]

# Every feed begins with this entry, which is about no provider.
FIRST = (1, 0)


# What an entry has besides.
ENTRY = {'at': tables.utcnow(), 'allocations_only': False}


def record(database: Database, *provider_ids: int, allocations_only: bool = False) -> None:
    with database.writer() as connection:
        ChangeFeed(connection).record(provider_ids, allocations_only)


def write(database: Database, *ids: int) -> None:
    """Insert entries with these ids, about a provider of ten times the number."""
    rows = [{'id': i, 'provider_id': 10 * i, **ENTRY, 'token': i} for i in ids]
    with database.writer() as connection:
        connection.execute(sa.insert(feed), rows)


def position_in(database: Database) -> Position:
    with database.consistent_reader() as connection:
        return ChangeFeed(connection).position()


def read_on(database: Database, position: Position) -> News | Reload:
    with database.reader() as connection:
        return position.read_on(ChangeFeed(connection).read(position))


def news_of(database: Database, position: Position) -> list[tuple[int, int]]:
    """Id and provider of the entries that a position has not seen."""
    news = read_on(database, position)
    assert isinstance(news, News), news
    return [(entry.id, entry.provider_id) for entry in news.entries]


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


def test_a_transaction_that_fails_records_nothing(database: Database, rows: Rows) -> None:
    with database.engine.connect() as connection:
        ChangeFeed(connection).record([7])
        connection.rollback()

    assert entries(rows) == [FIRST]


def test_an_entry_says_whether_only_allocations_changed(database: Database) -> None:
    before = position_in(database)
    record(database, 7)
    record(database, 7, 8, allocations_only=True)
    # As workers write that do not know the column.
    write(database, 5)

    news = read_on(database, before)
    assert isinstance(news, News)
    assert [entry[:3] for entry in news.entries] == [
        (2, 7, False),
        (3, 7, True),
        (4, 8, True),
        (5, 50, False),
    ]


def test_entries_of_one_transaction_have_one_token_and_others_have_others(
    database: Database, rows: Rows
) -> None:
    record(database, 7, 8)
    record(database, 7)

    first, second, third = (token for (token,) in rows(feed.c.token)[1:])
    assert first == second != third
    assert isinstance(third, int)
    assert third < 2**63


# What is read


def test_a_position_reads_what_was_recorded_since(database: Database) -> None:
    before = position_in(database)
    record(database, 7, 3)
    record(database, 7)

    news = read_on(database, before)
    assert isinstance(news, News)
    assert [entry.id for entry in news.entries] == [2, 3, 4]
    assert news_of(database, news.position) == []
    record(database, 9)
    assert news_of(database, news.position) == [(5, 9)]


def interleave(database: Database, count: int) -> int:
    """Insert so many entries under every third id, as one node of a Galera cluster does; the
    last of their ids."""
    ids = range(4, 4 + 3 * count, 3)
    write(database, *ids)
    return ids[-1]


@pytest.mark.parametrize('place', [0, 50, position.MAX_WINDOW - 2])
def test_an_entry_that_fills_any_gap_of_the_window_is_news(database: Database, place: int) -> None:
    last = interleave(database, 2 * position.MAX_WINDOW)
    before = position_in(database)
    filled = before.window[place] + 1
    write(database, filled, last + 5)

    assert news_of(database, before) == [(i, 10 * i) for i in (filled, last + 5)]


@pytest.mark.parametrize('place', [2, 299])
def test_an_entry_that_fills_a_gap_below_the_window_makes_workers_reload(
    database: Database, place: int
) -> None:
    interleave(database, 2 * position.MAX_WINDOW)
    before = position_in(database)
    assert place < before.start
    assert news_of(database, before) == []
    write(database, place)

    assert read_on(database, before) is Reload.LATE
    assert news_of(database, position_in(database)) == []


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


def test_a_position_with_one_zone_has_all_gaps_in_it(database: Database) -> None:
    interleave(database, 2 * position.MAX_WINDOW)
    with database.consistent_reader() as connection:
        broad = ChangeFeed(connection).position(has_one_zone=True)
    exact = position_in(database)

    assert broad.narrowed(10**6) == exact.narrowed(10**6)
    assert broad.zones[0].start == 1
    (zone,) = broad.narrowed(256).zones
    assert zone.entries == 1 + sum(4 <= i < zone.end for i in range(4, 10**4, 3))


@pytest.mark.parametrize('count', [0, 1, position.MAX_WINDOW, 3 * position.MAX_WINDOW])
def test_a_position_is_read_on_by_one_statement(
    database: Database, statements: list[str], count: int
) -> None:
    interleave(database, count + 1)
    before = position_in(database)
    statements.clear()
    assert news_of(database, before) == []

    (statement,) = [one for one in statements if one.startswith('SELECT')]
    assert statement.count('?') <= 8 + 2 * position.MAX_ZONES


@pytest.mark.parametrize('missing', [{10**6}, {3}])
def test_a_window_is_not_read_again_while_it_is_unchanged(
    database: Database, monkeypatch: pytest.MonkeyPatch, missing: set[int]
) -> None:
    write(database, *({2, 3, 4} - missing))
    before = position_in(database)
    monkeypatch.delattr(ChangeFeed, 'read_window')

    assert news_of(database, before) == []
    write(database, 5, 6)
    assert news_of(database, before) == [(5, 50), (6, 60)]


@pytest.mark.parametrize('token', [3, 4 + 2**40, 2**63 - 1, 0])
def test_a_head_with_another_token_is_of_another_database(database: Database, token: int) -> None:
    write(database, 2, 3, 4)
    before = position_in(database)
    with database.writer() as connection:
        connection.execute(sa.update(feed).where(feed.c.id == 4).values(token=token))

    assert read_on(database, before) is Reload.OTHER


def test_an_empty_feed_has_no_position_to_read_on_from(database: Database) -> None:
    with database.writer() as connection:
        connection.execute(sa.delete(feed))
    before = position_in(database)

    assert read_on(database, before) is Reload.EMPTY
    record(database, 7)
    assert read_on(database, before) is Reload.EMPTY
    assert news_of(database, position_in(database)) == []


# What is used


def allocate(database: Database, *rows: tuple[int, str, int]) -> None:
    """Insert allocations of an amount of a class of a provider, by any consumer."""
    with database.writer() as connection:
        connection.exec_driver_sql('PRAGMA defer_foreign_keys = ON')
        for provider_id, resource_class, used in rows:
            class_id = sa.select(tables.resource_classes.c.id).filter_by(name=resource_class)
            connection.execute(
                sa.insert(tables.allocations).values(
                    resource_provider_id=provider_id,
                    consumer_id='consumer',
                    resource_class_id=class_id.scalar_subquery(),
                    used=used,
                )
            )


@pytest.mark.parametrize('gaps', [0, 3 * position.MAX_WINDOW])
def test_what_is_used_is_read_with_whether_the_feed_changed(database: Database, gaps: int) -> None:
    with database.writer() as connection:
        connection.execute(
            sa.insert(tables.resource_classes),
            [{'id': 0, 'name': 'VCPU'}, {'id': 9, 'name': 'CUSTOM_GOLD'}],
        )
        connection.execute(
            sa.insert(tables.resource_providers),
            [{'id': i, 'uuid': str(i), 'name': str(i)} for i in (3, 4, 7)],
        )
    allocate(database, (7, 'VCPU', 2**31 - 1), (7, 'VCPU', 2), (7, 'CUSTOM_GOLD', 3))
    allocate(database, (3, 'VCPU', 4), (4, 'VCPU', 5))
    if gaps:
        interleave(database, gaps)
    before = position_in(database)

    def used(*provider_ids: int) -> change_feed.UsedAtOneMoment:
        with database.reader() as connection:
            return ChangeFeed(connection).used(before, provider_ids)

    amounts = {3: {'VCPU': 4}, 7: {'VCPU': 2**31 + 1, 'CUSTOM_GOLD': 3}, 8: {}}
    assert used(3, 7, 8) == (amounts, True)
    assert used(8) == ({8: {}}, True)
    record(database, 7)
    assert used(3, 7, 8) == (amounts, False)


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
    with database.writer() as connection:
        connection.execute(sa.delete(feed))
        ChangeFeed(connection).prune()
    record(database, 9)

    assert entries(rows) == [(4, 9)]


def test_a_record_prunes_by_chance(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, 'PRUNE_ONE_IN', 1)
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
    change_feed.keep(database.engine, max_ids)
    write(database, *range(2, 21))
    at = tables.utcnow() - datetime.timedelta(seconds=seconds)
    with database.writer() as connection:
        connection.execute(sa.update(feed).where(feed.c.id == 9).values(at=at))
    prune(database)

    assert (entries(rows)[0] == FIRST) == is_kept
    noted = [] if is_kept else [(1, 10, 9)]
    columns = removed_changes.c
    assert rows(columns.start_id, columns.end_id, columns.entries) == noted


def test_what_was_removed_is_noted_once_and_for_the_last_blocks(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'MAX_REMOVED', 2)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 3)
    with database.writer() as connection:
        # As a database that was restored to an earlier state may have it.
        row = {'start_id': 0, 'end_id': 10, 'entries': 1}
        connection.execute(sa.insert(removed_changes), row)
    write(database, *range(2, 61))
    for _ in range(5):
        prune(database)

    columns = removed_changes.c
    assert rows(columns.end_id, columns.entries) == [(30, 10), (40, 10), (50, 10)]
