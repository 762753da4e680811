# SPDX-License-Identifier: Apache-2.0
"""Positions in the change feed: new entries, remembered gaps, and reloads of a worker."""

from collections.abc import Collection

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.feed import position as position_module
from placement.feed.position import Entry, News, Position, Reading, Reload, Removed, Zone
from placement.tests.thorough import examples


def entries(*ids: int, token: int = 1) -> tuple[Entry, ...]:
    return tuple(Entry(entry_id, 10 * entry_id, False, token) for entry_id in ids)


def at(*ids: int) -> Position:
    """The position after reading these entries, in a feed that begins with them."""
    return Position.of(ids[0], entries(*ids))


def answer(position: Position, present: Collection[int]) -> Reading:
    """The answer of a database whose feed has these entries."""
    return Reading(
        entries(*sorted(one for one in present if one >= position.start)),
        False,
        min(present, default=None),
        sum(zone.start <= one < zone.end for one in present for zone in position.zones),
    )


def read_on(position: Position, *present: int) -> Position:
    news = position.read_on(answer(position, present))
    assert isinstance(news, News)
    return news.position


def test_the_window_begins_before_the_oldest_gap() -> None:
    position = read_on(at(1), 1, 2, 3, 5, 6)
    position = read_on(position, 1, 2, 3, 5, 6, 7, 8)

    assert position.window == (3, 5, 6, 7, 8)
    position = read_on(position, *range(1, 10))
    assert position.window == (4, 5, 6, 7, 8, 9)


def test_a_gap_that_leaves_the_window_becomes_a_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_module, 'MAX_WINDOW', 3)
    position = read_on(at(1), 1, 3, 4, 5, 6)

    assert position.window == (4, 5, 6)
    assert position.zones == (Zone(2, 3, 0),)
    position = read_on(position, 1, 3, 4, 5, 6, 9, 10, 11, 12)
    assert position.zones == (Zone(2, 3, 0), Zone(7, 9, 0))


def test_the_nearest_zones_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_module, 'MAX_ZONES', 2)
    zones = [Zone(2, 3, 0), Zone(9, 10, 0), Zone(12, 14, 0), Zone(16, 17, 0)]
    position = Position.of(1, entries(20, 21), zones)

    assert position.zones == (Zone(2, 3, 0), Zone(9, 17, 4))
    assert position.in_zones == 4


@pytest.mark.parametrize(
    ('present', 'reason'),
    [
        ([], Reload.OTHER),
        (range(1, 19), Reload.OTHER),
        ([*range(1, 19), 20], Reload.OTHER),
        ([*range(1, 15), *range(16, 21)], Reload.OTHER),
        (range(100, 200), Reload.OTHER),
        (range(21), Reload.LATE),
    ],
)
def test_a_feed_that_cannot_be_read_on_makes_a_worker_reload(
    present: Collection[int], reason: Reload
) -> None:
    position = at(*range(1, 20))

    assert position.read_on(answer(position, present)) is reason


def test_a_removed_block_is_nothing_to_a_worker_that_has_read_every_id() -> None:
    position = at(*range(1, 20))
    position = read_on(position, *range(8, 21))

    assert (position.lowest, position.window) == (8, (20,))
    assert position.read_on(answer(position, range(15, 21))) is Reload.PRUNED


def test_a_removed_block_makes_a_worker_reload_that_misses_ids_below_its_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(position_module, 'MAX_WINDOW', 2)
    position = at(1, *range(3, 20))
    assert position.zones

    assert position.read_on(answer(position, [1, *range(3, 20)])) == News((), position)
    removed = Reading(entries(18, 19), False, 8, position.in_zones)
    assert position.read_on(removed) is Reload.PRUNED
    # Even where the number of removed entries tells that it has read all of them.
    assert position.read_on(removed._replace(removed=Removed(1, 8, 6))) is Reload.PRUNED


@pytest.mark.parametrize(
    ('lowest', 'zone', 'missed'),
    [
        (1, Zone(15, 16, 0), set()),
        (10, Zone(25, 26, 0), set()),
        # An entry may have appeared below all others, and was removed with them.
        (3, Zone(15, 16, 0), Reload.PRUNED),
        # An entry may have appeared in the zone, and was removed with the others.
        (1, Zone(5, 6, 0), Reload.PRUNED),
    ],
)
def test_entries_removed_by_hand_are_nothing_where_every_one_was_read(
    lowest: int, zone: Zone, missed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_module, 'BLOCK', 10)
    newest = entries(30, 31)
    position = Position.of(lowest, newest, [zone])
    assert position.missed(Reading(newest, False, lowest + 9, 0)) == missed


def test_a_worker_reads_on_after_each_removed_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_module, 'BLOCK', 10)
    position = read_on(at(*range(1, 20)), *range(10, 25))
    position = read_on(position, *range(20, 35))

    assert (position.lowest, position.zones) == (20, ())


@pytest.mark.parametrize('window', [1, 2, 5])
def test_no_order_of_commits_hides_an_entry(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit ids in random order: each new one is read, or makes the worker reload."""
    monkeypatch.setattr(position_module, 'MAX_WINDOW', window)
    monkeypatch.setattr(position_module, 'MAX_ZONES', 2)

    @hypothesis.settings(max_examples=examples(300))
    @hypothesis.given(st.permutations(range(1, 25)), st.lists(st.integers(1, 4)), st.data())
    def run(order: list[int], sizes: list[int], data: st.DataObject) -> None:
        lowest = data.draw(st.integers(1, 3))
        present, seen = {lowest}, {lowest}
        position = at(lowest)
        for size in sizes:
            present |= {order.pop() for _ in range(size) if order}
            news = position.read_on(answer(position, present))
            if isinstance(news, News):
                assert {entry.id for entry in news.entries} == present - seen
                position = news.position
            else:
                assert present != seen
                position = Position.of(min(present), entries(*sorted(present)))
            assert len(position.window) <= max(window, 1)
            assert len(position.zones) <= 2
            seen = set(present)

    run()
