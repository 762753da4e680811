# SPDX-License-Identifier: Apache-2.0
"""A real Keystone on SQLite, with people of every kind in it."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import requests

from placement.tests.servers import installation
from placement.tests.servers.servers import Process

PASSWORD = 'the secret of %s'
ADMIN = 'admin'
REGION = 'RegionOne'

CONFIGURATION = """
[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///{directory}/keystone.sqlite
[identity]
# Real passwords need more rounds, and seconds.
password_hash_rounds = 4
[token]
provider = fernet
expiration = {expiration}
[fernet_tokens]
key_repository = {directory}/fernet
[fernet_receipts]
key_repository = {directory}/fernet
[credential]
key_repository = {directory}/credential
"""

#: What a service says of it, to be formatted with its address and the password of ``service``.
AUTHTOKEN = """
[keystone_authtoken]
www_authenticate_uri = http://keystone.example
auth_url = {keystone}
auth_type = password
username = service
password = {password}
project_name = service
user_domain_id = default
project_domain_id = default
"""

# The role of a user in a project; 'system' and 'domain' are scopes as well.
ROLES = {
    'service': [('service', 'service')],
    'reader': [('reader', 'demo')],
    # A member is a reader, by an implication that Keystone begins with.
    'member': [('member', 'demo')],
    'stranger': [('stranger', 'demo')],
    'operator': [('admin', 'system'), ('service', 'system'), ('admin', 'domain')],
}

SERVE = """
import sys, waitress
# Keystone reads what is on the command line as well.
address = sys.argv.pop()
from keystone.wsgi.api import application
waitress.serve(application, listen=address, threads=4)
"""

# What takes most time is to import it, which one process does for all commands.
MANAGE = """
import json, os, sys
from keystone.cmd import manage
*arguments, commands = sys.argv[1:]
for command in json.loads(commands):
    child = os.fork()
    if not child:
        sys.argv[1:] = [*arguments, *command]
        sys.exit(manage.main())
    if os.waitpid(child, 0)[1]:
        sys.exit(f'{command} failed')
"""


class Keystone(Process):
    """One process of Keystone; several can have the same directory, and so the same people."""

    def __init__(
        self, directory: pathlib.Path, expiration: int = 3600, known_as: str | None = None
    ) -> None:
        super().__init__(directory / f'keystone-{expiration}.log')
        self.directory = directory
        self.environment = installation.environment(
            'keystone', sys.executable, 'keystone==30.0.0', 'waitress'
        )
        #: Where its catalogue says that it is.
        self.known_as = known_as or self.url
        self.configuration = directory / f'keystone-{expiration}.conf'
        self.configuration.write_text(
            CONFIGURATION.format(directory=directory, expiration=expiration)
        )

    @property
    def url(self) -> str:
        """Where its API is."""
        return f'{super().url}/v3'

    @property
    def probe(self) -> str:
        """The URL that answers as soon as it runs."""
        return self.url

    @property
    def environ(self) -> dict[str, str]:
        """Its environment variables."""
        return {
            **super().environ,
            'OS_KEYSTONE_CONFIG_FILES': str(self.configuration),
            'PYTHONWARNINGS': 'ignore',
        }

    def command(self) -> list[str]:
        """Keystone under waitress."""
        python = self.environment / 'bin' / 'python'
        return [str(python), '-c', SERVE, f'127.0.0.1:{self.port}']

    def prepare(self) -> None:
        """Make its database, its keys and its administrator."""
        user = ['--keystone-user', str(os.getuid()), '--keystone-group', str(os.getgid())]
        # The catalogue says where tokens are validated.
        where = [
            argument
            for interface in ('public', 'internal', 'admin')
            for argument in (f'--bootstrap-{interface}-url', self.known_as)
        ]
        password = ['--bootstrap-password', PASSWORD % ADMIN, '--bootstrap-region-id', REGION]
        commands = [
            ['db_sync'],
            ['fernet_setup', *user],
            ['credential_setup', *user],
            ['bootstrap', *password, *where],
        ]
        subprocess.run(
            [
                str(self.environment / 'bin' / 'python'), '-c', MANAGE,
                '--config-file', str(self.configuration), json.dumps(commands),
            ],
            env=self.environ, check=True, capture_output=True, cwd=self.directory,
        )  # fmt: skip


class Cloud:
    """The projects and the people of a Keystone, and the tokens they get."""

    def __init__(self, keystone: Keystone) -> None:
        self.keystone = keystone
        self._session = requests.Session()
        self._session.headers['X-Auth-Token'] = self.token(ADMIN, 'admin')
        self.projects = {name: self._create('project', name) for name in ('demo', 'service')}
        self._roles = {role['name']: role['id'] for role in self._get('roles')}
        self._roles['stranger'] = self._create('role', 'stranger')
        self.users: dict[str, str] = {}
        #: Those that have an endpoint of a service that was published.
        self.regions: set[str] = set()
        for user, grants in ROLES.items():
            self.users[user] = self._create('user', user, password=PASSWORD % user)
            for role, scope in grants:
                self._grant(role, scope, self.users[user])

    def token(self, user: str, scope: str, keystone: Keystone | None = None) -> str:
        """A token of a user for a project, for ``system``, or for the ``domain``."""
        domain = {'id': 'default'}
        wanted: Any = {'project': {'name': scope, 'domain': domain}}
        if scope in ('system', 'domain'):
            wanted = {'system': {'all': True}} if scope == 'system' else {'domain': domain}
        person: Any = {'name': user, 'domain': domain, 'password': PASSWORD % user}
        identity: Any = {'methods': ['password'], 'password': {'user': person}}
        answer = requests.post(
            f'{(keystone or self.keystone).url}/auth/tokens',
            json={'auth': {'identity': identity, 'scope': wanted}},
        )
        assert answer.status_code == 201, answer.text
        return answer.headers['X-Subject-Token']

    def revoke(self, token: str) -> None:
        """Make a token worthless."""
        answer = self._session.delete(
            f'{self.keystone.url}/auth/tokens', headers={'X-Subject-Token': token}
        )
        assert answer.status_code == 204, answer.text

    def publish(self, kind: str, url: str, region: str) -> None:
        """Put the public endpoint of a new service into the catalogue."""
        service = self._create('service', f'{kind} of {region}', type=kind)
        members = {'service_id': service, 'interface': 'public', 'url': url, 'region': region}
        self._create('endpoint', f'{kind} of {region}', **members)
        self.regions.add(region)

    def _create(self, kind: str, name: str, **members: str) -> str:
        body = {kind: {'name': name, **members}}
        answer = self._session.post(f'{self.keystone.url}/{kind}s', json=body)
        assert answer.status_code == 201, answer.text
        created: str = answer.json()[kind]['id']
        return created

    def _get(self, kinds: str) -> Any:
        answer = self._session.get(f'{self.keystone.url}/{kinds}')
        return answer.json()[kinds]

    def _grant(self, role: str, scope: str, user: str) -> None:
        place = {'system': 'system', 'domain': 'domains/default'}.get(
            scope, f'projects/{self.projects.get(scope)}'
        )
        url = f'{self.keystone.url}/{place}/users/{user}/roles/{self._roles[role]}'
        answer = self._session.put(url)
        assert answer.status_code == 204, answer.text
