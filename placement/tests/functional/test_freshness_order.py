# SPDX-License-Identifier: Apache-2.0
"""In whatever order ids of the feed are given out, committed and pruned, nothing is overlooked."""

import collections
import concurrent.futures
import datetime
import itertools
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema.own_tables import change_feed
from placement.feed import change_feed as change_feed_module
from placement.feed import position as position_module
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import Position, Reload

# How many workers search; each remembers a position of its own.
WORKERS = 3

# How many transactions run at a time.
MAX_RUNNING = 6

# How many sequences of events each test tries on one database.
EXAMPLES = int(os.environ.get('PLACEMENT_TEST_EXAMPLES', '40'))


# What happens, to whom or for how long.
HAPPENINGS = st.tuples(
    st.sampled_from(
        [
            *['begin'] * 8,
            *['commit'] * 6,
            *['search'] * 4,
            *['roll_back', 'prune', 'prune', 'shift_clock', 'back_up', 'restore', 'empty'],
        ]
    ),
    st.integers(0, 40),
)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(create_engine(url))
    yield database
    database.dispose()


class Cluster:
    """Nodes with transactions that write one entry each, and workers that search.

    They write as the engine does, since `Database.writer` would leave entries of its own.

    Each node leaves out the ids of the others, and goes on from what was committed anywhere. A
    transaction may run for as long as it likes.
    """

    def __init__(self, database: Database, nodes: int) -> None:
        self.database = database
        self.nodes = nodes
        self.now = datetime.datetime(2026, 1, 1)
        #: The newest id that was given out, by node.
        self.given = [0] * nodes
        #: Which transactions run, by the id of their entry.
        self.running: list[int] = []
        #: The state of the database: everything that was ever committed, pruned or not.
        self.committed: frozenset[tuple[int, int]] = frozenset()
        #: Entries that were removed and appended again with another id.
        self.replaced: frozenset[tuple[int, int]] = frozenset()
        self.backup: tuple[list[dict[str, Any]], frozenset[tuple[int, int]], list[int]] | None
        self.backup = None
        self.tokens = itertools.count(1)
        #: How news were found.
        self.found: collections.Counter[str] = collections.Counter()
        with database.engine.begin() as connection:
            connection.execute(sa.delete(change_feed))
        self.begin(0)
        self.commit(0)
        self.positions: list[Position] = []
        self.seen: list[frozenset[tuple[int, int]]] = []
        for _ in range(WORKERS):
            self.positions.append(self.load())
            self.seen.append(self.committed)

    def begin(self, number: int) -> None:
        if len(self.running) == MAX_RUNNING:
            return
        node = number % self.nodes
        above = max([self.given[node], *(one for one, _token in self.committed)])
        ids = range(above + 1, above + 1 + self.nodes)
        self.given[node] = next(one for one in ids if one % self.nodes == node)
        self.running.append(self.given[node])

    def commit(self, number: int) -> None:
        if self.running:
            entry = {'id': self._end(number), 'token': next(self.tokens)}
            with self.database.engine.begin() as connection:
                connection.execute(
                    sa.insert(change_feed), {**entry, 'provider_id': 7, 'at': self.now}
                )
            self.committed |= {(entry['id'], entry['token'])}

    def roll_back(self, number: int) -> None:
        if self.running:
            self._end(number)

    def _end(self, number: int) -> int:
        """Any that runs, mostly an older one: its id."""
        return self.running.pop(number % min(3, len(self.running)))

    def prune(self, _number: int) -> None:
        with self.database.engine.begin() as connection:
            before = self._entries(connection)
            self._count_from_the_highest(connection)
            ChangeFeed(connection).prune()
            # What a block had that was removed before is appended again.
            after = self._entries(connection)
        added = after - before
        if added:
            self.replaced |= before - after
        self.committed |= added
        self.given = [max([given, *(one for one, _token in added)]) for given in self.given]

    def _count_from_the_highest(self, connection: sa.Connection) -> None:
        """Let the database give out no id that a transaction has which runs."""
        highest = max([*self.given, *(one for one, _token in self.committed)])
        if connection.dialect.name == 'postgresql':
            sequence = sa.func.pg_get_serial_sequence(change_feed.name, 'id')
            connection.execute(sa.select(sa.func.setval(sequence, highest)))
            return
        row = {'id': highest + 1, 'provider_id': 7, 'at': self.now}
        connection.execute(sa.insert(change_feed), row)
        connection.execute(sa.delete(change_feed).where(change_feed.c.id == highest + 1))

    def _entries(self, connection: sa.Connection) -> frozenset[tuple[int, int]]:
        rows = connection.execute(sa.select(change_feed.c.id, change_feed.c.token))
        return frozenset((entry_id, token) for entry_id, token in rows)

    def shift_clock(self, number: int) -> None:
        """Let the clocks of writers jump forth and back."""
        self.now += datetime.timedelta(seconds=1000 * (number - 20))

    def empty(self, number: int) -> None:
        """Remove all entries by hand, seldom."""
        if number == 0:
            with self.database.engine.begin() as connection:
                connection.execute(sa.delete(change_feed))

    def back_up(self, _number: int) -> None:
        """Copy the database while nothing runs, so that what commits later has higher ids."""
        if self.running:
            return
        with self.database.fresh_reader() as connection:
            rows = [dict(row._mapping) for row in connection.execute(sa.select(change_feed))]
        self.backup = rows, self.committed, list(self.given)

    def restore(self, _number: int) -> None:
        """Go back to the last copy; what runs is lost, and ids are given out again."""
        if self.backup is None:
            return
        rows, self.committed, given = self.backup
        self.given, self.running = list(given), []
        with self.database.engine.begin() as connection:
            connection.execute(sa.delete(change_feed))
            if rows:
                connection.execute(sa.insert(change_feed), rows)

    def load(self) -> Position:
        with self.database.consistent_reader() as connection:
            return ChangeFeed(connection).position()

    def search(self, number: int) -> None:
        """Read on as a worker does, and assert that this tells of all that was committed."""
        worker = number % WORKERS
        position, seen = self.positions[worker], self.seen[worker]
        with self.database.fresh_reader() as connection:
            feed = ChangeFeed(connection)
            is_unchanged = feed.used(position, [7]).is_unchanged
            news = position.read_on(feed.read(position))
        if isinstance(news, Reload):
            # Only the statement that reads entries compares tokens.
            assert not is_unchanged or news is Reload.OTHER
            self.found[news.name] += 1
            self.positions[worker] = self.load()
        else:
            assert is_unchanged == (not news.entries)
            found = {(entry.id, entry.token) for entry in news.entries}
            assert self.committed - self.replaced <= seen | found <= self.committed
            self.found['news'] += bool(found)
            self.positions[worker] = news.position
        self.seen[worker] = self.committed


@pytest.mark.parametrize('window', [2, 10])
@pytest.mark.parametrize('nodes', [1, 3])
def test_each_search_sees_whatever_was_committed_before(
    database: Database, nodes: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_module, 'MAX_WINDOW', window)
    monkeypatch.setattr(position_module, 'MAX_ZONES', 2)
    monkeypatch.setattr(position_module, 'BLOCK', 12 * nodes)
    monkeypatch.setattr(change_feed_module, 'MAX_LATE', 3)
    monkeypatch.setattr(
        change_feed_module, '_NEWEST', change_feed_module._NEWEST.limit(None).limit(window)
    )
    found: collections.Counter[str] = collections.Counter()

    @hypothesis.settings(max_examples=EXAMPLES)
    @hypothesis.given(st.lists(HAPPENINGS, min_size=80, max_size=200))
    def run(happenings: list[tuple[str, int]]) -> None:
        cluster = Cluster(database, nodes)
        searches = [('search', worker) for worker in range(WORKERS)]
        for name, number in [*happenings, *searches]:
            getattr(cluster, name)(number)
        found.update(cluster.found)

    run()
    # Whether anybody searches while the feed is empty is left to chance.
    assert set(found) >= {'news', 'LATE', 'OTHER', 'PRUNED'}


def test_a_statement_sees_one_moment_in_all_of_its_parts(database: Database) -> None:
    """Or what is committed between a count and a sum would be in the one and not in the other."""
    pause = {'mysql': 'SLEEP(1)', 'postgresql': 'LENGTH(CAST(pg_sleep(1) AS text))'}.get(
        database.engine.dialect.name
    )
    if pause is None:
        pytest.skip('SQLite cannot wait within a statement')
    count = f'SELECT COUNT(*) FROM {change_feed.name}'
    has_begun = threading.Event()

    def read() -> list[int]:
        with database.fresh_reader() as connection:
            connection.scalar(sa.text(count))
            has_begun.set()
            statement = sa.text(f'{count} UNION ALL SELECT {pause} UNION ALL {count}')
            return list(connection.scalars(statement))

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        has_begun.wait()
        time.sleep(0.3)
        with database.writer() as connection:
            ChangeFeed(connection).record([7])
        before, _pause, after = reading.result()
    assert before == after
