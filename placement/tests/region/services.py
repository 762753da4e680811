# SPDX-License-Identifier: Apache-2.0
"""The services of a region, from the samples in etc/: Galera, haproxy, uWSGI, haproxy."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import requests
import sqlalchemy as sa

from placement.tests.databases.poolers import Pgbouncer
from placement.tests.databases.servers import free_port
from placement.tests.functional.fixtures import databases
from placement.tests.functional.fixtures.commit_proxy import CommitProxy
from placement.tests.region import stored
from placement.tests.region.databases import CLUSTERS, Cluster
from placement.tests.servers import installation, prometheus, servers
from placement.tests.servers.keystone import ADMIN, AUTHTOKEN, PASSWORD, Cloud, Keystone
from placement.tests.servers.prometheus import MetricsProcess, Prometheus

CONTROLLERS = 3
# Seconds that tokens last: longer than any run.
LONG = 10 * 86400
# Options of pgbouncer: a client waits less long than the service, and a node that is back is soon
# asked.
POOLER = 'query_wait_timeout = 10\nserver_login_retry = 1'

CONFIGURATION = """
[DEFAULT]
use_stderr = true
[history]
enabled = true
[metrics]
enabled = true
directory = {directory}/metrics
[placement]
check_changes = true
[placement_database]
connection = {url}
connection_parameters = {parameters}
"""


class NodeBalancer(servers.Process):
    """haproxy before the nodes of a cluster, as each controller has one.

    Connections lead to node number `first` while it answers; with `poolers`, through its pooler.
    """

    environ: Mapping[str, str] = {'PATH': os.environ['PATH']}

    def __init__(
        self,
        directory: pathlib.Path,
        cluster: Cluster,
        first: int = 0,
        poolers: Sequence[Pgbouncer] = (),
    ) -> None:
        super().__init__(directory / 'node-haproxy.log')
        self._cluster = cluster
        #: Parameters of connections. pgbouncer tells clients what its first server has said, also
        #: after a promotion, so that they cannot ask for a primary.
        self.parameters = '' if poolers else cluster.parameters
        ports = [one.port for one in poolers or cluster.nodes]
        self._ports = [*ports[first:], *ports[:first]]
        self._path = directory / 'nodes.cfg'
        self._port = free_port()

    @property
    def url(self) -> str:
        """The URL of the database of the service."""
        url = sa.make_url(self._cluster.nodes[0].url('placement')).set(port=self._port)
        return url.render_as_string(hide_password=False)

    def command(self) -> list[str]:
        """haproxy with the sample."""
        text = self._cluster.sample.read_text()
        text = re.sub(r'bind 127.0.0.1:\d+', f'bind 127.0.0.1:{self._port}', text)
        for number, port in enumerate(self._ports, 1):
            text = re.sub(rf'db{number}.example.org:\d+', f'127.0.0.1:{port}', text)
        self._path.write_text('global\n    log stderr local0\n' + text)
        return ['haproxy', '-db', '-f', str(self._path)]

    def _answers(self) -> bool:
        """Ask as often as there are nodes: haproxy asks each in turn until it has checked them."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        try:
            for _ in self._ports:
                with engine.connect() as connection:
                    connection.execute(sa.text('CREATE TEMPORARY TABLE writable (id INTEGER)'))
        except sa.exc.DBAPIError:
            return False
        return True


class Controller(servers.Uwsgi):
    """uWSGI with the service, whose database is behind a proxy that can lose commits."""

    timeout = 300

    def __init__(
        self, directory: pathlib.Path, url: str, parameters: str, keystone: Keystone
    ) -> None:
        environment = installation.service_environment(
            'region', sys.executable, 'pyuwsgi', 'PyMySQL', 'psycopg[binary]'
        )
        super().__init__(directory, environment, '')
        self.proxy = CommitProxy(url, seed=len(directory.name))
        #: How wrong the clock is, as faketime takes it, from the next start on.
        self.clock = ''
        self._parameters = parameters
        self._keystone = keystone

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that makes its clock wrong.

        The monotonic clock is shifted as well, which changes no interval: otherwise faketime makes
        `time.sleep` fail.
        """
        if not self.clock:
            return super().environ
        (library,) = pathlib.Path('/usr/lib').glob('*/faketime/libfaketimeMT.so.1')
        return {**super().environ, 'FAKETIME': self.clock, 'LD_PRELOAD': str(library)}

    def configure(self) -> None:
        """Write the configuration, with what the sample for the database asks for."""
        text = CONFIGURATION.format(
            directory=self.directory, url=self.proxy.url, parameters=self._parameters
        )
        text += AUTHTOKEN.format(keystone=self._keystone.url, password=PASSWORD % 'service')
        self.directory.joinpath('placement.conf').write_text(text)

    def kill(self) -> None:
        """Kill all of its processes, as when the machine loses power, and wait for their end."""
        subprocess.run(['pkill', '--signal', 'KILL', '--session', str(self.pid)], check=False)
        self.stop()

    @property
    def workers(self) -> list[int]:
        """The processes that answer."""
        found = subprocess.run(
            ['pgrep', '--parent', str(self.pid)], capture_output=True, text=True, check=False
        )
        return [int(line) for line in found.stdout.split()]


class Tokens:
    """The tokens that clients send: an administrator's, one of them issued at the beginning, and a
    service's."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self.old = self.another()
        #: It may be replaced by one that no instance of the service has seen.
        self.new = self.another()
        self.service = cloud.token('service', 'service')

    def another(self) -> str:
        """Get a token."""
        return self._cloud.token(ADMIN, 'admin')


class Region(NamedTuple):
    """All services; `balancer` is where clients ask."""

    keystone: Keystone
    tokens: Tokens
    cluster: Cluster
    controllers: Sequence[Controller]
    node_balancer: NodeBalancer
    balancer: servers.Haproxy
    prometheus: Prometheus

    @property
    def urls(self) -> dict[str, str]:
        """Where each instance answers, and the balancer."""
        instances = {f'instance {n}': c.url for n, c in enumerate(self.controllers, 1)}
        return {'balancer': f'http://127.0.0.1:{self.balancer.port}', **instances}

    def session(self) -> requests.Session:
        """Something that sends requests."""
        return requests.Session()

    def stored(self) -> stored.Stored | None:
        """The contents of the database, read through the haproxy of a controller."""
        return stored.read(self.node_balancer.url, self.node_balancer.parameters)


class Choices(NamedTuple):
    """The parts of a region."""

    database: str
    #: Number of nodes that are written to at the same time, each by instances of its own.
    writers: int = 1
    #: innodb_flush_log_at_trx_commit of the nodes, where they have it.
    flush: int = 1
    #: True if each node of PostgreSQL has a pgbouncer, which haproxy asks in its place.
    has_pooler: bool = False


@contextlib.contextmanager
def region(choices: Choices) -> Iterator[Region]:
    """Start a region with an empty database; everything ends with the context."""
    packages = ['pgbouncer'] if choices.has_pooler else []
    installation.install_system_packages('haproxy', 'faketime', *packages, *prometheus.PACKAGES)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(installation.directory())
        keystone = Keystone(directory, expiration=LONG)
        keystone.prepare()
        start(stack, keystone)
        cluster = stack.enter_context(CLUSTERS[choices.database](choices.flush))
        cluster.prepare()
        databases.migrate(cluster.nodes[0].service_url())
        poolers = list(_poolers(stack, cluster)) if choices.has_pooler else []
        controllers = [
            _controller(stack, cluster, keystone, number % choices.writers, poolers)
            for number in range(CONTROLLERS)
        ]
        exporters = [MetricsProcess(controller) for controller in controllers]
        balancer = servers.Haproxy(directory, *(controller.port for controller in controllers))
        watcher = Prometheus(directory, *(exporter.address for exporter in exporters))
        # That of the clients has no fault.
        behind = NodeBalancer(directory, cluster, poolers=poolers)
        for process in (*exporters, behind, balancer, watcher):
            start(stack, process)
        tokens = Tokens(Cloud(keystone))
        yield Region(keystone, tokens, cluster, controllers, behind, balancer, watcher)


def start(stack: contextlib.ExitStack, process: servers.Process) -> None:
    """Start a process that stops with the stack, also where its start is broken off."""
    stack.callback(process.stop)
    process.start()


def _poolers(stack: contextlib.ExitStack, cluster: Cluster) -> Iterator[Pgbouncer]:
    for node in cluster.nodes:
        directory = stack.enter_context(installation.directory())
        pooler = Pgbouncer(directory, node.url('placement'), POOLER, size=30)
        stack.callback(pooler.stop)
        pooler.start()
        yield pooler


def _controller(
    stack: contextlib.ExitStack,
    cluster: Cluster,
    keystone: Keystone,
    node: int,
    poolers: Sequence[Pgbouncer],
) -> Controller:
    """A running instance of the service, and the programs it needs on the same machine."""
    directory = stack.enter_context(installation.directory())
    behind = NodeBalancer(directory, cluster, node, poolers)
    start(stack, behind)
    controller = Controller(directory, behind.url, behind.parameters, keystone)
    stack.callback(controller.proxy.close)
    controller.configure()
    stack.callback(controller.stop)
    controller.restart()
    return controller
