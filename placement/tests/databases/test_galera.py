# SPDX-License-Identifier: Apache-2.0
"""A worker on each node of a Galera cluster, all of which are written to at once."""

import concurrent.futures
import contextlib
import logging
import random
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import own_tables, tables
from placement.feed import position
from placement.feed.entries import NewEntry, insert_entries
from placement.microversions import NEWEST
from placement.tests.databases import clusters
from placement.tests.functional import consistency_check
from placement.tests.functional.fixtures import (
    applications,
    clouds,
    databases,
    follower,
    freshness,
    workers,
    workload,
)
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.freshness_workload import Workload
from placement.tests.opened import database_on, record
from placement.tests.unit.objects.cloud import Cloud
from placement.tests.waiting import TIMEOUT, wait_until

REQUESTS = 384
# Maximum number of rounds until a writer ends after others that began later.
ROUNDS = 20

#: What a worker logs that did not know what its snapshot lacked.
RELOADS = 'oading everything'

Nodes = Sequence[clusters.GaleraNode]


@pytest.fixture(scope='module')
def cluster() -> Iterator[Nodes]:
    with clusters.galera() as nodes:
        yield nodes


@pytest.fixture
def nodes(cluster: Nodes) -> Iterator[Nodes]:
    """The cluster, with a database on each node that has the standard names and nothing else."""
    cluster[0].execute('CREATE DATABASE placement')
    databases.migrate(cluster[0].service_url())
    for node in cluster[1:]:
        node.catch_up(cluster[0])
    yield cluster
    cluster[0].execute('DROP DATABASE placement')


@contextlib.contextmanager
def serving(nodes: Nodes) -> Iterator[list[workers.Workers]]:
    """One worker on each node, behind a port of its own."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(workers.running(node.service_url(), 1)) for node in nodes]


def check_every_node(nodes: Nodes, run: consistency_check.ConsistencyCheck) -> None:
    """Assert that every node has the writes that were acknowledged to the clients."""
    run.check()
    expected = run.used()
    for node in nodes:
        engine = sa.create_engine(node.service_url(), poolclass=sa.NullPool)
        assert consistency_check.used_in(engine) == expected


def search(ports: Sequence[int], until: threading.Event) -> None:
    """Make every worker update its snapshot repeatedly."""
    senders = [workload.HttpClient(port) for port in ports]
    while not until.wait(0.02):
        for sender in senders:
            path = '/allocation_candidates?resources=VCPU:1'
            answer = sender.send('GET', path, version=NEWEST)
            assert answer.status == 200, answer.text
    for sender in senders:
        sender.close()


def test_claims_on_all_nodes_never_exceed_capacity(nodes: Nodes) -> None:
    with serving(nodes) as cluster:
        consistency_check.build(cluster[0])
        ports = [one.port for one in cluster]
        run = consistency_check.ConsistencyCheck(nodes[0].service_url(), *ports, faults=True)
        is_over = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            searching = pool.submit(search, ports, is_over)
            try:
                run.run(REQUESTS)
            finally:
                is_over.set()
            searching.result()
        check_every_node(nodes, run)
        conflicts = sum(
            node.count('wsrep_local_cert_failures', 'wsrep_local_bf_aborts') for node in nodes
        )
        print(f'{dict(run.account.answers)}, {run.samples} samples, {conflicts} conflicts')
        assert run.account.answers['done'] > REQUESTS / 4
        assert run.account.answers['503'] == run.account.answers['no answer'] == 0
        assert conflicts > 0, 'no two nodes wrote the same at once'
        for one in cluster:
            assert 'unexpected error' not in one.log()
            assert RELOADS not in one.log()


def test_claims_survive_a_crashed_node(nodes: Nodes) -> None:
    killed = nodes[2]

    def crash_and_recover() -> None:
        time.sleep(1)
        killed.crash()
        health = workload.HttpClient(ports[2])
        assert health.send('GET', '/healthcheck').status == 503
        killed.recover()
        killed.start()
        assert health.send('GET', '/healthcheck').status == 200
        health.close()

    with serving(nodes) as cluster:
        consistency_check.build(cluster[0])
        ports = [one.port for one in cluster]
        run = consistency_check.ConsistencyCheck(nodes[0].service_url(), *ports, faults=True)
        run.run(REQUESTS // 2, meanwhile=crash_and_recover)
        check_every_node(nodes, run)
        print(f'{dict(run.account.answers)}, {run.samples} samples')
        assert run.account.answers['503'] > 0
        assert run.account.answers['no answer'] == 0
        for one in cluster:
            assert 'unexpected error' not in one.log()


REJECTED = "SET GLOBAL wsrep_reject_queries = '%s'"


def test_worker_answers_503_while_its_node_is_out_of_the_cluster(nodes: Nodes) -> None:
    """The node accepts connections and refuses queries, as when it has lost the others."""
    admin = sa.create_engine(nodes[1].url(''), isolation_level='AUTOCOMMIT')
    with (
        admin.connect() as connection,
        applications.serving(nodes[1].service_url()) as client,
        contextlib.ExitStack() as stack,
    ):
        # Also when the test fails: the other tests need the node.
        stack.callback(connection.execute, sa.text(REJECTED % 'NONE'))
        for state, found in (('NONE', 200), ('ALL', 503), ('NONE', 200)):
            connection.execute(sa.text(REJECTED % state))
            for path in ('/healthcheck', '/traits', '/allocation_candidates?resources=VCPU:1'):
                answer = client.send('GET', path, version=NEWEST)
                assert answer.status == found, answer.text
            answer = client.send('PUT', '/traits/CUSTOM_NODE', version=NEWEST)
            assert (answer.status == 503) == (found == 503), answer.text
    admin.dispose()


# What searches see

HOSTS = ('host', *(f'host{number}' for number in range(1, 9)))

# A position before every uuid.
HOST_BEFORE_ALL = '00000000-0000-4000-8000-000000000000'


@pytest.fixture
def connections(nodes: Nodes) -> Iterator[list[Database]]:
    """The database object of a worker on each node; the database has some hosts."""
    connections = [database_on(create_engine(node.service_url())) for node in nodes]
    cloud = Cloud(connections[0])
    for host in HOSTS:
        cloud.add(host, VCPU=100)
    yield connections
    for one in connections:
        one.dispose()


@contextlib.contextmanager
def lingering(database: Database, host: str, total: int) -> Iterator[sa.Connection]:
    """A transaction that has written a total for one host, and ends when this is left at last."""
    provider_id = Cloud(database).provider(host).id
    with database.engine.connect() as connection:
        connection.execute(
            sa.update(tables.inventories)
            .where(tables.inventories.c.resource_provider_id == provider_id)
            .values(total=total)
        )
        insert_entries(connection, 1, [NewEntry(provider_id)])
        yield connection


def newest(database: Database) -> set[int]:
    """The ids of the feed."""
    with database.begin(Mode.READ) as connection:
        return set(connection.scalars(sa.select(own_tables.change_feed.c.id)))


def test_every_worker_applies_the_commits_of_all_nodes(
    connections: list[Database], caplog: pytest.LogCaptureFixture
) -> None:
    """However the ids of the change feed are interleaved, and whichever transaction ends first."""
    caplog.set_level(logging.INFO)
    # No transaction ends while the snapshots are compared with what is committed.
    gate = threading.Lock()
    keepers = [freshness.unaudited_keeper(one) for one in connections]
    stale: list[str] = []
    seen = newest(connections[0])
    late = 0

    def write(number: int) -> None:
        chance = random.Random(number)
        database = connections[number % len(connections)]
        for _ in range(12):
            with lingering(database, HOSTS[number], chance.randint(1, 1000)) as connection:
                time.sleep(chance.random() / 20)
                end = connection.commit if chance.random() < 0.75 else connection.rollback
                with gate:
                    end()

    def compare() -> None:
        nonlocal late
        for keeper in keepers:
            keeper.current()
        with gate:
            found = newest(connections[0])
            late += sum(entry < max(seen) for entry in found - seen)
            seen.update(found)
            for keeper, database in zip(keepers, connections, strict=True):
                stale.extend(freshness.differences(keeper.current(), freshness.loaded(database)))

    compare()
    # Again if need be: a busy machine may compare only when all has been written.
    for _ in range(ROUNDS):
        with concurrent.futures.ThreadPoolExecutor(len(HOSTS)) as pool:
            futures = [pool.submit(write, number) for number in range(len(HOSTS))]
            while not all(future.done() for future in futures):
                compare()
            for future in futures:
                future.result()
        compare()
        if late:
            break
    assert stale == []
    assert late > 0, 'no transaction committed an id lower than one already read'
    assert RELOADS not in caplog.text


def test_feed_ids_of_a_node_exceed_those_of_other_nodes(connections: list[Database]) -> None:
    """Otherwise a late write of an idle node would have an id that workers have already passed."""
    for number in range(20):
        Cloud(connections[0]).give(HOSTS[0], VCPU=200 + number)
    for one in connections[1:]:
        before = newest(one)
        Cloud(one).give(HOSTS[1], VCPU=random.randint(300, 1_000_000))
        (added,) = newest(one) - before
        assert added > max(before)


def test_search_takes_one_statement_with_any_number_of_gaps(
    connections: list[Database],
) -> None:
    keepers = [freshness.unaudited_keeper(one) for one in connections]
    for keeper in keepers:
        keeper.current()
    with lingering(connections[0], HOSTS[0], 77) as first:
        other = Cloud(connections[0]).provider(HOSTS[1]).id
        # Workers that write to one node of three use every third id.
        for _ in range(2 * position.MAX_WINDOW):
            record(connections[1], [other], allocations_only=True)
        for keeper, database in zip(keepers, connections, strict=True):
            keeper.current()
            with Cloud(database).statements() as seen:
                keeper.current()
            assert len(seen) == 1
            assert 'count(' in seen[0], 'there are too few gaps: the statement names each of them'
        first.commit()
    for keeper, database in zip(keepers, connections, strict=True):
        assert freshness.differences(keeper.current(), freshness.loaded(database)) == []


def used(client: Client) -> int:
    """The usage of the first host in the answer to a search."""
    answer = client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
    assert answer.status == 200, answer.text
    summary = answer.json['provider_summaries'][clouds.uuid_of(HOSTS[0])]
    amount: int = summary['resources']['VCPU']['used']
    return amount


def claim(client: Client, amount: int, generation: int | None) -> None:
    answer = clouds.put_claim(client, 'consumer', generation, VCPU=amount)
    assert answer.status == 204, answer.text


def test_search_with_sync_wait_sees_claims_made_on_another_node(
    nodes: Nodes,
) -> None:
    with contextlib.ExitStack() as stack:
        writer, waiting, lagging = (
            stack.enter_context(applications.serving(url))
            for url in (
                nodes[0].service_url(),
                nodes[1].service_url(),
                nodes[1].service_url(waits=False),
            )
        )
        clouds.build((clouds.Provider(HOSTS[0], {'VCPU': 100}),), writer)
        for amount in range(1, 30):
            claim(writer, amount, amount - 1 or None)
            assert used(waiting) == amount

        # Now with a node that stays behind until its tables are unlocked.
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(1))
        locking = sa.create_engine(nodes[1].url('placement'), poolclass=sa.NullPool)
        with locking.connect() as connection:
            connection.execute(sa.text('FLUSH TABLES WITH READ LOCK'))
            claim(writer, 30, 29)
            searching = pool.submit(used, waiting)
            assert [used(lagging) for _ in range(5)] == [29] * 5
            assert not searching.done()
            connection.execute(sa.text('UNLOCK TABLES'))
        assert searching.result() == 30


# What is written to different nodes at once

#: Rows that take a node some seconds to apply, from MariaDB's engine of sequences.
SEQUENCE = 'busy.seq_1_to_500000'


#: A COMMIT on the node that stays behind waits for all of them.
PATIENT = {
    ('placement_database', 'lock_timeout'): TIMEOUT,
    ('placement_database', 'response_timeout'): TIMEOUT,
}


@contextlib.contextmanager
def staying_behind(
    nodes: Nodes, *cloud: clouds.Provider, names: Sequence[str] = ()
) -> Iterator[tuple[Client, Client]]:
    """Services of two nodes that have a cloud, of which the first applies nothing for a second.

    The cloud has classes and traits of its own, which `names` has as paths.

    It is busy with a large transaction of the second, after which it applies what came later.
    """
    first, second = nodes[:2]
    with contextlib.ExitStack() as stack:
        behind, ahead = (
            stack.enter_context(applications.serving(node.service_url(False), PATIENT))
            for node in (first, second)
        )
        for name in names:
            assert ahead.send('PUT', name, version=NEWEST).status == 201
        clouds.build(cloud, ahead)
        second.execute('CREATE DATABASE busy')
        stack.callback(second.execute, 'DROP DATABASE busy')
        second.execute('CREATE TABLE busy.numbers (number INTEGER PRIMARY KEY)')
        first.wait_until(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'numbers'", 1
        )
        second.execute(f'INSERT INTO busy.numbers SELECT seq FROM {SEQUENCE}')
        assert not first.value('SELECT COUNT(*) FROM busy.numbers')
        yield behind, ahead
        first.wait_until('SELECT COUNT(*) > 0 FROM busy.numbers', 1)


def create_child(client: Client, name: str, parent: str) -> Answer:
    body = {'name': name, 'uuid': clouds.uuid_of(name), 'parent_provider_uuid': parent}
    return client.send('POST', '/resource_providers', body, version=NEWEST)


def move(client: Client, name: str, parent: str) -> Answer:
    path = f'/resource_providers/{clouds.uuid_of(name)}'
    body = {'name': name, 'parent_provider_uuid': clouds.uuid_of(parent)}
    return client.send('PUT', path, body, version=NEWEST)


def test_a_child_that_is_created_while_its_parent_moves_gets_the_new_root(nodes: Nodes) -> None:
    """Each on another node, whose transactions see nothing of each other until they commit."""
    parent, root = clouds.Provider('parent'), clouds.Provider('root')
    with staying_behind(nodes, parent, root) as (behind, ahead):
        assert move(ahead, 'parent', 'root').status == 200
        answer = create_child(behind, 'child', clouds.uuid_of('parent'))
        assert answer.json['root_provider_uuid'] == clouds.uuid_of('root')


def test_a_parent_is_not_deleted_while_it_gets_a_child(nodes: Nodes) -> None:
    parent = clouds.uuid_of('parent')
    with staying_behind(nodes, clouds.Provider('parent')) as (behind, ahead):
        assert ahead.send('DELETE', f'/resource_providers/{parent}').status == 204
        answer = create_child(behind, 'child', parent)
        assert answer.status == 400, answer.text
        assert 'parent provider UUID does not exist' in answer.text


def test_two_moves_make_no_loop(nodes: Nodes) -> None:
    """One on each node: two providers of one tree, each of which shall get below the other."""
    above = {'root': None, 'left': 'root', 'below left': 'left', 'right': 'root'}
    above['below right'] = 'right'
    cloud = [clouds.Provider(name, parent=parent) for name, parent in above.items()]
    with staying_behind(nodes, *cloud) as (behind, ahead):
        assert move(ahead, 'left', 'below right').status == 200
        answer = move(behind, 'right', 'below left')
        assert answer.status == 400, answer.text
        assert 'creating loop in the provider tree is not allowed' in answer.text


GOLD, SILVER = 'CUSTOM_GOLD', 'CUSTOM_SILVER'


def stock(client: Client, provider: str, resource_class: str) -> Answer:
    """Replace the inventories of a provider by one unit of a class."""
    path = f'/resource_providers/{clouds.uuid_of(provider)}'
    found = client.send('GET', path, version=NEWEST).json
    body = {
        'resource_provider_generation': found['generation'],
        'inventories': {resource_class: {'total': 1}},
    }
    return client.send('PUT', f'{path}/inventories', body, version=NEWEST)


def stocked(client: Client, provider: str) -> set[str]:
    """The classes that a provider has something of."""
    path = f'/resource_providers/{clouds.uuid_of(provider)}/inventories'
    return set(client.send('GET', path, version=NEWEST).json['inventories'])


CLASSES = (f'/resource_classes/{GOLD}', f'/resource_classes/{SILVER}')

STOCKED = (
    clouds.Provider('host', {'VCPU': 1}),
    clouds.Provider('other', {GOLD: 1, SILVER: 1}),
)


def test_a_class_is_not_deleted_while_a_provider_gets_inventory_of_it(nodes: Nodes) -> None:
    with staying_behind(nodes, *STOCKED, names=CLASSES) as (behind, ahead):
        assert stock(ahead, 'other', 'VCPU').status == 200
        assert ahead.send('DELETE', f'/resource_classes/{SILVER}', version=NEWEST).status == 204
        answer = stock(behind, 'host', SILVER)
        assert answer.status == 400, answer.text
        assert ahead.send('PUT', '/resource_classes/CUSTOM_NEXT', version=NEWEST).status == 201
        assert stocked(ahead, 'host') == {'VCPU'}


def test_a_class_is_not_renamed_while_a_provider_gets_inventory_of_it(nodes: Nodes) -> None:
    with staying_behind(nodes, *STOCKED, names=CLASSES) as (behind, ahead):
        path, body = f'/resource_classes/{GOLD}', {'name': 'CUSTOM_RENAMED'}
        assert ahead.send('PUT', path, body, version='1.6').status == 200
        answer = stock(behind, 'host', GOLD)
        assert answer.status == 400, answer.text


def put_aggregates(client: Client, provider: str, *names: str) -> Answer:
    """Set the aggregates of a provider as clients did that sent no generation."""
    path = f'/resource_providers/{clouds.uuid_of(provider)}/aggregates'
    return client.send('PUT', path, [clouds.uuid_of(name) for name in names], version='1.18')


def test_aggregates_that_two_nodes_write_are_those_of_one(nodes: Nodes) -> None:
    with staying_behind(nodes, clouds.Provider('host')) as (behind, ahead):
        assert put_aggregates(ahead, 'host', 'first').status == 200
        assert put_aggregates(behind, 'host', 'second').status == 200
    path = f'/resource_providers/{clouds.uuid_of("host")}/aggregates'
    with applications.serving(nodes[0].service_url()) as client:
        found = client.send('GET', path, version=NEWEST).json['aggregates']
    assert found == [clouds.uuid_of('second')]


def test_aggregates_of_a_provider_that_is_deleted_go_with_it(nodes: Nodes) -> None:
    host = clouds.uuid_of('host')
    with staying_behind(nodes, clouds.Provider('host')) as (behind, ahead):
        assert ahead.send('DELETE', f'/resource_providers/{host}').status == 204
        answer = put_aggregates(behind, 'host', 'first')
        assert answer.status == 404, answer.text
    assert nodes[0].value('SELECT COUNT(*) FROM placement.resource_provider_aggregates') == 0


def test_a_trait_is_not_deleted_while_a_provider_gets_it(nodes: Nodes) -> None:
    """Which the foreign key sees to."""
    other, trait = clouds.Provider('other', traits=('CUSTOM_FAST',)), '/traits/CUSTOM_FAST'
    with staying_behind(nodes, clouds.Provider('host'), other, names=(trait,)) as (
        behind,
        ahead,
    ):
        path = f'/resource_providers/{clouds.uuid_of("other")}/traits'
        assert ahead.send('DELETE', path, version=NEWEST).status == 204
        assert ahead.send('DELETE', trait, version=NEWEST).status == 204
        path = f'/resource_providers/{clouds.uuid_of("host")}/traits'
        body = {'resource_provider_generation': 0, 'traits': ['CUSTOM_FAST']}
        answer = behind.send('PUT', path, body, version=NEWEST)
        assert answer.status == 400, answer.text


# What followers are told


def test_a_follower_of_all_nodes_has_the_cloud_whenever_nobody_writes(nodes: Nodes) -> None:
    """Its requests go to nodes in turn that may be behind, while all of them are written to."""
    options = applications.insight_options('on')
    with contextlib.ExitStack() as stack:
        lagging, waiting = (
            [
                stack.enter_context(applications.serving(node.service_url(waits), options))
                for node in nodes
            ]
            for waits in (False, True)
        )
        # One at a time, since the first thing that a provider needs are names.
        followed = follower.Follower(*lagging)
        workloads = [Workload(client, seed) for seed, client in enumerate(waiting)]
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(len(nodes)))
        for _ in range(5):
            writers = [pool.submit(one.succeed, 20) for one in workloads]
            while not all(writer.done() for writer in writers):
                followed.poll()
            for writer in writers:
                writer.result()
            stored = [follower.everything(client) for client in waiting]
            assert stored[0] == stored[1] == stored[2]
            followed.follow()
            assert followed.providers == stored[0]

        assert followed.reads == 1
        assert followed.change_count > 100


def test_a_node_that_is_behind_tells_a_follower_nothing_yet(nodes: Nodes) -> None:
    options = applications.insight_options('on')
    with contextlib.ExitStack() as stack:
        writer, behind = (
            stack.enter_context(applications.serving(node.service_url(False), options))
            for node in nodes[:2]
        )
        clouds.build((clouds.Provider(HOSTS[0], {'VCPU': 100}),), writer)
        followed = follower.Follower(writer)
        locking = sa.create_engine(nodes[1].url('placement'), poolclass=sa.NullPool)
        with locking.connect() as connection:
            connection.execute(sa.text('FLUSH TABLES WITH READ LOCK'))
            claim(writer, 30, None)
            followed.follow()
            path = '/insight/providers?page_limit=1'
            first = writer.send('GET', path, version=NEWEST).json
            changes = f'/insight/changes?since={followed.token}'
            answer = behind.send('GET', changes, version=NEWEST)
            assert (answer.json['token'], answer.json['complete']) == (followed.token, True)
            assert (answer.json['providers'], answer.json['links']) == ([], [])
            second = f'{path}&marker={HOST_BEFORE_ALL}&not_before={first["token"]}'
            answer = behind.send('GET', second, version=NEWEST)
            assert (answer.status, answer.headers['retry-after']) == (503, '1')
            connection.execute(sa.text('UNLOCK TABLES'))
        locking.dispose()
        wait_until(lambda: behind.send('GET', second, version=NEWEST).status != 503)
        answer = behind.send('GET', changes, version=NEWEST)
        assert (answer.json['token'], answer.json['complete']) == (followed.token, True)
