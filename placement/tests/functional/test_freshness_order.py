# SPDX-License-Identifier: Apache-2.0
"""In whatever order ids of the feed are given out, committed and pruned, nothing is overlooked."""

import collections
import concurrent.futures
import datetime
import threading
import time
from collections.abc import Iterator

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables
from placement.feed import changes
from placement.feed.keeper import LONGEST_TRANSACTION, Position

WINDOW = datetime.timedelta(seconds=LONGEST_TRANSACTION)

# What happens, to whom or for how long.
HAPPENINGS = st.tuples(
    st.sampled_from(
        [*['begin'] * 8, *['commit'] * 6, *['search'] * 3, 'roll_back', 'prune', 'wait']
    ),
    st.integers(0, 40),
)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(create_engine(url))
    yield database
    database.dispose()


class Cluster:
    """Nodes with transactions that write one entry each, and a worker that searches.

    Each node leaves out the ids of the others, and goes on from what was committed anywhere.
    """

    def __init__(self, database: Database, nodes: int) -> None:
        self.database = database
        self.nodes = nodes
        self.now = 1000.0
        #: The newest id that was given out, by node.
        self.given = [0] * nodes
        #: When the transactions that run have begun, by id.
        self.running: dict[int, float] = {}
        self.committed: set[int] = set()
        self.seen: set[int] = set()
        #: How many late entries were found in which way, and how often everything was loaded.
        self.found: collections.Counter[str] = collections.Counter()
        with database.writer() as connection:
            connection.execute(sa.delete(changes.feed))
        self.begin(0)
        self.commit(0)
        self.load()

    def time(self, now: float) -> datetime.datetime:
        return datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=now)

    def begin(self, number: int) -> None:
        node = number % self.nodes
        above = max(self.given[node], *self.committed, 0)
        ids = range(above + 1, above + 1 + self.nodes)
        self.given[node] = next(one for one in ids if one % self.nodes == node)
        self.running[self.given[node]] = self.now

    def commit(self, number: int) -> None:
        if self.running:
            entry_id, began = self._end(number)
            with self.database.writer() as connection:
                entry = {'id': entry_id, 'provider_id': 7, 'at': self.time(began)}
                connection.execute(sa.insert(changes.feed), entry)
            self.committed.add(entry_id)

    def roll_back(self, number: int) -> None:
        if self.running:
            self._end(number)

    def _end(self, number: int) -> tuple[int, float]:
        """Any that runs, mostly an older one: its id, and when it began."""
        entry_id = list(self.running)[number % min(3, len(self.running))]
        return entry_id, self.running.pop(entry_id)

    def prune(self, number: int) -> None:
        """Remove old entries, but one stays below all that runs: very many are kept."""
        below = [one for one in self.committed if one < min(self.running, default=one + 1)]
        kept = max(number, max(self.committed) - max(below) + 1)
        with self.database.writer() as connection:
            changes.prune(connection, kept)

    def wait(self, number: int) -> None:
        """Let time pass, and what has run for too long fail."""
        self.now += min(number / 20, 1) * LONGEST_TRANSACTION
        # Other nodes give out lower ids for as long as one is not committed.
        longest = LONGEST_TRANSACTION if self.nodes == 1 else LONGEST_TRANSACTION / 2
        for entry_id, began in list(self.running.items()):
            if self.now - began > longest:
                del self.running[entry_id]

    def load(self) -> None:
        with self.database.consistent_reader() as connection:
            self.position = Position.at(changes.list_recent(connection, WINDOW), self.now)
        self.seen = set(self.committed)

    def search(self, number: int) -> None:
        """Read on as a worker does, and assert that this tells of all that was committed."""
        last, gaps = self.position.last, self.position.gaps
        with self.database.fresh_reader() as connection:
            if number % 2:
                entries, _used = changes.list_since_with_used(connection, last, gaps, [7])
            else:
                entries = changes.list_since(connection, last, gaps)
            feed = set(connection.scalars(sa.select(changes.feed.c.id)))
        if entries is None:
            assert not {last, min(gaps, default=last + 1) - 1} <= feed, 'nothing was pruned'
            self.found['loaded'] += 1
            self.load()
            return
        ids = [entry.id for entry in entries]
        assert ids == sorted(self.committed - self.seen)
        way = 'by counting' if len(gaps) > changes.MAX_GAPS_NAMED else 'by name'
        self.found[way] += sum(entry_id < last for entry_id in ids)
        self.seen |= self.committed
        self.position = self.position.after(ids, self.now).without_gaps_before(
            self.now - LONGEST_TRANSACTION
        )


@pytest.mark.parametrize('most_gaps_named', [1, 4])
@pytest.mark.parametrize('nodes', [1, 3])
def test_each_search_sees_whatever_was_committed_before(
    database: Database, nodes: int, most_gaps_named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, 'MAX_GAPS_NAMED', most_gaps_named)
    found: collections.Counter[str] = collections.Counter()

    @hypothesis.settings(max_examples=40)
    @hypothesis.given(st.lists(HAPPENINGS, min_size=80, max_size=200))
    def run(happenings: list[tuple[str, int]]) -> None:
        cluster = Cluster(database, nodes)
        monkeypatch.setattr(tables, 'utcnow', lambda: cluster.time(cluster.now))
        for name, number in [*happenings, ('search', 0)]:
            getattr(cluster, name)(number)
        found.update(cluster.found)

    run()
    assert found['by counting'], 'no entry was found by counting'
    assert found['loaded'], 'nobody fell behind'


def test_a_statement_sees_one_moment_in_all_of_its_parts(database: Database) -> None:
    """Or what is committed between a count and a sum would be in the one and not in the other."""
    pause = {'mysql': 'SLEEP(1)', 'postgresql': 'LENGTH(CAST(pg_sleep(1) AS text))'}.get(
        database.engine.dialect.name
    )
    if pause is None:
        pytest.skip('SQLite cannot wait within a statement')
    count = f'SELECT COUNT(*) FROM {changes.feed.name}'
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
            changes.record(connection, [7])
        before, _pause, after = reading.result()
    assert before == after
