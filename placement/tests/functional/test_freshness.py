# SPDX-License-Identifier: Apache-2.0
"""Searches see exactly the committed data after each of many random requests."""

import random
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from placement.db.changes import Changes
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import migration, own_tables
from placement.db.schema.revisions import OWN
from placement.feed import sink
from placement.feed.entries import NewEntry
from placement.feed.keeper import SnapshotKeeper
from placement.microversions import NEWEST
from placement.tests.opened import database_on
from placement.tests.thorough import examples
from placement.tests.unit.objects.cloud import Cloud
from placement.tests.unit.search.cloud import contents

from .fixtures import applications, freshness
from .fixtures.client import Answer, Client
from .fixtures.clouds import uuid_of
from .fixtures.freshness_workload import AGGREGATES, PROVIDERS, Workload

STEPS = examples(300)

SEARCHES = (
    'resources=VCPU:2',
    'resources=VCPU:1,DISK_GB:2&limit=3',
    'resources=DISK_GB:5&required=!CUSTOM_FAST',
    f'resources=VCPU:1&member_of=in:{AGGREGATES[0]},{AGGREGATES[1]}',
    f'resources=VCPU:1&in_tree={uuid_of(PROVIDERS[0])}',
    f'resources=VCPU:1&in_tree={uuid_of(PROVIDERS[1])}',
    'resources_A=VCPU:1&resources_B=DISK_GB:1&group_policy=isolate',
    'resources=CUSTOM_GOLD:1',
    'resources=CUSTOM_SILVER:1&root_required=HW_CPU_X86_AVX',
)


HOSTS = tuple(f'host{number}' for number in range(4))


def search(client: Client, query: str) -> Answer:
    return client.send('GET', f'/allocation_candidates?{query}', version=NEWEST)


def test_searches_go_on_beside_a_writer_that_feeds_nothing(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    chance, entries_of = random.Random(5), sink.entries_of

    def some_or_none(changes: Changes) -> list[NewEntry]:
        return entries_of(changes) if chance.random() < 0.7 else []

    monkeypatch.setattr(sink, 'entries_of', some_or_none)
    now = 0.0
    with applications.serving(url) as client:
        connections = client.database
        workload = Workload(client, seed=5)
        keeper = SnapshotKeeper(connections, audit_interval=100, clock=lambda: now)
        for number in range(STEPS):
            workload.step()
            # Nobody can know what was not told; but whatever is known can be searched.
            keeper.current()
            assert search(client, chance.choice(SEARCHES)).status in (200, 400)
            if number % 20 == 0:
                now += 100
                known, committed = keeper.current(), freshness.loaded(connections)
                assert freshness.differences(known, committed) == []

    assert 'a writer bypassed the change feed' in caplog.text


@pytest.mark.parametrize('changes_inventory', [False, True])
def test_a_search_sees_one_moment_whatever_commits_between_its_statements(
    url: str, database: Database, changes_inventory: bool
) -> None:
    cloud = Cloud(database)
    for host in HOSTS:
        cloud.add(host, VCPU=100)
    # Of its own, so that what others ask is not taken for the statements of a search.
    searching = database_on(create_engine(url))
    keeper = freshness.unaudited_keeper(searching)
    keeper.current()
    # What was committed, from the first to the last.
    moments: list[tuple[object, ...]] = []

    def move_server() -> None:
        number = len(moments)
        amount = 10 + number % 50
        cloud.take('server', {h: {'VCPU': amount} for h in (HOSTS[number % 3], HOSTS[3])})
        moments.append(contents(freshness.loaded(database)))
        if changes_inventory and number % 2:
            cloud.give(HOSTS[3], VCPU=100 + number)
            moments.append(contents(freshness.loaded(database)))

    def move_in_between(*arguments: object) -> None:
        if own_tables.change_feed.name in str(arguments[2]):
            move_server()

    sa.event.listen(searching.engine, 'after_cursor_execute', move_in_between)
    for _ in range(20):
        move_server()
        before = len(moments) - 1
        assert contents(keeper.current()) in moments[before:]
        assert len(moments) - 1 > before, 'nothing was committed during the search'
    sa.event.remove(searching.engine, 'after_cursor_execute', move_in_between)

    assert freshness.differences(keeper.current(), freshness.loaded(database)) == []
    searching.dispose()


@pytest.mark.parametrize('statement', ['DROP TABLE {}', 'ALTER TABLE {} DROP COLUMN token'])
def test_a_feed_that_is_missing_makes_requests_fail_with_503_until_it_is_migrated(
    service: applications.Service,
    client: Client,
    execute: Callable[[str], None],
    statement: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = {'name': 'host', 'uuid': uuid_of('host')}
    assert search(client, SEARCHES[0]).status == 200
    execute(statement.format(own_tables.change_feed.name))
    if 'COLUMN' in statement:
        # So that the tables are made anew.
        execute(f'DELETE FROM {OWN.table}')
    caplog.clear()
    answers = [
        search(client, SEARCHES[0]),
        client.send('POST', '/resource_providers', host, version=NEWEST),
        client.send('GET', '/healthcheck'),
    ]
    assert [answer.status for answer in answers] == [503, 503, 503]
    assert not any('SELECT' in answer.text for answer in answers)
    lines = [record.getMessage() for record in caplog.records if record.levelname == 'ERROR']
    assert len(lines) == len(answers)
    assert all('placement-manage db sync' in line for line in lines)
    migration.sync(service.engine)

    assert client.send('POST', '/resource_providers', host, version=NEWEST).status == 200
    assert search(client, SEARCHES[0]).status == 200
    assert client.send('GET', '/healthcheck').status == 200
