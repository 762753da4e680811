# SPDX-License-Identifier: Apache-2.0
"""Writers between the statements of a search, and in several threads: it sees one moment."""

import concurrent.futures
import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import own_tables
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

    is_over = threading.Event()

    def read_on() -> None:
        while not is_over.is_set():
            read()

    with concurrent.futures.ThreadPoolExecutor(7) as pool:
        readers = [pool.submit(read_on) for _ in range(4)]
        try:
            for writer in [pool.submit(one) for one in (move_server, move_child, join_and_leave)]:
                writer.result()
        finally:
            is_over.set()
        for reader in readers:
            reader.result()

    assert len(seen) > 4, 'next to nothing was read in between'
    assert freshness.differences(keeper.current(), freshness.loaded(database)) == []
