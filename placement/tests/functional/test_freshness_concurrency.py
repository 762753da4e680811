# SPDX-License-Identifier: Apache-2.0
"""Several threads, and writers that linger: searches see what is committed."""

import concurrent.futures
import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine import sqlite
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import own_tables, tables
from placement.feed.change_feed import ChangeFeed
from placement.objects import aggregate
from placement.objects.trait import TraitList
from placement.search.model.provider import ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.objects.cloud import Cloud, uuid_of
from placement.tests.unit.search.cloud import rows_in

from .fixtures import freshness

HOSTS = tuple(f'host{number}' for number in range(4))


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """The same with some hosts."""
    database = Database(create_engine(url))
    cloud = Cloud(database)
    for host in HOSTS:
        cloud.add(host, VCPU=100)
    yield database
    database.dispose()


def run_all(tasks: list[Callable[[], None]], meanwhile: Callable[[], None]) -> None:
    """Run tasks at a time, and something else again and again until they have ended."""
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        futures = [pool.submit(task) for task in tasks]
        while not all(future.done() for future in futures):
            meanwhile()
        for future in futures:
            future.result()


# Transactions that are held open


class Lingering:
    """A transaction that has written a total for one host, and does not end before this is left.

    Whatever fails meanwhile: it would hold up everybody.
    """

    def __init__(self, database: Database, host: str, total: int) -> None:
        engine = sqlite.writing(database.engine)
        provider_id = Cloud(database).provider(host).id
        self.connection = engine.connect()
        self.connection.execute(
            sa.update(tables.inventories)
            .where(tables.inventories.c.resource_provider_id == provider_id)
            .values(total=total)
        )
        ChangeFeed(self.connection).record([provider_id])

    def __enter__(self) -> 'Lingering':
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def end(self, commits: bool = True) -> None:
        if commits:
            self.connection.commit()
        else:
            self.connection.rollback()


def test_searches_see_what_is_committed_while_many_transactions_linger(
    database: Database,
) -> None:
    # Nobody ends a transaction while what is known is compared with what is committed.
    gate = threading.Lock()
    keeper = freshness.unaudited_keeper(database)
    stale: list[str] = []

    def write(host: str) -> None:
        chance = random.Random(host)
        for _ in range(15):
            with Lingering(database, host, chance.randint(1, 1000)) as lingering:
                time.sleep(chance.random() / 50)
                with gate:
                    lingering.end(commits=chance.random() < 0.75)

    def compare() -> None:
        keeper.current()
        with gate:
            stale.extend(freshness.differences(keeper.current(), freshness.loaded(database)))
        time.sleep(0.001)

    run_all([lambda host=host: write(host) for host in HOSTS], compare)  # type: ignore[misc]
    compare()
    assert stale == []


# Between two statements of a search


@pytest.mark.parametrize('changes_inventory', [False, True])
def test_a_search_sees_one_moment_whatever_commits_between_its_statements(
    database: Database, changes_inventory: bool
) -> None:
    cloud = Cloud(database)
    # Of its own, so that what others ask is not taken for the statements of a search.
    searching = Database(create_engine(database.engine.url.render_as_string(False)))
    keeper = freshness.unaudited_keeper(searching)
    keeper.current()
    # What was committed, from the first to the last.
    moments: list[list[tuple[int, int]]] = []

    def move_server() -> None:
        number = len(moments)
        amount = 10 + number % 50
        cloud.take('server', {h: {'VCPU': amount} for h in (HOSTS[number % 3], HOSTS[3])})
        moments.append(shown(freshness.loaded(database)))
        if changes_inventory and number % 2:
            cloud.give(HOSTS[3], VCPU=100 + number)
            moments.append(shown(freshness.loaded(database)))

    def move_in_between(*arguments: object) -> None:
        if own_tables.change_feed.name in str(arguments[2]):
            move_server()

    sa.event.listen(searching.engine, 'after_cursor_execute', move_in_between)
    for _ in range(20):
        move_server()
        before = len(moments) - 1
        assert shown(keeper.current()) in moments[before:]
        assert len(moments) - 1 > before, 'nothing was committed during the search'
    sa.event.remove(searching.engine, 'after_cursor_execute', move_in_between)

    assert freshness.differences(keeper.current(), freshness.loaded(database)) == []
    searching.dispose()


def shown(known: Snapshot) -> list[tuple[int, int]]:
    """What each host has, and what of it is used."""
    (*hosts,) = map(known.find_by_uuid, map(uuid_of, HOSTS))
    return [
        (capacity.total, used)
        for host in hosts
        if host is not None
        for _name, capacity, used in host.inventories
    ]


# Threads


def test_no_thread_ever_sees_half_a_change(database: Database) -> None:
    cloud = Cloud(database)
    cloud.add('child', parent=HOSTS[0])
    cloud.add('leaf', parent='child', VCPU=100)
    cloud.take('server', {HOSTS[0]: {'VCPU': 10}})
    keeper = freshness.unaudited_keeper(database)
    seen: set[tuple[str, str]] = set()
    held: list[tuple[Snapshot, dict[int, ProviderRow]]] = []

    def numbers(least: int) -> Iterator[int]:
        """So many, and more while readers have seen too little: they may be slow to begin."""
        for number in range(50 * least):
            if number >= least and len(seen) > 4:
                break
            yield number

    def move_server() -> None:
        cloud = Cloud(database)
        for number in numbers(40):
            cloud.take('server', {HOSTS[number % 3]: {'VCPU': 10}, 'leaf': {'VCPU': 10}})

    def move_child() -> None:
        cloud = Cloud(database)
        for number in numbers(40):
            cloud.provider('child').update('child', uuid_of(HOSTS[number % 2]), True)

    def join_and_leave() -> None:
        cloud = Cloud(database)
        for number in numbers(20):
            provider = cloud.provider(HOSTS[3])
            names = ['MISC_SHARES_VIA_AGGREGATE'] if number % 2 else []
            TraitList.replace(cloud.context, provider, names, provider.generation)
            aggregate.replace(cloud.context, provider, [uuid_of(str(number))], None)

    def read() -> None:
        known = keeper.current()
        rows = rows_in(known)
        server = [
            host
            for host in HOSTS
            for row in rows.values()
            if row.uuid == uuid_of(host) and row.inventories['VCPU'].used
        ]
        assert len(server) == 1, server
        child, leaf = (known.find_by_uuid(uuid_of(name)) for name in ('child', 'leaf'))
        assert child is not None
        assert leaf is not None
        assert child.root_id == leaf.root_id == child.parent_id
        assert leaf in known.tree(child.root_id).members
        # What was read before stays as it was, for as long as anybody looks at it.
        held.append((known, rows))
        for older, older_rows in held[-5:]:
            assert rows_in(older) == older_rows
        seen.add((server[0], child.root_uuid))

    writers = [move_server, move_child, join_and_leave]
    is_over = threading.Event()

    def read_on() -> None:
        while not is_over.is_set():
            read()

    with concurrent.futures.ThreadPoolExecutor(3) as readers:
        futures = [readers.submit(read_on) for _ in range(3)]
        try:
            run_all(writers, read)
        finally:
            is_over.set()
        for future in futures:
            future.result()

    assert len(seen) > 4, 'next to nothing was read in between'
    assert freshness.differences(keeper.current(), freshness.loaded(database)) == []
