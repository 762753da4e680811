# SPDX-License-Identifier: Apache-2.0
"""The databases that a region may have: what the rest of it knows of them, and their faults."""

from __future__ import annotations

import contextlib
import pathlib
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import pymysql

from placement.tests.databases import clusters, servers
from placement.tests.servers import installation

SAMPLES = installation.REPOSITORY / 'etc' / 'haproxy'
# Seconds that a fault lasts which does not end by itself.
LASTING = 8
ISOLATE = "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'"

Faults = Mapping[str, Callable[[], None]]


class Cluster(Protocol):
    """The running nodes of a database, one of which a haproxy before them asks."""

    #: The name and the version.
    version: str
    #: The sample for haproxy, and what it says about the configuration of the service.
    sample: pathlib.Path
    parameters: str

    @property
    def nodes(self) -> Sequence[servers.PrivateServer]:
        """All of them; the first is asked at first."""

    def prepare(self) -> None:
        """Create the database of the service, and the user of haproxy."""

    def faults(self, chance: random.Random) -> Faults:
        """What may happen to nodes, by name; each is over, and mended, when it returns."""


def _parameters_in(sample: pathlib.Path) -> str:
    """The parameters of connections that a sample asks for."""
    found = re.search(r'^# connection_parameters = (.*)\.  ', sample.read_text(), re.MULTILINE)
    assert found
    return found[1]


class Galera:
    """Three nodes of MariaDB, all of which could be asked."""

    sample = SAMPLES / 'galera.cfg'
    parameters = _parameters_in(sample)

    def __init__(self, nodes: Sequence[clusters.GaleraNode]) -> None:
        self.nodes = nodes
        self.version = f'MariaDB {nodes[0].value("SELECT VERSION()")}'

    def prepare(self) -> None:
        """Create the database of the service, and the user of haproxy."""
        self.nodes[0].prepare()
        self.nodes[0].execute("CREATE USER 'haproxy'@'%'")

    def faults(self, chance: random.Random) -> Faults:
        """What may happen to any node, or to all."""

        def any_node(do: Callable[[clusters.GaleraNode], None]) -> Callable[[], None]:
            return lambda: do(chance.choice(self.nodes))

        return {
            'a database node is killed': any_node(self._crash),
            'a database node is frozen': any_node(self._freeze),
            'a database node is cut off from the others': any_node(self._isolate),
            'all database nodes are restarted in turn': self._restart,
        }

    def _crash(self, node: clusters.GaleraNode) -> None:
        node.crash()
        time.sleep(LASTING)
        node.recover()
        node.start()

    def _freeze(self, node: clusters.GaleraNode) -> None:
        with node.frozen():
            time.sleep(LASTING)
        _wait_until_ready(node)

    def _isolate(self, node: clusters.GaleraNode) -> None:
        _ask(node, ISOLATE % 1)
        time.sleep(LASTING)
        _ask(node, ISOLATE % 0)
        _wait_until_ready(node)

    def _restart(self) -> None:
        for node in (*self.nodes[1:], self.nodes[0]):
            node.stop()
            node.start()


def _ask(node: clusters.GaleraNode, statement: str) -> tuple[str, ...] | None:
    """The first row; SQLAlchemy would send queries before, which a node alone refuses."""
    with pymysql.connect(
        host='127.0.0.1', port=node.port, user='root', autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(statement)
        return cursor.fetchone()


def _wait_until_ready(node: clusters.GaleraNode) -> None:
    deadline = time.monotonic() + servers.TIMEOUT
    while time.monotonic() < deadline:
        with contextlib.suppress(pymysql.MySQLError):
            if _ask(node, "SHOW GLOBAL STATUS LIKE 'wsrep_ready'") == ('wsrep_ready', 'ON'):
                return
        time.sleep(0.2)
    raise TimeoutError(f'a node of Galera is not ready: {node.log()}')


class Postgresql:
    """A primary of PostgreSQL with two standbys, one of which has what was acknowledged."""

    sample = SAMPLES / 'postgresql.cfg'
    parameters = _parameters_in(sample)

    def __init__(self, nodes: Sequence[clusters.PostgresqlNode]) -> None:
        self.nodes = nodes
        self.version = f'PostgreSQL {nodes[0].value("SHOW server_version")}'

    def prepare(self) -> None:
        """Create the database of the service, and the user of haproxy."""
        self.nodes[0].prepare()
        self.nodes[0].execute('CREATE USER haproxy')

    @property
    def _primary(self) -> clusters.PostgresqlNode:
        (primary,) = (node for node in self.nodes if node.is_primary)
        return primary

    @property
    def _standbys(self) -> Sequence[clusters.PostgresqlNode]:
        return [node for node in self.nodes if not node.is_primary]

    def faults(self, chance: random.Random) -> Faults:
        """What may happen to the primary, or to standbys."""
        return {
            'the primary is killed, and a standby promoted': self._fail_over,
            'the primary is frozen': self._freeze,
            'a standby is killed': lambda: self._crash(chance.choice(self._standbys)),
            'all standbys are killed': lambda: self._crash(*self._standbys),
            'the primary is killed, and starts again': lambda: self._crash(self._primary),
            'all database nodes are restarted in turn': self._restart,
        }

    def _fail_over(self) -> None:
        old = self._primary
        old.crash()
        new = clusters.fail_over(self.nodes)
        time.sleep(LASTING)
        old.rejoin(new)

    def _freeze(self) -> None:
        with self._primary.frozen():
            time.sleep(LASTING)

    def _crash(self, *nodes: clusters.PostgresqlNode) -> None:
        for node in nodes:
            node.crash()
        time.sleep(LASTING)
        for node in nodes:
            node.start()

    def _restart(self) -> None:
        for node in (*self._standbys, self._primary):
            node.stop()
            node.start()


@contextlib.contextmanager
def galera() -> Iterator[Cluster]:
    """A running cluster of Galera."""
    with clusters.galera() as nodes:
        yield Galera(nodes)


@contextlib.contextmanager
def postgresql() -> Iterator[Cluster]:
    """A running primary of PostgreSQL, and its standbys."""
    with clusters.postgresql() as nodes:
        yield Postgresql(nodes)


#: By their names on the command line.
CLUSTERS: Mapping[str, Callable[[], contextlib.AbstractContextManager[Cluster]]] = {
    'galera': galera,
    'postgresql': postgresql,
}
