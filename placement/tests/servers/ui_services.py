# SPDX-License-Identifier: Apache-2.0
"""Services for the tests of the page: the demonstration, a large cloud, one below a prefix."""

from __future__ import annotations

import contextlib
import http.server
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import wsgiref.simple_server
from collections.abc import Iterator, Sequence
from wsgiref.types import StartResponse, WSGIEnvironment

from benchmarks import clouds, loading
from placement import conf as placement_conf
from placement import deploy
from placement.db.engine.database import Database
from placement.db.schema import migration, standard_names


@contextlib.contextmanager
def process(arguments: Sequence[str]) -> Iterator[str]:
    """The address of a service that runs in a process of its own, with nothing configured."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    command = [sys.executable, '-m', *arguments, '--port', '0']
    # Into a file: a pipe that nobody reads would be full of the log in the end, and the service
    # would stand still.
    with (
        tempfile.NamedTemporaryFile() as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environ) as started,
    ):
        try:
            yield _address(started, pathlib.Path(log.name))
        finally:
            started.terminate()


def _address(started: subprocess.Popen[bytes], log: pathlib.Path) -> str:
    """Where a service says that it is, as soon as it does."""
    while not (found := re.search(r'serving on (\S+),', log.read_text())):
        assert started.poll() is None, log.read_text()
        time.sleep(0.1)
    return found[1]


@contextlib.contextmanager
def client_proxy(
    endpoint: str, *options: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`openstack placement ui` of a service that authenticates nobody, and where its page is."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    named = {'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': endpoint, 'OS_TOKEN': 'admin'}
    path = {'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    # What libraries warn of would stand between the lines.
    command = [sys.executable, '-W', 'ignore', '-m', 'openstackclient.shell', 'placement', 'ui']
    with _not_ignoring_interruptions():
        started = subprocess.Popen(
            [*command, *options],
            env={**environ, **named, **path, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    with started:
        try:
            assert started.stdout is not None
            found = re.fullmatch(r'The page is at (\S+)\n', started.stdout.readline())
            assert found, started.communicate()
            assert started.stdout.readline() == 'Press Ctrl-C to end.\n'
            yield started, found[1]
        finally:
            started.kill()


@contextlib.contextmanager
def _not_ignoring_interruptions() -> Iterator[None]:
    """Make processes that are started take Ctrl-C, also where the tests run in the background.

    Shells let background jobs ignore it, whose children then do so as well.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def demonstration(directory: pathlib.Path) -> Iterator[str]:
    """The address of `placement-demo`."""
    with process(['placement.cmd.demo', '--state-dir', str(directory / 'state')]) as url:
        yield url


@contextlib.contextmanager
def cloud_of_hosts(directory: pathlib.Path, count: int) -> Iterator[str]:
    """The address of a service with so many hosts, of seven providers each."""
    state = directory / 'state'
    state.mkdir(mode=0o700)
    conf = _conf(state / 'placement.sqlite')
    database = Database.from_conf(conf)
    migration.sync(database.engine)
    standard_names.sync(database)
    database.dispose()
    loading.load_as_rows(conf.placement_database.connection, clouds.trees(count))
    with process(['placement.cmd.serve', '--state-dir', str(state)]) as url:
        yield url


def _conf(path: pathlib.Path) -> placement_conf.ConfigOpts:
    conf = placement_conf.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('connection', f'sqlite:///{path}', 'placement_database')
    conf.set_override('sync_on_startup', True, 'placement_database')
    conf.set_override('auth_strategy', 'noauth2', 'api')
    conf.set_override('enabled', True, 'ui')
    conf.set_override('enabled', True, 'history')
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    return conf


class _Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def below_prefix(directory: pathlib.Path, prefix: str) -> Iterator[str]:
    """The address, prefix included, of an empty service that a web server has mounted there."""
    application = deploy.loadapp(_conf(directory / 'placement.sqlite'))

    def mounted(environ: WSGIEnvironment, start_response: StartResponse) -> object:
        path = environ['PATH_INFO']
        if not path.startswith(prefix):
            start_response('404 Not Found', [('Content-Length', '0')])
            return []
        environ['SCRIPT_NAME'], environ['PATH_INFO'] = prefix, path[len(prefix) :]
        return application(environ, start_response)

    server = wsgiref.simple_server.make_server('127.0.0.1', 0, mounted, handler_class=_Quiet)  # type: ignore[arg-type]
    with _running(server):
        yield f'http://127.0.0.1:{server.server_port}{prefix}'


@contextlib.contextmanager
def foreign_page(html: str) -> Iterator[str]:
    """The address of a page of another origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header('Content-Type', 'text/html')
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    with _running(server):
        yield f'http://127.0.0.1:{server.server_port}/'


@contextlib.contextmanager
def _running(server: http.server.HTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
