# SPDX-License-Identifier: Apache-2.0
"""The faults of a region, each of which begins, lasts, and is mended."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pymysql

from benchmarks.region.record import Record
from benchmarks.region.services import Region
from placement.tests.databases import clusters, servers

# Seconds that a fault lasts which does not end by itself, and that follow it.
LASTING = 8
AFTERWARDS = 8
SHARE_OF_COMMITS = 0.2
ISOLATE = "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'"


class Fault(NamedTuple):
    """A fault that was there, in seconds since the record began."""

    name: str
    begun: float
    ended: float


@contextlib.contextmanager
def _stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


class Nemesis:
    """Does faults to the services of a region, one after another, chosen by a seed."""

    def __init__(self, region: Region, record: Record, seed: int) -> None:
        self._region = region
        self._record = record
        self._random = random.Random(seed)
        self.faults = list[Fault]()

    @property
    def _node(self) -> clusters.GaleraNode:
        return self._random.choice(self._region.nodes)

    @property
    def _every(self) -> dict[str, Callable[[], None]]:
        return {
            'a worker is killed': self._kill_worker,
            'a worker is frozen': self._freeze_worker,
            'an API instance is killed': self._kill_instance,
            'all API instances are restarted in turn': self._restart_instances,
            'an API instance is reloaded': self._reload_instance,
            'replies to COMMIT are lost': self._lose_commits,
            'the network to the database is silent': self._silence,
            'a database node is killed': self._crash_node,
            'a database node is frozen': self._freeze_node,
            'a database node is cut off from the others': self._isolate_node,
            'all database nodes are restarted in turn': self._restart_nodes,
        }

    def work(self, seconds: float) -> None:
        """Do all faults in a random order, again and again, until the time is over."""
        end = self._record.now + seconds
        while True:
            for name, do in self._random.sample(sorted(self._every.items()), len(self._every)):
                begun = self._record.now
                do()
                self.faults.append(Fault(name, begun, self._record.now))
                print(f'{self._record.now:7.1f} s  {name}', flush=True)
                time.sleep(AFTERWARDS)
                if self._record.now > end:
                    return

    def _kill_worker(self) -> None:
        controller = self._random.choice(self._region.controllers)
        os.kill(self._random.choice(controller.workers), signal.SIGKILL)

    def _freeze_worker(self) -> None:
        controller = self._random.choice(self._region.controllers)
        with _stopped(self._random.choice(controller.workers)):
            time.sleep(LASTING)

    def _kill_instance(self) -> None:
        controller = self._random.choice(self._region.controllers)
        controller.kill()
        time.sleep(LASTING)
        controller.restart()

    def _restart_instances(self) -> None:
        for controller in self._region.controllers:
            controller.stop()
            controller.restart()

    def _reload_instance(self) -> None:
        self._random.choice(self._region.controllers).reload()

    def _lose_commits(self) -> None:
        for controller in self._region.controllers:
            controller.proxy.share = SHARE_OF_COMMITS
        time.sleep(LASTING)
        for controller in self._region.controllers:
            controller.proxy.share = 0

    def _silence(self) -> None:
        proxy = self._random.choice(self._region.controllers).proxy
        proxy.freeze()
        time.sleep(LASTING)
        proxy.thaw()

    def _crash_node(self) -> None:
        node = self._node
        node.crash()
        time.sleep(LASTING)
        node.recover()
        node.start()

    def _freeze_node(self) -> None:
        node = self._node
        with node.frozen():
            time.sleep(LASTING)
        _wait_until_ready(node)

    def _isolate_node(self) -> None:
        node = self._node
        _ask(node, ISOLATE % 1)
        time.sleep(LASTING)
        _ask(node, ISOLATE % 0)
        _wait_until_ready(node)

    def _restart_nodes(self) -> None:
        for node in (*self._region.nodes[1:], self._region.nodes[0]):
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


def versions(region: Region) -> list[str]:
    """The versions of what runs."""
    haproxy = subprocess.run(['haproxy', '-v'], capture_output=True, text=True, check=True)
    return [
        f'MariaDB {region.nodes[0].value("SELECT VERSION()")}',
        haproxy.stdout.splitlines()[0].partition(' - ')[0],
    ]
