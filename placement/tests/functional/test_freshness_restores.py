# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a database, each search of each worker equals a fresh load.

Writers change anything at random, transactions run for as long as they like, clocks jump, the
feed is emptied and pruned, and the database goes back to an earlier state, under workers that go
on.
"""

import collections
import datetime
import math
import random
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables
from placement.db.schema.own_tables import change_feed
from placement.feed import change_feed as change_feed_module
from placement.feed import commit_outcome, position
from placement.feed.change_feed import ChangeFeed
from placement.feed.keeper import SnapshotKeeper
from placement.objects.resource_class import ResourceClass
from placement.objects.resource_provider import ResourceProvider
from placement.tests.thorough import examples
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import databases, freshness
from .test_restored_database import restore

SEEDS = range(examples(4))
STEPS = 120
WORKERS = 3
HOSTS = tuple(f'host{number}' for number in range(4))
# Only transactions that run for long change these.
SLOW_HOSTS = ('slow0', 'slow1')
CONSUMERS = tuple(f'server{number}' for number in range(5))


class World:
    """A database, workers that search, and everything that can happen to them."""

    def __init__(self, stored: databases.Database, seed: int) -> None:
        self.stored = stored
        self._random = random.Random(seed)
        self._databases = [Database(create_engine(stored.url)) for _ in range(1 + WORKERS)]
        self.cloud = Cloud(self._databases[0])
        for host in (*HOSTS, *SLOW_HOSTS):
            self.cloud.add(host, VCPU=50)
        # How much later than now it is, for writers and for workers.
        self.shift = datetime.timedelta()
        self.keepers = [
            SnapshotKeeper(database, audit_interval=math.inf, clock=self._clock)
            for database in self._databases[1:]
        ]
        self.backup = stored.contents()
        self._running: dict[str, sa.Connection] = {}
        #: How often each event happened, and what workers did not see.
        self.events: collections.Counter[str] = collections.Counter()
        self.stale: list[str] = []

    def _clock(self) -> float:
        return self.shift.total_seconds()

    def utcnow(self) -> datetime.datetime:
        """The time of writers."""
        return tables.utcnow() + self.shift

    def run(self) -> None:
        """Let one event after the other happen, and compare what workers see."""
        # So that restores happen, but leave time for everything else.
        writes = [self.claim, self.release, self.give, self.add, self.destroy, self.move]
        others = [
            self.begin, self.commit, self.roll_back, self.shift_clocks, self.prune,
            self.back_up, self.restore, self.write_name,
        ]  # fmt: skip
        for _ in range(STEPS):
            event = self._random.choice(writes * 3 + others * 2 + [self.empty])
            try:
                event()
            except errors.PlacementError:
                continue
            self.events[event.__name__] += 1
            if self._random.random() < 0.6:
                self.compare(event.__name__, self._random.choice(self.keepers))
        for keeper in self.keepers:
            self.compare('everything', keeper)

    def compare(self, title: str, keeper: SnapshotKeeper) -> None:
        """Compare the snapshot of one worker with what is committed."""
        committed = freshness.loaded(self._databases[0])
        lines = freshness.differences(keeper.current(), committed)
        self.stale += [f'after {title}: {line}' for line in lines]

    def close(self) -> None:
        """Close every connection."""
        for connection in self._running.values():
            connection.close()
        for database in self._databases:
            database.dispose()

    # Writes

    def claim(self) -> None:
        hosts = self._random.sample(HOSTS, 2)
        self.cloud.take(self._random.choice(CONSUMERS), {host: {'VCPU': 1} for host in hosts})

    def release(self) -> None:
        self.cloud.take(self._random.choice(CONSUMERS), {})

    def give(self) -> None:
        self.cloud.give(self._random.choice(HOSTS), VCPU=self._random.randint(20, 60))

    def add(self) -> None:
        name = f'new{self._random.getrandbits(32)}'
        self.cloud.add(name, parent=self._random.choice([None, *HOSTS]), DISK_GB=1)

    def destroy(self) -> None:
        self._any_new().destroy()

    def move(self) -> None:
        provider = self._any_new()
        provider.update(provider.name, uuid_of(self._random.choice(HOSTS)), True)

    def _any_new(self) -> ResourceProvider:
        names = [name for (name,) in self.cloud.rows(tables.resource_providers.c.name)]
        new = [name for name in names if name.startswith('new')]
        return self.cloud.provider(self._random.choice(sorted(new) or HOSTS))

    def write_name(self) -> None:
        """Change something that no search can see."""
        ResourceClass.create(self.cloud.context, f'CUSTOM_{self._random.getrandbits(32)}')

    # Transactions that run for long

    def begin(self) -> None:
        if databases.backend() == 'sqlite':
            # One transaction writes at a time, so none can be overtaken.
            return
        (*free,) = (host for host in SLOW_HOSTS if host not in self._running)
        if not free:
            return
        provider_id = self.cloud.provider(free[0]).id
        connection = self._databases[0].engine.connect()
        self._running[free[0]] = connection
        connection.execute(
            sa.update(tables.inventories)
            .where(tables.inventories.c.resource_provider_id == provider_id)
            .values(total=self._random.randint(60, 10_000))
        )
        ChangeFeed(connection).record([provider_id])

    def commit(self) -> None:
        if self._running:
            _host, connection = self._running.popitem()
            connection.commit()
            connection.close()

    def roll_back(self) -> None:
        if self._running:
            _host, connection = self._running.popitem()
            connection.rollback()
            connection.close()

    def _end_all(self) -> None:
        """End what runs: on InnoDB a DELETE waits for entries that are not yet committed."""
        if databases.backend() == 'mysql':
            while self._running:
                self.commit()

    # What happens to the database

    def shift_clocks(self) -> None:
        self.shift += datetime.timedelta(seconds=self._random.randint(-10_000, 10_000))

    def prune(self) -> None:
        self._end_all()
        with self._databases[0].writer() as connection:
            ChangeFeed(connection).prune()

    def empty(self) -> None:
        self._end_all()
        with self._databases[0].writer() as connection:
            connection.execute(sa.delete(change_feed))

    def back_up(self) -> None:
        self.backup = self.stored.contents()

    def restore(self) -> None:
        while self._running:
            self.roll_back()
        restore(self.stored, self.cloud, self.backup)


@pytest.fixture
def world(
    stored: databases.Database, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int], World]]:
    """A function that makes the world of a seed."""
    # Every so often old entries are removed, and entries leave the window.
    monkeypatch.setattr(position, 'BLOCK', 40)
    monkeypatch.setattr(change_feed_module, 'MAX_LATE', 3)
    monkeypatch.setattr(change_feed_module, 'PRUNE_ONE_IN', 2**62)
    worlds: list[World] = []

    def make(seed: int) -> World:
        worlds.append(World(stored, seed))
        monkeypatch.setattr(commit_outcome, 'utcnow', worlds[-1].utcnow)
        return worlds[-1]

    yield make
    for one in worlds:
        one.close()


@pytest.mark.parametrize('seed', SEEDS)
def test_each_search_of_each_worker_equals_a_fresh_load(
    world: Callable[[int], World], seed: int
) -> None:
    one = world(seed)
    one.run()
    print(f'seed {seed}: {dict(one.events)}')

    assert one.stale == []
    assert one.events['restore'] > 1
    assert sum(one.events.values()) > STEPS / 2
