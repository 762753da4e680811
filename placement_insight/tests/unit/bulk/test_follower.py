# SPDX-License-Identifier: Apache-2.0
"""The changes that followers of the feed get, and the cases in which changes are lost."""

from collections.abc import Collection

import pytest
import sqlalchemy as sa

from placement.db.changes import Changes
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema.own_tables import change_feed as feed
from placement.feed import change_feed, position
from placement.tests.opened import record
from placement.tests.unit.feed.conftest import prune, write
from placement_insight.bulk import follower
from placement_insight.bulk.follower import (
    MAX_LAG_SECONDS,
    Batch,
    Change,
    FollowedFeed,
    FollowerToken,
    Interruption,
)

NOW = 1_000.0
LIMIT = 100


@pytest.fixture(autouse=True)
def _small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, 'WINDOW', 4)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of ten ids, of which one with three entries may have been removed before."""
    monkeypatch.setattr(position, 'BLOCK', 10)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 3)


def remove(database: Database, *ids: int) -> None:
    with database.engine.begin() as connection:
        connection.execute(sa.delete(feed).where(feed.c.id.in_(ids)))


def as_sent(token: FollowerToken) -> FollowerToken:
    """Return the token as the follower has it."""
    return FollowerToken.decoded(token.encoded())


def token_of(database: Database, now: float = NOW) -> FollowerToken:
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        return as_sent(FollowedFeed(connection, now).token())


def read(
    database: Database, since: FollowerToken, limit: int = LIMIT, now: float = NOW
) -> Batch | Interruption:
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        return FollowedFeed(connection, now).read(since, limit)


def changes_since(database: Database, since: FollowerToken) -> tuple[list[int], FollowerToken]:
    """The providers that changed since a position, and the position after them."""
    news = read(database, since)
    assert isinstance(news, Batch), news
    return [change.provider_id for change in news.changes], as_sent(news.token)


def test_one_statement_tells_that_nothing_has_changed(
    database: Database, statements: list[str]
) -> None:
    start = token_of(database)
    assert changes_since(database, start) == ([], start)
    statements.clear()
    with database.begin(Mode.READ) as connection:
        assert FollowedFeed(connection, NOW).is_unchanged(start)

    assert [one[:6] for one in statements if one != 'BEGIN'] == ['SELECT']


def test_each_provider_is_told_once_in_the_order_of_the_entries(database: Database) -> None:
    start = token_of(database)
    record(database, [7, 3])
    record(database, [3, 5], allocations_only=True)

    changed, after = changes_since(database, start)
    assert changed == [3, 7, 5]
    assert changes_since(database, after) == ([], after)


def test_a_deletion_is_told_with_the_uuid_and_entries_about_no_provider_are_not(
    database: Database,
) -> None:
    start = token_of(database)
    record(database, [0, 7])
    changes = Changes()
    with database.begin(Mode.WRITE, changes=changes):
        changes.deleted(7, 'uuid of 7')

    news = read(database, start)
    assert isinstance(news, Batch)
    assert news.changes == (Change(7, None), Change(7, 'uuid of 7'))
    assert news.token.delivered == start.delivered + 3


@pytest.mark.parametrize(
    ('before', 'meanwhile', 'late'),
    [
        ([2, 4], [5], 3),
        # Below the window, and in a window of earlier on.
        ([2, 4, *range(6, 12)], [12], 5),
        ([2, 4], range(5, 40), 3),
    ],
)
def test_an_entry_that_appears_late_is_told(
    database: Database, before: list[int], meanwhile: Collection[int], late: int
) -> None:
    write(database, *before)
    _changed, after = changes_since(database, token_of(database))
    write(database, *meanwhile)
    _changed, after = changes_since(database, after)
    write(database, late)

    changed, after = changes_since(database, after)
    assert 10 * late in changed
    assert changes_since(database, after) == ([], after)


# From 14 on as where a server gives out other ids than those of the backup that it was restored
# from: of the first block there is one entry, which is appended again.
@pytest.mark.parametrize(('first', 'lowest'), [(2, 10), (14, 14)])
@pytest.mark.usefixtures('small_blocks')
def test_followers_that_are_near_do_not_notice_that_old_entries_are_removed(
    database: Database, first: int, lowest: int
) -> None:
    write(database, *range(first, 20))
    start = token_of(database)
    write(database, 20)
    prune(database)

    changed, after = changes_since(database, start)
    assert (changed, after.position.lowest) == ([200], lowest)


@pytest.mark.parametrize('missing', [(3,), (3, 8), (3, 12), (12,), (3, 8, 12, 14)])
@pytest.mark.usefixtures('small_blocks')
def test_followers_with_gaps_do_not_notice_that_old_entries_are_removed(
    database: Database, missing: tuple[int, ...]
) -> None:
    write(database, *({*range(2, 20)} - {*missing}))
    start = token_of(database)
    assert start.position.zones
    write(database, 20, 21)
    prune(database)
    changed, after = changes_since(database, start)
    assert (changed, after.position.lowest) == ([200, 210], 10)
    write(database, *range(22, 30))
    _changed, after = changes_since(database, after)
    write(database, 30)
    prune(database)

    changed, after = changes_since(database, after)
    assert (changed, after.position.lowest) == ([300], 20)


@pytest.mark.parametrize(
    ('before', 'later'),
    [
        (range(2, 9), range(9, 21)),
        # Entries that were late.
        ({*range(2, 20)} - {3, 8}, (3, 20)),
        ({*range(2, 20)} - {3, 8}, (8, 20)),
    ],
)
@pytest.mark.usefixtures('small_blocks')
def test_followers_read_everything_when_entries_were_removed_before_they_saw_them(
    database: Database, before: Collection[int], later: Collection[int]
) -> None:
    write(database, *before)
    start = token_of(database)
    write(database, *later)
    prune(database)

    assert read(database, start) is Interruption.LOST


@pytest.mark.usefixtures('small_blocks')
def test_followers_read_everything_when_entries_of_later_pages_were_removed(
    database: Database,
) -> None:
    start = token_of(database)
    write(database, *range(2, 21))
    page = read(database, start, limit=2)
    assert isinstance(page, Batch)
    prune(database)

    assert read(database, as_sent(page.token)) is Interruption.LOST


@pytest.mark.usefixtures('small_blocks')
def test_followers_read_everything_when_the_lowest_of_all_was_removed_before_they_saw_it(
    database: Database,
) -> None:
    remove(database, 1)
    write(database, *range(5, 40))
    start = token_of(database)
    write(database, 3)
    prune(database)

    assert read(database, start) is Interruption.LOST


def test_followers_read_everything_when_nobody_noted_what_was_removed(database: Database) -> None:
    write(database, *({*range(2, 20)} - {3, 8}))
    start = token_of(database)
    remove(database, *range(1, 10))

    assert read(database, start) is Interruption.LOST


@pytest.mark.parametrize('missing', [8, 6, 2])
def test_a_node_without_entries_that_were_seen_is_behind_for_a_while(
    database: Database, missing: int
) -> None:
    write(database, *range(2, 4), *range(5, 9))
    start = token_of(database)
    remove(database, missing)

    assert read(database, start) is Interruption.BEHIND
    assert read(database, start, now=NOW + MAX_LAG_SECONDS - 1) is Interruption.BEHIND
    assert read(database, start, now=NOW + MAX_LAG_SECONDS) is Interruption.LOST
    assert read(database, start, now=NOW - MAX_LAG_SECONDS) is Interruption.LOST


@pytest.mark.parametrize('missing', [4, 8])
def test_a_node_without_an_entry_that_appeared_late_is_behind(
    database: Database, missing: int
) -> None:
    write(database, *range(2, 14))
    start = token_of(database)
    remove(database, missing)

    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        known = FollowedFeed(connection, NOW)
        assert known.is_behind(start)
        assert not known.is_unchanged(start)


def test_a_node_is_behind_a_position_only_until_it_has_what_that_knows(
    database: Database,
) -> None:
    write(database, 2, 3)
    start = token_of(database)
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        assert not FollowedFeed(connection, NOW).is_behind(start)
    remove(database, 3)
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        assert FollowedFeed(connection, NOW).is_behind(start)
    write(database, 3, 4)
    with database.begin(Mode.READ_ONE_MOMENT) as connection:
        assert not FollowedFeed(connection, NOW).is_behind(start)


def test_nobody_can_follow_an_empty_feed(database: Database) -> None:
    start = token_of(database)
    remove(database, 1)
    empty = token_of(database)

    assert read(database, start) is Interruption.LOST
    assert read(database, empty) is Interruption.LOST
    write(database, 2)
    assert read(database, empty) is Interruption.LOST
