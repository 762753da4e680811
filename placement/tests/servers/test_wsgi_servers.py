# SPDX-License-Identifier: Apache-2.0
"""The service under Apache with mod_wsgi, uWSGI and gunicorn, in processes and threads."""

import os
import pathlib
import shutil
from collections.abc import Mapping

import pymysql
import pytest
import requests

from placement.tests.functional.fixtures import databases
from placement.tests.servers import gabbi_runner, servers

FILES = gabbi_runner.files_using('Placement', 'PlacementUnderPrefix')
MOUNTED = [path.stem for path in gabbi_runner.files_using('PlacementUnderPrefix')]

# The script that was copied before the package had a command.
MODULE = 'lib/python3*/site-packages/placement/wsgi/api.py'

#: The gabbi files by server and prefix: under Apache all run, of mounted services those that check
#: no links, and under others what all of them must pass on.
SERVED = {
    ('apache', ''): [path.stem for path in gabbi_runner.files_using('Placement')],
    ('apache', '/placement'): [
        *MOUNTED, 'allocations-moves', 'content', 'errors', 'negotiation', 'reshaper',
    ],
    **{
        (name, prefix): files
        for name in ('uwsgi', 'gunicorn')
        for prefix, files in (
            ('', ['allocations-refused', 'inventories', 'resource-providers', 'traits']),
            ('/placement', [*MOUNTED, 'mount-prefix-authentication', 'negotiation']),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(('name', 'prefix'), SERVED)
def test_gabbi_files_pass_and_several_processes_answer(
    name: str,
    prefix: str,
    directory: pathlib.Path,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = servers.made(name, directory, prefix)
    server.processes = 2
    if isinstance(server, servers.Apache) and prefix:
        # A copy of the script, alone in a directory.
        (origin,) = server.environment.glob(MODULE)
        server.script = directory / 'cgi-bin' / 'placement-api'
        server.script.parent.mkdir()
        shutil.copy(origin, server.script)
    with server:
        assert len(servers.processes_that_answer(server)) > 1
        for path in gabbi_runner.named(dict.fromkeys(SERVED[name, prefix]), FILES):
            gabbi_runner.run(path, server, subtests, monkeypatch, prefix)


def test_uwsgi_serves_the_installed_command_as_its_script(directory: pathlib.Path) -> None:
    with servers.UwsgiWithCommand(directory, servers.wsgi_environment(), '') as server:
        assert servers.statuses_of(server, ['/resource_providers']) == {200}


class Loading(servers.Uwsgi):
    """uWSGI, used while each of its processes loads the service, which never ends."""

    APPLICATION = """
import os, pathlib, time
import placement.wsgi
pathlib.Path(__file__).with_name(f'{os.getpid()}.loading').touch()
time.sleep(600)
"""

    def application(self) -> str:
        """The line of the configuration that names what it loads."""
        path = self.directory / 'application.py'
        path.write_text(self.APPLICATION)
        return f'mount = /={path}'

    def _answers(self) -> bool:
        return len(list(self.directory.glob('*.loading'))) == servers.PROCESSES


def test_uwsgi_ends_when_it_is_stopped_while_it_loads_the_service(directory: pathlib.Path) -> None:
    with Loading(directory, servers.wsgi_environment(), ''):
        pass


class UwsgiBeside(servers.Server):
    """uWSGI with insight beside another service, from the sample of its configuration."""

    def __init__(self, directory: pathlib.Path, url: str) -> None:
        super().__init__(directory, servers.wsgi_environment(), '')
        self._database_url = url

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment with the options, among them the driver that is installed here."""
        return {
            **super().environ,
            'PYTHONPATH': str(pathlib.Path(pymysql.__file__).parents[1]),
            'OS_PLACEMENT_DATABASE__CONNECTION': self._database_url,
            'OS_API__AUTH_STRATEGY': 'noauth2',
            'OS_DEFAULT__USE_STDERR': 'true',
        }

    def configure(self) -> None:
        """Write the configuration of uWSGI, and an empty one of insight."""
        replacements = {
            '127.0.0.1:8780': f'127.0.0.1:{self.port}',
            '= /opt/placement-insight\n': f'= {self.environment}\n',
        }
        sample = servers.SAMPLES / 'placement-insight-uwsgi.ini'
        self.directory.joinpath('uwsgi.ini').write_text(servers.replaced(sample, replacements))
        self.directory.joinpath('placement.conf').touch()

    def command(self) -> list[str]:
        """uWSGI on a loopback port."""
        uwsgi = self.environment / 'bin' / 'uwsgi'
        return [str(uwsgi), '--ini', str(self.directory / 'uwsgi.ini')]


def test_uwsgi_serves_insight_beside_another_service(directory: pathlib.Path) -> None:
    url = os.environ.get('PLACEMENT_TEST_MARIADB_URL')
    assert url is not None, 'no URL of a MariaDB server: the Makefile has one'
    database = databases.create_empty(url)
    try:
        databases.migrate(database.url)
        with UwsgiBeside(directory, database.url) as server:
            answer = requests.get(
                f'{server.url}/insight/providers', headers={'X-Auth-Token': 'admin'}, timeout=60
            )
            assert answer.json()['providers'] == []
            assert int(answer.headers['openstack-placement-age']) >= 0
            assert requests.get(f'{server.url}/ui/', timeout=60).ok
            assert requests.get(f'{server.url}/healthcheck', timeout=60).ok
    finally:
        database.drop()
