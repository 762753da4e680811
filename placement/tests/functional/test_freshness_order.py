# SPDX-License-Identifier: Apache-2.0
"""Workers miss no change, in any order in which feed ids are assigned, committed and pruned."""

import collections

import hypothesis
import pytest

from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.feed import change_feed as change_feed_module
from placement.feed import position as position_module
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import News, Position, Reload

from .fixtures.feed_cluster import Cluster, sequences

# How many workers search; each remembers a position of its own.
WORKERS = 3


class Workers(Cluster):
    """Workers that search during transactions that write."""

    def __init__(self, database: Database, nodes: int) -> None:
        super().__init__(database, nodes)
        self.positions = [self.load() for _ in range(WORKERS)]
        self.seen = [self.committed for _ in range(WORKERS)]

    def load(self) -> Position:
        with self.database.begin(Mode.READ_ONE_MOMENT) as connection:
            return ChangeFeed(connection).position()

    def search(self, number: int) -> None:
        """Read on as a worker does, and assert that all committed changes are found."""
        worker = number % WORKERS
        position, seen = self.positions[worker], self.seen[worker]
        with self.database.begin(Mode.READ) as connection:
            feed = ChangeFeed(connection)
            is_unchanged = feed.used(position, [7]) is not None
            news = position.read_on(feed.read(position))
        if isinstance(news, Reload):
            # Only the statement that reads entries compares tokens.
            assert not is_unchanged or news is Reload.OTHER
            self.found[news.name] += 1
            self.positions[worker] = self.load()
        else:
            assert is_unchanged == (news == News((), position))
            found = {(entry.id, entry.token) for entry in news.entries}
            assert self.committed - self.replaced <= seen | found <= self.committed
            self.found['news'] += bool(found)
            self.positions[worker] = news.position
        self.seen[worker] = self.committed


@pytest.mark.parametrize('window', [2, 4, 10])
@pytest.mark.parametrize('nodes', [1, 3])
def test_each_search_sees_whatever_was_committed_before(
    database: Database, nodes: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_module, 'MAX_WINDOW', window)
    monkeypatch.setattr(position_module, 'MAX_ZONES', 2)
    monkeypatch.setattr(position_module, 'BLOCK', 9 + 3 * nodes)
    monkeypatch.setattr(change_feed_module, 'MAX_LATE', 3)
    monkeypatch.setattr(
        change_feed_module, '_NEWEST', change_feed_module._NEWEST.limit(None).limit(window)
    )
    found: collections.Counter[str] = collections.Counter()

    # Fewer do not have each kind of news.
    @hypothesis.settings(max_examples=40)
    @hypothesis.given(sequences(search=4))
    def run(events: list[tuple[str, int]]) -> None:
        cluster = Workers(database, nodes)
        searches = [('search', worker) for worker in range(WORKERS)]
        for name, number in [*events, *searches]:
            getattr(cluster, name)(number)
        found.update(cluster.found)

    run()
    # Whether anybody searches while the feed is empty is left to chance, and with a large window
    # whether an entry is late or pruned.
    usual = {'news', 'OTHER'} if window == 10 else {'news', 'LATE', 'OTHER', 'PRUNED'}
    assert set(found) >= usual
