# SPDX-License-Identifier: Apache-2.0
"""haproxy before the nodes of a Galera cluster, from the sample of its configuration."""

import contextlib
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence

import pymysql
import pytest
import sqlalchemy as sa

from placement.tests.databases import acknowledged_claims, clusters, servers
from placement.tests.functional.fixtures import applications, databases
from placement.tests.functional.fixtures.client import Client
from placement.tests.servers import installation

SAMPLE = applications.repository_path('etc') / 'haproxy' / 'galera.cfg'
CALLER = {'x-auth-token': 'admin', 'openstack-api-version': 'placement latest'}
Nodes = Sequence[clusters.GaleraNode]

#: How many machines run the service, each with a haproxy of its own.
MACHINES = 2

#: How often the first node is frozen, and for how long: the others put it out after five seconds.
FREEZES = 2
FROZEN_SECONDS = 12

#: How long haproxy checks a node that is back before it is asked: `rise` of the sample.
SECONDS_UNTIL_ASKED = 17


@pytest.fixture(scope='module')
def nodes() -> Iterator[Nodes]:
    with clusters.galera() as nodes:
        nodes[0].execute('CREATE DATABASE placement')
        nodes[0].execute("CREATE USER 'haproxy'@'%'")
        databases.migrate(nodes[0].service_url())
        yield nodes


@pytest.fixture(scope='module')
def port(nodes: Nodes) -> Iterator[int]:
    """The port at which haproxy listens, once it has found a node."""
    with haproxy_before(nodes) as port:
        yield port


@contextlib.contextmanager
def haproxy_before(nodes: Nodes) -> Iterator[int]:
    """Run haproxy with the sample, as one machine does; yields its port once a node answers."""
    installation.install_system_packages('haproxy')
    port = servers.free_port()
    text = SAMPLE.read_text().replace('127.0.0.1:3306', f'127.0.0.1:{port}')
    for number, node in enumerate(nodes, 1):
        text = text.replace(f'db{number}.example.org:3306', f'127.0.0.1:{node.port}')
    assert 'example.org' not in text.partition('\ndefaults')[2]
    path = pathlib.Path(nodes[0].directory) / f'haproxy-{port}.cfg'
    path.write_text('global\n    log stderr local0\n' + text)
    haproxy = shutil.which('haproxy') or '/usr/sbin/haproxy'
    with subprocess.Popen([haproxy, '-db', '-f', str(path)]) as process:
        try:
            node_behind(port)
            yield port
        finally:
            process.terminate()


def node_behind(port: int, *unwanted: int) -> int:
    """The port of the node that answers, as soon as it is none of the unwanted ones."""
    engine = sa.create_engine(f'mysql+pymysql://root@127.0.0.1:{port}/', poolclass=sa.NullPool)
    deadline = time.monotonic() + 60
    while True:
        try:
            with engine.connect() as connection:
                found = int(connection.scalar(sa.text('SELECT @@port')) or 0)
            if found not in unwanted:
                return found
        except sa.exc.DBAPIError:
            found = 0
        assert time.monotonic() < deadline, f'node {found} answers'
        time.sleep(0.2)


def test_a_frozen_node_gives_no_old_answers_when_it_goes_on(nodes: Nodes) -> None:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(haproxy_before(nodes)) for _ in range(MACHINES)]
        machines = [stack.enter_context(_service_behind(port)) for port in ports]
        claims = acknowledged_claims.AcknowledgedClaims(machines)
        with claims.running():
            for _ in range(FREEZES):
                assert [node_behind(port) for port in ports] == [nodes[0].port] * MACHINES
                count = claims.count
                with nodes[0].frozen():
                    time.sleep(FROZEN_SECONDS)
                    assert claims.count > count
                nodes[0].wait_until(clusters.STATUS % 'wsrep_cluster_status', 'Primary')
                for port in ports:
                    node_behind(port, nodes[1].port, nodes[2].port)
                # Each machine goes back to the first node by itself.
                time.sleep(1)
        assert claims.wrong_answers == []


def test_no_answer_is_false_while_each_node_is_restarted(nodes: Nodes) -> None:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(haproxy_before(nodes)) for _ in range(MACHINES)]
        machines = [stack.enter_context(_service_behind(port)) for port in ports]
        claims = acknowledged_claims.AcknowledgedClaims(machines)
        with claims.running():
            # As the page about high availability says: first those that stand by.
            for restarted in (nodes[1:], nodes[:1]):
                for node in restarted:
                    count = claims.count
                    node.stop()
                    node.start()
                    assert claims.count > count
                time.sleep(SECONDS_UNTIL_ASKED)
            assert [node_behind(port) for port in ports] == [nodes[0].port] * MACHINES
        print(claims.count, 'writes acknowledged')
        assert claims.wrong_answers == []


def _service_behind(port: int) -> contextlib.AbstractContextManager[Client]:
    """A client of a service of its own, whose database is behind a port."""
    parameters = re.search(
        r'^# connection_parameters = (init_command=.*)\.  ', SAMPLE.read_text(), re.M
    )
    assert parameters
    options = {('placement_database', 'connection_parameters'): parameters[1]}
    return applications.serving(_url(port), options, CALLER)


def _url(port: int) -> str:
    return f'mysql+pymysql://root@127.0.0.1:{port}/placement'


def test_the_check_asks_what_the_comment_says() -> None:
    lines = SAMPLE.read_text().splitlines()
    sent = [bytes.fromhex(line.split()[-1]) for line in lines if 'send-binary' in line]
    comment = ' '.join(line.strip(' #') for line in lines if 'SELECT' in line or 'WHERE' in line)
    query = sent[1][5:].decode()
    assert ''.join(query.split()) == ''.join(comment.split())
    for packet in sent:
        assert int.from_bytes(packet[:3], 'little') == len(packet) - 4


def test_the_service_goes_on_when_a_node_is_gone_or_not_synced(nodes: Nodes, port: int) -> None:
    first = node_behind(port)
    assert first == nodes[0].port
    with applications.serving(_url(port), headers=CALLER) as client:
        _create(client, 'first')

        # A node that leaves the cluster still accepts connections, and answers no query.
        _isolate(nodes[0], 1)
        second = node_behind(port, first)
        _create(client, 'second')

        _isolate(nodes[0], 0)
        assert node_behind(port, second) == first
        _create(client, 'third')

        nodes[0].crash()
        node_behind(port, first)
        _create(client, 'fourth')
        listed = client.send('GET', '/resource_providers').json['resource_providers']
        assert {'first', 'second', 'third', 'fourth'} <= {one['name'] for one in listed}


def _isolate(node: clusters.GaleraNode, isolate: int) -> None:
    """Cut a node off from the others, or join it again; SQLAlchemy would send it queries."""
    with pymysql.connect(host='127.0.0.1', port=node.port, user='root', autocommit=True) as alone:
        alone.query(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={isolate}'")


def _create(client: Client, name: str) -> None:
    """Create a provider, within the seconds that haproxy takes to notice."""
    deadline = time.monotonic() + 30
    while (answer := client.send('POST', '/resource_providers', {'name': name})).status != 200:
        assert answer.status in (503, 409), answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.5)
