# SPDX-License-Identifier: Apache-2.0
"""haproxy before a primary of PostgreSQL and its standbys, from the sample for it."""

import concurrent.futures
import time
from collections.abc import Iterator

import pytest

from placement.db.engine import failures
from placement.db.engine.causes import Cause
from placement.db.engine.engines import create_engine
from placement.feed import commit_outcome
from placement.tests.databases import behind_haproxy, clusters
from placement.tests.databases.acknowledged_claims import HEADERS
from placement.tests.functional.fixtures import applications
from placement.tests.region.databases import Postgresql

#: Number of losses of the primary, and seconds of work with the next one.
FAILOVERS = 2
SECONDS_BETWEEN = 5


@pytest.fixture(scope='module')
def cluster() -> Iterator[Postgresql]:
    with clusters.postgresql() as nodes:
        cluster = Postgresql(nodes)
        behind_haproxy.prepare(cluster)
        yield cluster


def test_acknowledged_writes_are_on_the_standby_that_is_promoted(cluster: Postgresql) -> None:
    with behind_haproxy.claiming(cluster) as (claims, _balancers):
        for _ in range(FAILOVERS):
            time.sleep(SECONDS_BETWEEN)
            (old,) = (node for node in cluster.nodes if node.is_primary)
            old.crash()
            new = clusters.fail_over(cluster.nodes)
            time.sleep(SECONDS_BETWEEN)
            claims.wait_for_another()
            old.rejoin(new)


def test_no_standby_is_connected_to(cluster: Postgresql) -> None:
    """haproxy leads to any node that it has not checked, whose answers could be old."""
    standby = next(node for node in cluster.nodes if not node.is_primary)
    engine = create_engine(
        standby.service_url(), max_retries=0, connection_parameters=cluster.parameters
    )
    with pytest.raises(failures.DATABASE_ERRORS) as refused:
        engine.connect()
    assert failures.cause_of(refused.value) is Cause.LOST_CONNECTION


def test_a_write_that_no_standby_has_is_not_acknowledged(
    cluster: Postgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A primary that starts again shows what it had not replicated when it crashed."""
    monkeypatch.setattr(commit_outcome, 'MAX_SECONDS', 30)
    (primary,) = (node for node in cluster.nodes if node.is_primary)
    standbys = [node for node in cluster.nodes if not node.is_primary]
    options = {('placement_database', 'response_timeout'): 8}
    with (
        applications.serving(primary.service_url(), options, HEADERS) as client,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        for standby in standbys:
            standby.crash()
        answer = pool.submit(client.send, 'POST', '/resource_providers', {'name': 'lonely'})
        primary.wait_until("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", 1)
        primary.crash()
        primary.start()
        listed = client.send('GET', '/resource_providers?name=lonely').json
        assert len(listed['resource_providers']) == 1

        assert answer.result().status == 503, answer.result()
        assert 'The change may have been made' in answer.result().text
    for standby in standbys:
        standby.start()


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
