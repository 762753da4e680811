# SPDX-License-Identifier: Apache-2.0
"""haproxy before the nodes of a Galera cluster, from the sample of its configuration."""

import contextlib
import time
from collections.abc import Iterator

import pymysql
import pytest
import sqlalchemy as sa

from placement.tests.databases import behind_haproxy, clusters
from placement.tests.functional.fixtures.client import Client
from placement.tests.region.databases import Galera
from placement.tests.region.services import NodeBalancer
from placement.tests.waiting import wait_until

#: Number of freezes of the first node, and their seconds: the others evict it after five.
FREEZES = 2
FROZEN_SECONDS = 12

#: How long haproxy checks a node that is back before it is asked: `rise` of the sample.
SECONDS_UNTIL_ASKED = 17


@pytest.fixture(scope='module')
def cluster() -> Iterator[Galera]:
    with clusters.galera() as nodes:
        cluster = Galera(nodes)
        behind_haproxy.prepare(cluster)
        yield cluster


def wait_for_node(haproxy: NodeBalancer, *unwanted: int) -> None:
    """Wait until another node than the unwanted ones answers."""
    engine = sa.create_engine(haproxy.url, poolclass=sa.NullPool)

    def is_found() -> bool:
        with contextlib.suppress(sa.exc.DBAPIError), engine.connect() as connection:
            return connection.scalar(sa.text('SELECT @@port')) not in unwanted
        return False

    wait_until(is_found)


def test_a_frozen_node_gives_no_old_answers_when_it_goes_on(cluster: Galera) -> None:
    first, *others = cluster.nodes
    with behind_haproxy.claiming(cluster) as (claims, balancers):
        for _ in range(FREEZES):
            for one in balancers:
                wait_for_node(one, *(node.port for node in others))
            with first.frozen():
                time.sleep(FROZEN_SECONDS)
                claims.wait_for_another()
            first.wait_until(clusters.STATUS % 'wsrep_cluster_status', 'Primary')
            for one in balancers:
                wait_for_node(one, *(node.port for node in others))
            # Each machine goes back to the first node by itself.
            time.sleep(1)


def test_no_answer_is_false_while_each_node_is_restarted(cluster: Galera) -> None:
    with behind_haproxy.claiming(cluster) as (claims, balancers):
        # As the page about high availability says: first those that stand by.
        for restarted in (cluster.nodes[1:], cluster.nodes[:1]):
            for node in restarted:
                node.stop()
                node.start()
                claims.wait_for_another()
            time.sleep(SECONDS_UNTIL_ASKED)
        for one in balancers:
            wait_for_node(one, *(node.port for node in cluster.nodes[1:]))


def test_the_check_asks_what_the_comment_says() -> None:
    lines = Galera.sample.read_text().splitlines()
    sent = [bytes.fromhex(line.split()[-1]) for line in lines if 'send-binary' in line]
    comment = ' '.join(line.strip(' #') for line in lines if 'SELECT' in line or 'WHERE' in line)
    query = sent[1][5:].decode()
    assert ''.join(query.split()) == ''.join(comment.split())
    for packet in sent:
        assert int.from_bytes(packet[:3], 'little') == len(packet) - 4


def test_the_service_goes_on_when_a_node_is_gone_or_not_synced(cluster: Galera) -> None:
    node, *others = cluster.nodes
    with (
        behind_haproxy.balancer(cluster) as haproxy,
        behind_haproxy.service_at(haproxy.url, cluster) as client,
    ):
        wait_for_node(haproxy, *(other.port for other in others))
        _create(client, 'first')

        # A node that leaves the cluster still accepts connections, and answers no query.
        _isolate(node, 1)
        wait_for_node(haproxy, node.port)
        _create(client, 'second')

        _isolate(node, 0)
        wait_for_node(haproxy, *(other.port for other in others))
        _create(client, 'third')

        node.crash()
        wait_for_node(haproxy, node.port)
        _create(client, 'fourth')
        listed = client.send('GET', '/resource_providers').json['resource_providers']
        assert {'first', 'second', 'third', 'fourth'} <= {one['name'] for one in listed}


def _isolate(node: clusters.GaleraNode, isolate: int) -> None:
    """Cut a node off from the others, or join it again; SQLAlchemy would send it queries."""
    with pymysql.connect(host='127.0.0.1', port=node.port, user='root', autocommit=True) as alone:
        alone.query(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={isolate}'")


def _create(client: Client, name: str) -> None:
    """Create a provider, within the seconds that haproxy takes to notice."""

    def is_created() -> bool:
        answer = client.send('POST', '/resource_providers', {'name': name})
        assert answer.status in (200, 503, 409), answer
        return answer.status == 200

    wait_until(is_created)
