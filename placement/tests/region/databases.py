# SPDX-License-Identifier: Apache-2.0
"""The databases that a region may have: what the rest of it knows of them, and their faults."""

from __future__ import annotations

import contextlib
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import pymysql

from placement.tests.databases import clusters, servers
from placement.tests.servers import installation
from placement.tests.waiting import wait_until

SAMPLES = installation.REPOSITORY / 'etc' / 'haproxy'
# Seconds that a fault lasts which does not end by itself.
LASTING = 8
#: The change history gives up when nothing can be written, so that a run with this has none.
FULL = 'the disk of the database is full'
# Bytes of the file system that all nodes have; memory is taken for what they write.
ROOM = 4 * 2**30
# Seconds until a node that was down is asked: `inter` times `rise` of the sample.
RISE = 15
ISOLATE = "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'"

Faults = Mapping[str, Callable[[], None]]


class Cluster(Protocol):
    """The running nodes of a database, one of which a haproxy before them asks."""

    #: The name and the version.
    version: str
    #: The sample for haproxy, and its notes about the configuration of the service.
    sample: pathlib.Path
    parameters: str

    @property
    def nodes(self) -> Sequence[servers.PrivateServer]:
        """All of them; the first is asked at first."""

    def prepare(self) -> None:
        """Create the database of the service, and the user of haproxy."""

    def faults(self, chance: random.Random) -> Faults:
        """The faults of nodes by name; each is repaired when its function returns."""


def _parameters_in(sample: pathlib.Path) -> str:
    """The parameters of connections that a sample asks for."""
    found = re.search(r'^# connection_parameters = (.*)\.  ', sample.read_text(), re.MULTILINE)
    assert found
    return found[1]


class Disk:
    """A file system for all nodes of a database, in memory."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix='placement-disk-')
        mount = ['mount', '-t', 'tmpfs', '-o', f'size={ROOM}', 'placement', self.path]
        #: False where the system lets no one mount it.
        self.is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0

    def faults(self, nodes: Sequence[servers.PrivateServer]) -> Faults:
        """The faults of the nodes."""

        def fill() -> None:
            with self._full():
                time.sleep(LASTING)
            for node in nodes:
                if not node.is_running:
                    node.start()

        return {FULL: fill} if self.is_mounted else {}

    @contextlib.contextmanager
    def _full(self) -> Iterator[None]:
        # It does not become smaller than it is full, by what is written meanwhile.
        wait_until(lambda: self._is_resized(shutil.disk_usage(self.path).used))
        try:
            yield
        finally:
            wait_until(lambda: self._is_resized(ROOM))

    def _is_resized(self, size: int) -> bool:
        command = ['mount', '-o', f'remount,size={size}', self.path]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Keep on it the files of servers that are made now."""
        tempfile.tempdir, before = self.path, tempfile.tempdir
        try:
            yield
        finally:
            tempfile.tempdir = before

    def remove(self) -> None:
        """Unmount it, which is empty."""
        if self.is_mounted:
            subprocess.run(['umount', '--lazy', self.path], check=False)
        pathlib.Path(self.path).rmdir()


class Galera:
    """Three nodes of MariaDB, all of which could be asked."""

    sample = SAMPLES / 'galera.cfg'
    parameters = _parameters_in(sample)

    def __init__(self, nodes: Sequence[clusters.GaleraNode], disk: Disk | None = None) -> None:
        self.nodes = nodes
        self._disk = disk
        self.version = f'MariaDB {nodes[0].value("SELECT VERSION()")}'

    def prepare(self) -> None:
        """Create the database of the service, and the user of haproxy."""
        self.nodes[0].prepare()
        self.nodes[0].execute("CREATE USER 'haproxy'@'%'")

    def faults(self, chance: random.Random) -> Faults:
        """The faults of any node, or of all."""

        def any_node(do: Callable[[clusters.GaleraNode], None]) -> Callable[[], None]:
            return lambda: do(chance.choice(self.nodes))

        return {
            **(self._disk.faults(self.nodes) if self._disk else {}),
            'a database node is killed': any_node(self._crash),
            'a database node is frozen': any_node(self._freeze),
            'a database node is cut off from the others': any_node(self._isolate),
            'all database nodes are killed within a second': self._crash_all,
            'all database nodes are restarted in turn': self._restart,
        }

    def _crash(self, node: clusters.GaleraNode) -> None:
        node.crash()
        time.sleep(LASTING)
        node.recover()
        node.start()

    def _crash_all(self) -> None:
        for node in self.nodes:
            node.crash()
        for node in self.nodes:
            node.recover()
        # The nodes know the same transactions in the same order, and may lack the last ones.
        first = max(self.nodes, key=lambda node: node.recovered)
        first.bootstrap()
        for node in self.nodes:
            if node is not first:
                node.start()
        # As long as haproxy waits before it asks a node again.
        time.sleep(RISE)

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

    def __init__(self, nodes: Sequence[clusters.PostgresqlNode], disk: Disk | None = None) -> None:
        self.nodes = nodes
        self._disk = disk
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
        """The faults of the primary, or of standbys."""
        return {
            **(self._disk.faults(self.nodes) if self._disk else {}),
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
def galera(flush: int) -> Iterator[Cluster]:
    """A running cluster of Galera, with this innodb_flush_log_at_trx_commit."""
    with _started(clusters.galera(flush=flush)) as (nodes, disk):
        yield Galera(nodes, disk)


@contextlib.contextmanager
def postgresql(_flush: int) -> Iterator[Cluster]:
    """A running primary of PostgreSQL, and its standbys."""
    with _started(clusters.postgresql()) as (nodes, disk):
        yield Postgresql(nodes, disk)


Nodes = TypeVar('Nodes')


@contextlib.contextmanager
def _started(nodes: contextlib.AbstractContextManager[Nodes]) -> Iterator[tuple[Nodes, Disk]]:
    """Nodes with a disk of their own."""
    with contextlib.ExitStack() as stack:
        disk = Disk()
        stack.callback(disk.remove)
        with disk.holding():
            running = stack.enter_context(nodes)
        yield running, disk


#: By their names on the command line.
CLUSTERS: Mapping[str, Callable[[int], contextlib.AbstractContextManager[Cluster]]] = {
    'galera': galera,
    'postgresql': postgresql,
}
