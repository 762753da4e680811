# SPDX-License-Identifier: Apache-2.0
"""haproxy before a primary of PostgreSQL and its standbys, from the sample for it."""

import concurrent.futures
import contextlib
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from benchmarks.region.databases import Cluster, Postgresql
from benchmarks.region.services import NodeBalancer
from placement.db.engine import failures
from placement.db.engine.causes import Cause
from placement.db.engine.engines import create_engine
from placement.feed import commit_outcome
from placement.tests.databases import acknowledged_claims, clusters
from placement.tests.functional.fixtures import applications, databases
from placement.tests.servers import installation

CALLER = {'x-auth-token': 'admin', 'openstack-api-version': 'placement latest'}

#: How many machines run the service, each with a haproxy of its own.
MACHINES = 2

#: How often the primary is lost, and how long the clients go on with the next one.
FAILOVERS = 2
SECONDS_BETWEEN = 5


@pytest.fixture(scope='module')
def nodes() -> Iterator[tuple[clusters.PostgresqlNode, ...]]:
    with clusters.postgresql() as nodes:
        yield tuple(nodes)


@pytest.fixture(scope='module')
def cluster(nodes: tuple[clusters.PostgresqlNode, ...]) -> Cluster:
    installation.install_system_packages('haproxy')
    cluster = Postgresql(nodes)
    cluster.prepare()
    databases.migrate(nodes[0].service_url())
    return cluster


def test_acknowledged_writes_are_on_the_standby_that_is_promoted(
    nodes: tuple[clusters.PostgresqlNode, ...], cluster: Cluster
) -> None:
    with contextlib.ExitStack() as stack:
        machines = []
        for _ in range(MACHINES):
            directory = stack.enter_context(installation.directory())
            haproxy = stack.enter_context(NodeBalancer(directory, cluster))
            options = {('placement_database', 'connection_parameters'): cluster.parameters}
            machine = applications.serving(haproxy.url, options, CALLER)
            machines.append(stack.enter_context(machine))
        claims = acknowledged_claims.AcknowledgedClaims(machines)
        with claims.running():
            for _ in range(FAILOVERS):
                time.sleep(SECONDS_BETWEEN)
                (old,) = (node for node in nodes if node.is_primary)
                old.crash()
                new = clusters.fail_over(nodes)
                count = claims.count
                time.sleep(SECONDS_BETWEEN)
                assert claims.count > count
                old.rejoin(new)
        print(claims.count, 'writes acknowledged')
        assert claims.wrong_answers == []


def test_no_standby_is_connected_to(
    nodes: tuple[clusters.PostgresqlNode, ...], cluster: Cluster
) -> None:
    """haproxy leads to any node that it has not checked, whose answers could be old."""
    standby = next(node for node in nodes if not node.is_primary)
    engine = create_engine(
        standby.service_url(), max_retries=0, connection_parameters=cluster.parameters
    )
    with pytest.raises(failures.DATABASE_ERRORS) as refused:
        engine.connect()
    assert failures.cause_of(refused.value) is Cause.LOST_CONNECTION


def test_a_write_that_no_standby_has_is_not_acknowledged(
    nodes: tuple[clusters.PostgresqlNode, ...], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A primary that starts again shows what it had not replicated when it crashed."""
    monkeypatch.setattr(commit_outcome, 'MAX_SECONDS', 30)
    (primary,) = (node for node in nodes if node.is_primary)
    standbys = [node for node in nodes if not node.is_primary]
    options = {('placement_database', 'response_timeout'): 8}
    with (
        applications.serving(primary.service_url(), options, CALLER) as client,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        for standby in standbys:
            standby.crash()
        answer = pool.submit(client.send, 'POST', '/resource_providers', {'name': 'lonely'})
        primary.wait_until("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", 1)
        primary.crash()
        primary.start()
        assert _is_there(primary, 'lonely')

        assert answer.result().status == 503, answer.result()
        assert 'The change may have been made' in answer.result().text
    for standby in standbys:
        standby.start()


def _is_there(node: clusters.PostgresqlNode, name: str) -> bool:
    engine = sa.create_engine(node.service_url(), poolclass=sa.NullPool)
    with engine.connect() as connection:
        query = sa.text('SELECT count(*) FROM resource_providers WHERE name = :name')
        return connection.scalar(query, {'name': name}) == 1


def test_the_check_asks_what_the_comment_says() -> None:
    lines = Postgresql.sample.read_text().splitlines()
    start, query, end = (
        bytes.fromhex(line.split()[-1]) for line in lines if 'send-binary' in line
    )
    assert start == len(start).to_bytes(4) + bytes([0, 3, 0, 0]) + (
        b'user\0haproxy\0database\0postgres\0\0'
    )
    (comment,) = (line.strip(' #').encode() for line in lines if '# SELECT' in line)
    assert query == b'Q' + (len(comment) + 5).to_bytes(4) + comment + b'\0'
    assert end == b'X\0\0\0\4'
