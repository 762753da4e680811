# SPDX-License-Identifier: Apache-2.0
"""Servers that run the service as operators do, from the samples in etc/placement."""

import concurrent.futures
import contextlib
import csv
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import requests

from placement.tests import fixtures
from placement.tests.databases.servers import free_port
from placement.tests.servers import installation
from placement.tests.waiting import TIMEOUT, wait_until

SAMPLES = installation.REPOSITORY / 'etc' / 'placement'
PROCESSES = 3
THREADS = 4
# The user that Debian has for web servers.
WEB_USER = 'www-data'

CONFIGURATION = """
[DEFAULT]
debug = true
use_stderr = true
[api]
auth_strategy = noauth2
noauth2_allowed_hosts = placement.example, placement
[oslo_policy]
enforce_new_defaults = false
[placement_database]
connection = sqlite:///{database}
sqlite_synchronous = false
"""


class Process:
    """A process that answers at a URL; a context manager starts and stops it."""

    #: What its manager sends to stop it.
    stop_signal = signal.SIGTERM
    #: Seconds that it may take to start.
    timeout = TIMEOUT

    def __init__(self, log: pathlib.Path) -> None:
        self.log = log
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f'http://127.0.0.1:{self.port}'

    @property
    def probe(self) -> str:
        """A URL that answers with success when the process is ready."""
        return f'{self.url}/'

    @property
    def environ(self) -> Mapping[str, str]:
        """Its environment variables: those of the tests do not reach it."""
        return {'PATH': os.environ['PATH']}

    def command(self) -> list[str]:
        """How it is started, in the foreground."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and return when it answers."""
        with self.log.open('ab') as log:
            self._process = subprocess.Popen(
                self.command(),
                env=dict(self.environ),
                cwd='/',
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Return when it answers."""

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()
            return self._answers()

        wait_until(answers, self.log.read_text, self.timeout)

    def expect_processes(self, number: int) -> None:
        """It is ready when so many processes that start from now on can answer.

        One answer is enough, unless a kind of server needs more.
        """

    def stop(self) -> None:
        """Stop it as its manager would; it may be stopped already."""
        if self._process is not None:
            self._process.send_signal(self.stop_signal)
            try:
                self._process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
                raise
            self._process = None

    @property
    def pid(self) -> int:
        """The first of its processes."""
        assert self._process is not None
        return self._process.pid

    def _answers(self) -> bool:
        try:
            return requests.get(self.probe, timeout=TIMEOUT).ok
        except requests.ConnectionError:
            return False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()
        self.print_log()

    def print_log(self) -> None:
        """Print the end of its log, which is shown when a test fails."""
        sys.stdout.write(self.log.read_text()[-4000:])


class Server(Process):
    """The service under one kind of web server, mounted at ``prefix``, with its own directory.

    ``options`` are added to its configuration.
    """

    options = ''
    processes = PROCESSES

    def __init__(self, directory: pathlib.Path, environment: pathlib.Path, prefix: str) -> None:
        super().__init__(directory / 'server.log')
        self.directory = directory
        self.environment = environment
        self.prefix = prefix
        self.database = directory / 'data' / 'placement.sqlite'
        self.log_file: pathlib.Path | None = None

    @property
    def url(self) -> str:
        """Where the service is."""
        return f'{super().url}{self.prefix}'

    @property
    def environ(self) -> Mapping[str, str]:
        """Where the configuration is; what else there is would be chance."""
        return {**super().environ, 'OS_PLACEMENT_CONFIG_DIR': str(self.directory)}

    def start(self) -> None:
        """Start the server on an empty database."""
        shutil.rmtree(self.database.parent, ignore_errors=True)
        self.database.parent.mkdir()
        # A web server runs the service as another user, who may write here and nowhere else.
        self.database.parent.chmod(0o777)
        fixtures.fill(str(self.database))
        shutil.copy(self.database, self.directory / 'empty.sqlite')
        self.database.chmod(0o666)
        self.configure()
        self.restart()

    def configure(self) -> None:
        """Write the configuration."""
        text = CONFIGURATION.format(database=self.database)
        if self.log_file is not None:
            text = text.replace('use_stderr = true', f'log_file = {self.log_file}')
        self.directory.joinpath('placement.conf').write_text(text + self.options)

    def restart(self) -> None:
        """Start the server, which is stopped, on the database as it is."""
        super().start()

    def reset(self) -> None:
        """Restore the empty database below the server, which goes on."""
        with (
            contextlib.closing(sqlite3.connect(self.directory / 'empty.sqlite')) as empty,
            contextlib.closing(sqlite3.connect(self.database)) as database,
        ):
            empty.backup(database)


class Apache(Server):
    """Apache with mod_wsgi: a daemon process group, made from the sample of a virtual host."""

    stop_signal = signal.SIGWINCH

    def __init__(self, directory: pathlib.Path, environment: pathlib.Path, prefix: str) -> None:
        super().__init__(directory, environment, prefix)
        self.script = environment / 'bin' / 'placement-api'

    def command(self) -> list[str]:
        """Apache with nothing but the modules that it takes."""
        modules = '/usr/lib/apache2/modules/mod_{0}.so'
        configuration = [
            f'ServerRoot {self.directory}',
            'ServerName placement.example',
            f'PidFile {self.directory}/apache.pid',
            f'DefaultRuntimeDir {self.directory}',
            f'ErrorLog {self.log}',
            *(
                f'LoadModule {name}_module {modules.format(name)}'
                for name in (
                    'mpm_event',
                    'authz_core',
                    'reqtimeout',
                    'filter',
                    'deflate',
                    'headers',
                    'wsgi',
                )
            ),
            f'WSGISocketPrefix {self.directory}/wsgi',
            'LogFormat "%h %u %r %>s" combined',
        ]
        if os.getuid() == 0:
            configuration += [f'User {WEB_USER}', f'Group #{pwd.getpwnam(WEB_USER).pw_gid}']
        path = self.directory / 'apache.conf'
        path.write_text('\n'.join([*configuration, self.virtual_host()]))
        return ['apache2', '-f', str(path), '-DFOREGROUND']

    def virtual_host(self) -> str:
        """The sample with what differs here: paths, the port, and how many processes."""
        mount = self.prefix or '/'
        user = f' user={WEB_USER}' if os.getuid() == 0 else ''
        return replaced(
            SAMPLES / 'placement-api.conf',
            {
                'Listen 8778': f'Listen 127.0.0.1:{self.port}',
                '*:8778': f'*:{self.port}',
                'processes=4 threads=4': f'processes={self.processes} threads={THREADS}',
                ' user=placement group=placement': user,
                '=/opt/placement\n': f'={self.environment}\n',
                'WSGIScriptAlias / /opt/placement/bin/placement-api': (
                    f'WSGIScriptAlias {mount} {self.script}'
                ),
                '<Directory /opt/placement/bin>': f'<Directory {self.script.parent}>',
                '<Files placement-api>': f'<Files {self.script.name}>',
                '/var/log/apache2/placement-api.log': str(self.log),
                '/var/log/apache2/placement-api-access.log': f'{self.directory}/access.log',
            },
        )


#: What the sample of uWSGI loads.
MODULE = 'mount = /=placement.wsgi.api:application'


class Uwsgi(Server):
    """uWSGI, from the sample of its configuration."""

    def restart(self) -> None:
        """Start it on the database as it is, and return when all of its processes can answer."""
        self.expect_processes(PROCESSES)
        super().restart()

    def expect_processes(self, number: int) -> None:
        """It is ready when so many processes that start from now on can answer."""
        self._expected = number
        # What was there before is of other processes.
        self._logged = self.log.stat().st_size if self.log.exists() else 0

    def _answers(self) -> bool:
        # A reload that began while some were loading would count these as new.
        ready = self.log.read_bytes()[self._logged :].count(b' ready in ')
        return ready >= self._expected and super()._answers()

    def command(self) -> list[str]:
        """uWSGI on a loopback port."""
        text = replaced(
            SAMPLES / 'placement-uwsgi.ini',
            {
                '127.0.0.1:8779': f'127.0.0.1:{self.port}',
                '= /opt/placement\n': f'= {self.environment}\n',
                MODULE: self.application(),
                'processes = 4\nthreads = 4': f'processes = {PROCESSES}\nthreads = {THREADS}',
            },
        )
        path = self.directory / 'uwsgi.ini'
        path.write_text(text)
        command = [str(self.environment / 'bin' / 'uwsgi'), '--ini', str(path)]
        return [*command, '--master-fifo', str(self.directory / 'control')]

    def reload(self) -> None:
        """Exchange one process after the other, and return when all are new."""
        self.expect_processes(PROCESSES)
        self.directory.joinpath('control').write_text('c')
        self.wait_until_ready()

    def application(self) -> str:
        """The line of the configuration that names what it loads."""
        return MODULE.replace('/=', f'{self.prefix or "/"}=')


class UwsgiWithCommand(Uwsgi):
    """uWSGI, with the command that the package installs as its script."""

    def application(self) -> str:
        """The line of the configuration that names what it loads."""
        # uWSGI mounts only files whose names end with .py or .wsgi.
        return f'wsgi-file = {self.environment}/bin/placement-api'


class Gunicorn(Server):
    """gunicorn, from the sample of its unit; its prefix is an environment variable."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of the server."""
        mount = {'SCRIPT_NAME': self.prefix} if self.prefix else {}
        return {**super().environ, **mount}

    def command(self) -> list[str]:
        """The command of the unit on a loopback port."""
        text = replaced(
            installation.REPOSITORY / 'etc' / 'systemd' / 'placement-gunicorn.service',
            {
                'ExecStart=/opt/placement': f'ExecStart={self.environment}',
                '/etc/placement/placement-gunicorn.py': f'{SAMPLES}/placement-gunicorn.py',
                '--workers 4 --threads 4': f'--workers {PROCESSES} --threads {THREADS}',
                '127.0.0.1:8779': f'127.0.0.1:{self.port}',
            },
        )
        (command,) = re.findall(r'^ExecStart=((?:.*\\\n)*.*)$', text, re.M)
        return shlex.split(command.replace('\\\n', ''))


class PlacementApi(Server):
    """The command of the service, with waitress."""

    def command(self) -> list[str]:
        """The command on a loopback port."""
        return [
            str(self.environment / 'bin' / 'placement-api'),
            '--port', str(self.port),
            '--threads', str(THREADS),
            '--config-file', str(self.directory / 'placement.conf'),
        ]  # fmt: skip


class Nginx(Process):
    """nginx in front of a server, from the sample of its configuration."""

    stop_signal = signal.SIGQUIT

    def __init__(self, directory: pathlib.Path, server: Server) -> None:
        super().__init__(directory / 'nginx.log')
        self.directory = directory
        self.server = server

    @property
    def probe(self) -> str:
        """The URL that answers when both are there."""
        return f'{self.url}{self.server.prefix}/'

    def command(self) -> list[str]:
        """nginx with as many connections as the sample asks for."""
        virtual_host = replaced(
            SAMPLES / 'placement-nginx.conf',
            {
                '127.0.0.1:8779': f'127.0.0.1:{self.server.port}',
                'listen 8778': f'listen 127.0.0.1:{self.port}',
            },
        )
        temporary = [
            f'{name}_temp_path {self.directory}/{name};'
            for name in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
        ]
        user = f'user {WEB_USER};' if os.getuid() == 0 else ''
        path = self.directory / 'nginx.conf'
        path.write_text(
            f'{user} daemon off; pid {self.directory}/nginx.pid; error_log {self.log};\n'
            'worker_rlimit_nofile 16384;\nevents { worker_connections 8192; }\n'
            f'http {{\naccess_log off;\n{" ".join(temporary)}\n{virtual_host}}}\n'
        )
        return ['nginx', '-c', str(path), '-e', str(self.log)]


class Haproxy(Process):
    """haproxy in front of servers, from the sample of its configuration."""

    def __init__(self, directory: pathlib.Path, *ports: int) -> None:
        super().__init__(directory / 'haproxy.log')
        self.directory = directory
        self.ports = ports

    @property
    def stats_socket(self) -> pathlib.Path:
        """Where it tells the state of each server."""
        return self.directory / 'haproxy.socket'

    def command(self) -> list[str]:
        """haproxy, which looks for the servers where they are."""
        text = re.sub(
            '    server controller1 .*',
            '\n'.join(
                f'    server controller{number} 127.0.0.1:{port}'
                for number, port in enumerate(self.ports, 1)
            ),
            self.configuration(),
        )
        assert text.count('bind :8778') == 1
        path = self.directory / 'haproxy.cfg'
        path.write_text(text.replace('bind :8778', f'bind 127.0.0.1:{self.port}'))
        # Debian has it in the file of the distribution.
        other = self.directory / 'haproxy-socket.cfg'
        other.write_text(f'global\n    stats socket {self.stats_socket}\n')
        return ['haproxy', '-db', '-f', str(other), '-f', str(path)]

    def configuration(self) -> str:
        """The sample."""
        return (installation.REPOSITORY / 'etc' / 'haproxy' / 'placement.cfg').read_text()

    def passes_to(self, address: str) -> bool:
        """True if requests are passed to a server, as its health checks were until now."""
        return self._states(address)['placement']['status'].startswith('UP')

    def is_done_with(self, address: str) -> bool:
        """True if requests are no longer passed to a server, and none waits for its answer.

        On a busy machine a server may not have accepted the last connection yet, which is lost if
        it stops.
        """
        sessions = {row['scur'] for row in self._states(address).values()}
        return not self.passes_to(address) and sessions == {'0'}

    def _states(self, address: str) -> dict[str, dict[str, str]]:
        """Return what each of its proxies tells of a server."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.stats_socket))
            client.sendall(b'show stat\n')
            with client.makefile() as answer:
                rows = csv.DictReader(answer)
                return {row['# pxname']: row for row in rows if row['addr'] == address}


#: What Apache with mod_wsgi takes of Debian.
APACHE_PACKAGES = ('apache2', 'libapache2-mod-wsgi-py3', 'python3-venv')

KINDS: Mapping[str, type[Server]] = {
    'apache': Apache,
    'uwsgi': Uwsgi,
    'gunicorn': Gunicorn,
    'api': PlacementApi,
}


def wsgi_environment() -> pathlib.Path:
    """The service in an environment with both servers that pip installs."""
    return installation.service_environment('wsgi', sys.executable, 'pyuwsgi', 'gunicorn')


def made(name: str, directory: pathlib.Path, prefix: str = '') -> Server:
    """A server, to be started; its name may begin with that of what is in front of it."""
    kind = KINDS[name.rpartition('-')[2]]
    if kind is not Apache:
        return kind(directory, wsgi_environment(), prefix)
    installation.install_system_packages(*APACHE_PACKAGES)
    # The Python that mod_wsgi is built for.
    environment = installation.service_environment('apache', installation.SYSTEM_PYTHON)
    return Apache(directory, environment, prefix)


@contextlib.contextmanager
def in_front_of(server: Server, name: str) -> Iterator[Server | Nginx | Haproxy]:
    """The front end with which a name begins, or the server itself."""
    kind = name.partition('-')[0]
    if kind == 'nginx':
        installation.install_system_packages('nginx-light')
        with Nginx(server.directory, server) as nginx:
            yield nginx
    elif kind == 'haproxy':
        installation.install_system_packages('haproxy')
        with Haproxy(server.directory, server.port) as haproxy:
            yield haproxy
    else:
        yield server


def replaced(path: pathlib.Path, replacements: Mapping[str, str]) -> str:
    """A sample with these pieces replaced; each has to be there once, comments aside."""
    lines = path.read_text().splitlines(keepends=True)
    text = ''.join(line for line in lines if not line.lstrip().startswith('#'))
    for old, new in replacements.items():
        assert text.count(old) == 1, f'{old!r} is in {path} {text.count(old)} times'
        text = text.replace(old, new)
    return text


def processes_that_answer(server: Server) -> set[str]:
    """The processes that answer requests, asked until there are two, but not for ever.

    The first of them may answer everything before the others are there.
    """
    # What was there before the server was last started is of other processes.
    before = server.log.stat().st_size
    found: set[str] = set()
    deadline = time.monotonic() + TIMEOUT
    while len(found) < 2 and time.monotonic() < deadline:
        assert statuses_of(server, ['/resource_providers'] * 300) == {200}
        logged = server.log.read_bytes()[before:].decode(errors='replace')
        found.update(re.findall(r'(\d+) INFO placement.requestlog', logged))
    return found


def statuses_of(server: Server, paths: Iterable[str]) -> set[int]:
    """The statuses of requests on new connections, several at a time."""

    def ask(path: str) -> int:
        headers = {'X-Auth-Token': 'admin', 'OpenStack-API-Version': 'placement latest'}
        return requests.get(server.url + path, headers=headers, timeout=TIMEOUT).status_code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return set(pool.map(ask, paths))
