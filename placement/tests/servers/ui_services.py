# SPDX-License-Identifier: Apache-2.0
"""Services for the tests of the page: the demonstration, a large cloud, one below a prefix."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from wsgiref import simple_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import deploy
from placement.db.engine.database import Database
from placement.tests import large_clouds
from placement.tests.functional.fixtures import applications, databases
from placement.tests.waiting import wait_until
from placement_insight.beside.application import application_on
from placement_insight.beside.copies import refuse_writes

#: How long a service may take until it answers: it makes a large cloud first.
START_SECONDS = 600


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
            read = pathlib.Path(log.name).read_text
            yield wait_until(lambda: _address(started, read()), read, START_SECONDS)
        finally:
            started.terminate()


def _address(started: subprocess.Popen[bytes], log: str) -> str:
    """Where a service says in its log that it is, or an empty text."""
    assert started.poll() is None, log
    return ''.join(re.findall(r'serving on (\S+),', log))


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
    with process(['placement_insight.demo', '--state-dir', str(directory / 'state')]) as url:
        yield url


@contextlib.contextmanager
def cloud_of_hosts(directory: pathlib.Path, count: int) -> Iterator[str]:
    """The address of a service with so many hosts, of seven providers each."""
    state = directory / 'state'
    state.mkdir(mode=0o700)
    database = f'sqlite:///{state}/placement.sqlite'
    databases.migrate(database)
    large_clouds.load_as_rows(database, large_clouds.trees(count))
    with process(['placement.cmd.serve', '--state-dir', str(state)]) as url:
        yield url


OPTIONS: dict[tuple[str, str], bool | str] = {
    ('placement_database', 'sync_on_startup'): True,
    ('ui', 'enabled'): True,
    ('ui', 'cloud_name'): 'East',
    ('history', 'enabled'): True,
}


class _Quiet(simple_server.WSGIRequestHandler):
    #: Seconds: browsers open connections on which they send nothing, and others would wait.
    timeout = 5

    def handle(self) -> None:
        """Handle a request, if one comes in time."""
        with contextlib.suppress(TimeoutError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def below_prefix(
    directory: pathlib.Path, prefix: str, options: Mapping[tuple[str, str], bool] | None = None
) -> Iterator[str]:
    """The address, prefix included, of an empty service that a web server has mounted there.

    `options` differ from `OPTIONS`, or are set in addition to them.
    """
    configuration = applications.configured(
        f'sqlite:///{directory}/placement.sqlite', OPTIONS | dict(options or {})
    )
    with _served(applications.mounted(deploy.loadapp(configuration), prefix)) as url:
        yield url + prefix


@contextlib.contextmanager
def beside(database: databases.Database, max_age: int) -> Iterator[str]:
    """The address of insight beside another service, whose database it only reads."""
    options = {('ui', 'enabled'): True, ('insight', 'snapshot_max_age'): max_age}
    configuration = applications.configured(database.url, options)
    source = Database.from_conf(configuration, refuse_writes)
    try:
        with _served(application_on(source, configuration)) as url:
            yield url
    finally:
        source.dispose()


@contextlib.contextmanager
def foreign_page(html: str) -> Iterator[str]:
    """The address of a page of another origin."""

    def page(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response('200 OK', [('Content-Type', 'text/html')])
        return [html.encode()]

    with _served(page) as url:
        yield url


@contextlib.contextmanager
def _served(application: WSGIApplication) -> Iterator[str]:
    """The address of an application at a port of its own."""
    server = simple_server.make_server('127.0.0.1', 0, application, handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}'
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
