# SPDX-License-Identifier: Apache-2.0
"""haproxy before the nodes of a Galera cluster, from the sample of its configuration."""

import pathlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence

import pymysql
import pytest
import sqlalchemy as sa

from placement import deploy
from placement.db.engine.database import Database
from placement.tests.databases import clusters
from placement.tests.functional.fixtures import applications, databases
from placement.tests.functional.fixtures.client import Client
from placement.tests.servers import installation

SAMPLE = applications.repository_path('etc') / 'haproxy' / 'galera.cfg'
CALLER = {'x-auth-token': 'admin', 'openstack-api-version': 'placement latest'}
Nodes = Sequence[clusters.GaleraNode]


@pytest.fixture(scope='module')
def nodes() -> Iterator[Nodes]:
    with clusters.galera() as nodes:
        nodes[0].execute('CREATE DATABASE placement')
        nodes[0].execute("CREATE USER 'haproxy'@'%'")
        databases.migrate(nodes[0].service_url())
        yield nodes


@pytest.fixture(scope='module')
def port(nodes: Nodes) -> Iterator[int]:
    """Where haproxy listens, once it has found a node."""
    installation.install_system_packages('haproxy')
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port: int = free.getsockname()[1]
    text = SAMPLE.read_text().replace('127.0.0.1:3306', f'127.0.0.1:{port}')
    for number, node in enumerate(nodes, 1):
        text = text.replace(f'db{number}.example.org:3306', f'127.0.0.1:{node.port}')
    assert 'example.org' not in text.partition('\ndefaults')[2]
    path = pathlib.Path(nodes[0].directory) / 'haproxy.cfg'
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
    url = f'mysql+pymysql://root@127.0.0.1:{port}/placement'
    connections = Database.from_conf(configuration := applications.configured(url, None))
    client = Client(deploy.application_on(connections, configuration), CALLER)
    try:
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
        names = [
            p['name'] for p in client.send('GET', '/resource_providers').json['resource_providers']
        ]
        assert set(names) == {'first', 'second', 'third', 'fourth'}
    finally:
        connections.dispose()


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
