# SPDX-License-Identifier: Apache-2.0
"""The change feed: what is written into it, what is read from it, what is removed."""

import datetime
from collections.abc import Callable, Sequence

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import tables
from placement.feed import changes

Rows = Callable[..., list[tuple[object, ...]]]

# Every feed begins with this entry, which is about no provider.
FIRST = (1, 0)


@pytest.fixture(autouse=True)
def _prune_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, 'PRUNE_ONE_IN', 2**62)


def record(database: Database, *provider_ids: int, allocations_only: bool = False) -> None:
    with database.writer() as connection:
        changes.record(connection, provider_ids, allocations_only)


def write(database: Database, *ids: int, age: int = 0) -> None:
    """Let entries appear under these ids, about a provider of ten times the number."""
    at = tables.utcnow() - datetime.timedelta(seconds=age)
    with database.writer() as connection:
        connection.execute(
            sa.insert(changes.feed), [{'id': i, 'provider_id': 10 * i, 'at': at} for i in ids]
        )


def prune(database: Database, kept: int) -> None:
    with database.writer() as connection:
        changes.prune(connection, kept)


def since(database: Database, last: int, gaps: Sequence[int] = ()) -> list[tuple[int, int]] | None:
    """Id and provider of what is listed, which is the same when sums are read besides."""
    with database.reader() as connection:
        entries = changes.list_since(connection, last, gaps)
        assert changes.list_since_with_used(connection, last, gaps, [70]) == (entries, {})
    return None if entries is None else [(entry.id, entry.provider_id) for entry in entries]


def recent(database: Database, seconds: int) -> list[int]:
    with database.reader() as connection:
        return list(changes.list_recent(connection, datetime.timedelta(seconds=seconds)))


def entries(rows: Rows) -> list[tuple[object, ...]]:
    return rows(changes.feed.c.id, changes.feed.c.provider_id)


def test_a_new_feed_has_one_entry_about_nobody(rows: Rows) -> None:
    assert entries(rows) == [FIRST]


def test_each_provider_is_recorded_once_in_order(database: Database, rows: Rows) -> None:
    record(database, 7, 3, 7)

    assert entries(rows) == [FIRST, (2, 3), (3, 7)]


def test_nothing_is_recorded_of_nobody(database: Database, rows: Rows) -> None:
    record(database)

    assert entries(rows) == [FIRST]


def test_nothing_is_recorded_by_a_transaction_that_fails(database: Database, rows: Rows) -> None:
    with database.engine.connect() as connection:
        changes.record(connection, [7])
        connection.rollback()

    assert entries(rows) == [FIRST]


def test_an_entry_knows_when_it_was_written(database: Database, rows: Rows) -> None:
    before = tables.utcnow()
    record(database, 7)

    ((at,),) = rows(changes.feed.c.at)[1:]
    assert before <= at <= tables.utcnow()  # type: ignore[operator]


def test_an_entry_knows_whether_anything_else_than_allocations_changed(
    database: Database,
) -> None:
    record(database, 7)
    record(database, 7, 8, allocations_only=True)
    # As workers write that do not know the column.
    write(database, 5)

    with database.reader() as connection:
        entries = changes.list_since(connection, 1)
        with_used = changes.list_since_with_used(connection, 1, (), [7])
    assert entries == with_used[0] == [(2, 7, False), (3, 7, True), (4, 8, True), (5, 50, False)]


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


@pytest.mark.parametrize('gaps', [(), (2,), range(2, 3 + changes.MAX_GAPS_NAMED)])
def test_what_is_used_of_some_providers_is_read_with_the_entries(
    database: Database, gaps: Sequence[int]
) -> None:
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
    last = max(gaps, default=5) + 1
    write(database, last, last + 1)

    with database.reader() as connection:
        entries, used = changes.list_since_with_used(connection, last, gaps, [3, 7, 8])
        assert changes.list_since_with_used(connection, last, gaps, []) == (entries, {})
    assert entries == [(last + 1, 10 * (last + 1), False)]
    assert used == {3: {'VCPU': 4}, 7: {'VCPU': 2**31 + 1, 'CUSTOM_GOLD': 3}}


def test_what_was_written_since_is_listed_by_id(database: Database) -> None:
    record(database, 7, 3)
    record(database, 7)

    assert since(database, 1) == [(2, 3), (3, 7), (4, 7)]
    assert since(database, 3) == [(4, 7)]
    assert since(database, 4) == []


def test_what_fills_a_gap_is_listed_and_what_was_read_is_not(database: Database) -> None:
    write(database, 2, 4, 6, 7)

    assert since(database, 6, (3, 5)) == [(7, 70)]
    write(database, 5)
    assert since(database, 6, (3, 5)) == [(5, 50), (7, 70)]
    assert since(database, 7, (3,)) == []


def interleaved(database: Database, count: int) -> tuple[int, list[int]]:
    """Let entries appear under every third id, with so many gaps; the last of them, and the gaps.

    As a node of Galera counts, of three.
    """
    last = 4 + 3 * count // 2
    write(database, *range(4, last + 1, 3))
    return last, [one for one in range(2, last) if one % 3 != 1]


@pytest.mark.parametrize('place', [0, 1, 7, -101, -100, -99, -1])
@pytest.mark.parametrize('gaps', [100, 102, 200, 300])
def test_what_fills_any_of_many_gaps_is_listed(database: Database, gaps: int, place: int) -> None:
    last, missing = interleaved(database, gaps)
    assert since(database, last, missing) == []

    filled = missing[max(place, -len(missing))]
    write(database, filled, last + 5)
    assert since(database, last, missing) == [(i, 10 * i) for i in (filled, last + 5)]
    missing.remove(filled)
    missing += range(last + 1, last + 5)
    assert since(database, last + 5, missing) == []


def test_what_fills_old_and_new_gaps_at_once_is_listed(database: Database) -> None:
    last, missing = interleaved(database, 300)
    filled = [missing[place] for place in (0, 3, 199, 200, 298, 299)]
    write(database, *filled)

    assert since(database, last, missing) == [(i, 10 * i) for i in filled]


def test_many_gaps_are_not_named_and_what_was_read_is_not_read_again(
    database: Database, statements: list[str]
) -> None:
    last, missing = interleaved(database, 3 * changes.MAX_GAPS_NAMED)
    statements.clear()

    def count_rows() -> int:
        with database.reader() as connection:
            question, values = changes._since(last, missing)
            return len(connection.execute(question.alone, values).all())

    # The last one, and the one before the first gap.
    assert count_rows() == 2
    (statement,) = [one for one in statements if one.startswith('SELECT')]
    assert statement.count('?') < 20
    write(database, missing[-1])
    assert count_rows() <= 2 + changes.MAX_GAPS_NAMED


def test_the_feed_is_whole_while_the_last_entry_is_there(database: Database) -> None:
    record(database, 7, 8, 9)
    prune(database, 2)

    assert since(database, 3) == [(4, 9)]
    assert since(database, 2) is None
    assert since(database, 1) is None


def test_an_entry_that_never_was_is_not_the_last(database: Database) -> None:
    write(database, 5)

    assert since(database, 3) is None
    assert since(database, 6) is None
    assert since(database, 6, (3,)) is None


@pytest.mark.parametrize('kept', [1, 4])
def test_the_feed_is_not_whole_when_a_gap_was_pruned(database: Database, kept: int) -> None:
    write(database, 2, 4, 5, 6, 7, 8)
    write(database, 3)
    prune(database, kept)

    # What had filled the gap is gone, and the entry read last is or is not.
    assert since(database, 6, (3,)) is None
    assert since(database, 8, (3,)) is None


@pytest.mark.parametrize('kept', [1, 100, 200, 399, 449])
def test_many_gaps_are_noticed_to_be_pruned_as_well(database: Database, kept: int) -> None:
    last, missing = interleaved(database, 300)
    assert last == 454
    write(database, missing[6], missing[100], missing[200])
    prune(database, kept)

    assert since(database, last, missing) is None


def test_as_many_are_not_the_same_when_some_were_pruned(database: Database) -> None:
    last, missing = interleaved(database, 300)
    assert since(database, last, missing) == []
    # The entries 1, 4 and 7 are gone, and two of those after the first gap; but two are there
    # that were missing.
    write(database, missing[10], missing[12])
    prune(database, last - 7)

    assert since(database, last, missing) is None


def test_a_gap_after_the_pruned_end_is_no_loss(database: Database) -> None:
    write(database, 2, 3, 4, 6, 7)
    prune(database, 4)

    assert since(database, 7, (5,)) == []
    write(database, 5)
    assert since(database, 7, (5,)) == [(5, 50)]


def test_pruning_keeps_the_newest(database: Database, rows: Rows) -> None:
    record(database, 7, 8, 9)
    prune(database, 2)

    assert entries(rows) == [(3, 8), (4, 9)]


@pytest.mark.parametrize('kept', [0, 1])
def test_pruning_keeps_one_at_least(database: Database, rows: Rows, kept: int) -> None:
    record(database, 7)
    prune(database, kept)

    assert entries(rows) == [(2, 7)]


def test_ids_do_not_come_back_after_pruning(database: Database, rows: Rows) -> None:
    record(database, 7, 8)
    with database.writer() as connection:
        connection.execute(sa.delete(changes.feed))
        changes.prune(connection)
    record(database, 9)

    assert entries(rows) == [(4, 9)]


def test_a_record_prunes_by_chance(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, 'PRUNE_ONE_IN', 1)
    monkeypatch.setattr(changes.prune, '__defaults__', (2,))
    record(database, 7, 8, 9)

    assert entries(rows) == [(3, 8), (4, 9)]


def test_recent_are_all_after_the_newest_old_one(database: Database) -> None:
    write(database, 2, 3, age=300)
    write(database, 5, 7)
    write(database, 6, age=200)

    assert recent(database, 100) == [6, 7]
    assert recent(database, 250) == [3, 5, 6, 7]
    assert recent(database, 1000) == [1, 2, 3, 5, 6, 7]


def test_recent_is_never_nothing(database: Database) -> None:
    write(database, 5, age=300)

    assert recent(database, 100) == [5]
