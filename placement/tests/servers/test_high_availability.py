# SPDX-License-Identifier: Apache-2.0
"""The page about high availability: three controllers with one address, and a Galera cluster.

Each controller has a network, an /etc and an /opt of its own. The commands of the page run there
as they stand, apart from `systemctl`, which only notes what is to be restarted.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest
import requests

from placement.tests.databases import clusters
from placement.tests.functional.fixtures import databases
from placement.tests.servers import installation, pages, servers, test_recipes
from placement.tests.waiting import wait_until

PAGES = installation.REPOSITORY / 'doc' / 'source'
PAGE = pages.sections(PAGES / 'high-availability.rst')
INSTALLING = (PAGES / 'install.rst').read_text()
HAPROXY = installation.REPOSITORY / 'etc' / 'haproxy'
SHARED = '192.0.2.10'
ADDRESSES = ('192.0.2.11', '192.0.2.12', '192.0.2.13')
#: That of the clients and of the database servers.
OUTSIDE = '192.0.2.1'
PORT = 8778
CLONE_NEWNET = 0x40000000

pytestmark = installation.needs_root

#: Boot a controller, which has what is below etc and opt of its directory beside this machine's.
BOOT = """
for name in etc opt; do
    mkdir -p "$1/$name" "$1/work-$name"
    mount -t overlay overlay -o "lowerdir=/$name,upperdir=$1/$name,workdir=$1/work-$name" \\
        /$name || exit
done
mount -t tmpfs tmpfs /run
mkdir -p /run/haproxy /etc/placement /opt/placement
mount --bind "$2" /opt/placement || exit
ip link set lo up
echo ready
exec sleep infinity
"""

#: A command of the page; what it would restart is printed.
COMMAND = 'cd "$2"; systemctl() { echo "systemctl $*"; }; eval "$1"'

CONFIGURATION = """
[DEFAULT]
use_stderr = true
[api]
auth_strategy = noauth2
noauth2_allowed_hosts = *
[oslo_policy]
enforce_new_defaults = false
"""


class Controller:
    """A machine with uWSGI and haproxy; a context manager boots it and stops everything."""

    def __init__(self, directory: pathlib.Path, environment: pathlib.Path, number: int) -> None:
        self.directory = directory
        self.environment = environment
        self.number = number
        self.address = ADDRESSES[number]
        self.address_of_uwsgi = f'{self.address}:8779'
        self.uwsgi = Uwsgi(self)
        self.haproxy = Haproxy(self)
        self._process: subprocess.Popen[str] | None = None

    @property
    def root(self) -> pathlib.Path:
        """Its files, as other machines of the test see them."""
        assert self._process is not None
        return pathlib.Path(f'/proc/{self._process.pid}/root')

    def inside(self, *command: str) -> list[str]:
        """A command of this machine that runs one on the controller."""
        assert self._process is not None
        return ['nsenter', f'--target={self._process.pid}', '--mount', '--net', *command]

    def run(self, *command: str) -> str:
        """Run a command on the controller; what it prints."""
        inside = self.inside(*command)
        return subprocess.run(inside, check=True, stdout=subprocess.PIPE, text=True).stdout

    def follow(self, steps: Sequence[pages.Step], nodes: Sequence[clusters.GaleraNode]) -> None:
        """Do what the page says for the first controller, with the address of this one, and those
        of the nodes."""
        for step in steps:
            if isinstance(step, pages.Addition):
                self.run('bash', '-c', 'echo "$1" >> "$2"', 'bash', step.text, step.path)
                continue
            text = step.text
            if 'uwsgi' in text:
                text = text.replace(ADDRESSES[0], self.address)
            for number, node in enumerate(nodes, 1):
                address = f'example.org:3306/{OUTSIDE}:{node.port}'
                text = text.replace(f'example.org:/192.0.2.2{number}:', address)
            sources = str(installation.REPOSITORY)
            for line in self.run('bash', '-c', COMMAND, 'bash', text, sources).splitlines():
                if line == 'systemctl restart placement-uwsgi':
                    self.uwsgi.stop()
                    self.uwsgi.restart()
                elif line.startswith('systemctl'):
                    assert line == 'systemctl restart haproxy'
                    self.haproxy.stop()
                    self.haproxy.have_patience()
                    self.haproxy.start()

    def restart(self, balancers: Sequence[Haproxy]) -> None:
        """Take it out of service, restart uWSGI, and return when it is in service again."""
        self.run('touch', '/etc/placement/out-of-service')
        wait_until(lambda: all(each.is_done_with(self.address_of_uwsgi) for each in balancers))
        self.uwsgi.stop()
        self.run('rm', '/etc/placement/out-of-service')
        self.uwsgi.restart()
        wait_until(lambda: all(each.passes_to(self.address_of_uwsgi) for each in balancers))

    def have_shared_address(self, has: bool) -> None:
        """Give it the shared address or take it away, as keepalived does."""
        verb = 'add' if has else 'delete'
        self.run('ip', 'address', verb, f'{SHARED}/24', 'dev', 'eth0')
        if has:
            subprocess.run(['ip', 'neighbour', 'flush', 'to', SHARED], check=True)

    def __enter__(self) -> Controller:
        self._process = subprocess.Popen(
            ['unshare', '--mount', '--net', 'bash', '-c', BOOT, 'boot',
             str(self.directory), str(self.environment)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        with self._process.stdout as printed:
            assert printed.readline() == 'ready\n'
        outer, inner = f'outer{self.number}', f'inner{self.number}'
        for command in (
            f'ip link add {outer} type veth peer name {inner}',
            f'ip link set {outer} master switch up',
            f'ip link set {inner} netns {self._process.pid} name eth0',
        ):
            subprocess.run(command.split(), check=True)
        self.run('ip', 'address', 'add', f'{self.address}/24', 'dev', 'eth0')
        self.run('ip', 'link', 'set', 'eth0', 'up')
        return self

    def __exit__(self, *failure: object) -> None:
        for process in (self.haproxy, self.uwsgi):
            process.stop()
            process.print_log()
        assert self._process is not None
        self._process.kill()
        self._process.wait()


class Uwsgi(servers.Uwsgi):
    """uWSGI of a controller."""

    def __init__(self, controller: Controller) -> None:
        super().__init__(controller.directory, controller.environment, '')
        self.controller = controller

    @property
    def url(self) -> str:
        """Where the load balancers ask."""
        return f'http://{self.controller.address_of_uwsgi}'

    @property
    def environ(self) -> dict[str, str]:
        """The configuration is in its usual place."""
        return {'PATH': os.environ['PATH']}

    def expect_processes(self, number: int) -> None:
        """It is ready when both of its processes can answer."""
        super().expect_processes(2)

    def command(self) -> list[str]:
        """The command of the unit."""
        arguments = ['--ini', '/etc/placement/placement-uwsgi.ini']
        control = ['--master-fifo', str(self.directory / 'control')]
        return self.controller.inside('/opt/placement/bin/uwsgi', *arguments, *control)


class Haproxy(servers.Haproxy):
    """haproxy of a controller, before the API and before the database."""

    def __init__(self, controller: Controller) -> None:
        super().__init__(controller.directory)
        self.controller = controller

    @property
    def stats_socket(self) -> pathlib.Path:
        """That of the distribution."""
        return self.controller.root / 'run' / 'haproxy' / 'admin.sock'

    def have_patience(self) -> None:
        """Let its health checks outlast each pause of a busy machine."""
        for name in ('placement.cfg', 'galera.cfg'):
            path = self.controller.root / 'etc' / 'haproxy' / name
            path.write_text(test_recipes.patient(path.read_text()))

    def _answers(self) -> bool:
        # The shared address may be that of another controller.
        listening = self.controller.run('ss', '--listening', '--tcp', '--numeric')
        return f':{PORT} ' in listening

    def command(self) -> list[str]:
        """The command of the unit of Debian, with EXTRAOPTS."""
        command = '. /etc/default/haproxy; exec haproxy -Ws -f /etc/haproxy/haproxy.cfg $EXTRAOPTS'
        return self.controller.inside('bash', '-c', command)


@contextlib.contextmanager
def network() -> Iterator[None]:
    """Move this thread, and what it starts, into a network of its own with a switch."""
    library = ctypes.CDLL(None, use_errno=True)
    with open('/proc/thread-self/ns/net', 'rb') as before:
        assert library.unshare(CLONE_NEWNET) == 0
        try:
            for command in (
                'ip link set lo up',
                'ip link add switch type bridge',
                f'ip address add {OUTSIDE}/24 dev switch',
                'ip link set switch up',
            ):
                subprocess.run(command.split(), check=True)
            yield
        finally:
            assert library.setns(before.fileno(), CLONE_NEWNET) == 0


def install(directory: pathlib.Path) -> None:
    """Write the files that the page about installing does, with two processes."""
    placement, haproxy = directory / 'etc' / 'placement', directory / 'etc' / 'haproxy'
    for path in (placement, haproxy):
        path.mkdir(parents=True)
    processes = {'processes = 4': 'processes = 2'}
    text = servers.replaced(servers.SAMPLES / 'placement-uwsgi.ini', processes)
    (placement / 'placement-uwsgi.ini').write_text(text)
    text = CONFIGURATION + test_recipes.OUT_OF_SERVICE.format(path='/etc/placement/out-of-service')
    (placement / 'placement.conf').write_text(text)
    shutil.copy(HAPROXY / 'placement.cfg', haproxy)
    (directory / 'etc' / 'default').mkdir()
    (options,) = [line for line in INSTALLING.splitlines() if 'EXTRAOPTS=' in line]
    (directory / 'etc' / 'default' / 'haproxy').write_text(options.strip())


@pytest.fixture(scope='module')
def environment() -> pathlib.Path:
    """The service with uWSGI, made before there is a network without others."""
    installation.install_system_packages('haproxy', 'iproute2')
    return installation.service_environment('wsgi', sys.executable, 'pyuwsgi', 'PyMySQL')


@pytest.fixture(scope='module')
def nodes(environment: pathlib.Path) -> Iterator[Sequence[clusters.GaleraNode]]:
    """The nodes of the database, in the network of the test."""
    assert environment.exists()
    with network(), clusters.galera(address='0.0.0.0') as nodes:
        for statement in (
            'CREATE DATABASE placement',
            "CREATE USER 'haproxy'@'%'",
            "CREATE USER 'placement'@'%' IDENTIFIED BY 'SECRET'",
            "GRANT ALL ON placement.* TO 'placement'@'%'",
        ):
            nodes[0].execute(statement)
        databases.migrate(nodes[0].service_url())
        yield nodes


@pytest.fixture(scope='module')
def controllers(
    environment: pathlib.Path, nodes: Sequence[clusters.GaleraNode]
) -> Iterator[list[Controller]]:
    """Three controllers that share the address, which the first one has."""
    with contextlib.ExitStack() as stack:
        machines = []
        *steps, question = PAGE['Three controllers']
        for number in range(len(ADDRESSES)):
            directory = stack.enter_context(installation.directory())
            install(directory)
            machine = stack.enter_context(Controller(directory, environment, number))
            machine.haproxy.start()
            machine.follow(steps, nodes)
            machines.append(machine)
        machines[0].have_shared_address(True)
        machines[0].follow([question], nodes)
        yield machines


def test_every_instruction_is_followed() -> None:
    assert [title for title, steps in PAGE.items() if steps] == ['Three controllers']


def test_no_request_is_lost_while_each_controller_is_restarted(
    controllers: list[Controller], nodes: Sequence[clusters.GaleraNode]
) -> None:
    with test_recipes.claims_at(f'http://{SHARED}:{PORT}').running():
        for machine in controllers:
            machine.restart([controller.haproxy for controller in controllers])
        controllers[0].uwsgi.reload()
    assert nodes[0].value('SELECT COUNT(*) FROM placement.allocations') == 0


def test_the_shared_address_moves_to_another_controller(controllers: list[Controller]) -> None:
    first, second, third = controllers
    first.have_shared_address(False)
    second.have_shared_address(True)
    first.haproxy.stop()
    first.uwsgi.stop()
    wait_until(lambda: requests.get(f'http://{SHARED}:{PORT}/healthcheck').ok)
    address = first.address_of_uwsgi
    wait_until(lambda: not any(each.haproxy.passes_to(address) for each in (second, third)))
    with test_recipes.claims_at(f'http://{SHARED}:{PORT}').running():
        time.sleep(test_recipes.SECONDS)
    first.haproxy.start()
    first.uwsgi.restart()
