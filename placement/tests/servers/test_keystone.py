# SPDX-License-Identifier: Apache-2.0
"""Who may do what, when a real Keystone says who they are.

Specification: policy; http, "Authentication".
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import yaml
from oslo_policy import policy

from osc_placement_insight.tests.client import Client
from placement import policies
from placement.tests.functional.fixtures import databases
from placement.tests.servers import installation, servers
from placement.tests.servers.keystone import (
    ADMIN,
    AUTHTOKEN,
    PASSWORD,
    REGION,
    Cloud,
    Keystone,
)

CONFIGURATION = """
[DEFAULT]
debug = true
[placement_database]
connection = sqlite:///{database}
[oslo_policy]
enforce_new_defaults = {strict}
"""

UUID = 'a1f0c0de-1111-4222-8333-944445555666'
# Who asks, and for what their token is.
CALLERS = {
    'admin': ('admin', 'admin'),
    'service': ('service', 'service'),
    'reader': ('reader', 'demo'),
    'member': ('member', 'demo'),
    'stranger': ('stranger', 'demo'),
    'system': ('operator', 'system'),
    'domain': ('operator', 'domain'),
}
RESHAPE = 'placement:reshaper:reshape'
TOTAL_USAGES = 'placement:usages'


class Placement(servers.PlacementApi):
    """The service of the environment of the tests, with a Keystone."""

    def __init__(self, directory: pathlib.Path, keystone: Keystone, strict: bool) -> None:
        super().__init__(directory, pathlib.Path(sys.prefix), '')
        self.keystone = keystone
        self.strict = strict

    def configure(self) -> None:
        """Write the configuration."""
        text = CONFIGURATION.format(database=self.database, strict=self.strict)
        text += AUTHTOKEN.format(keystone=self.keystone.url, password=PASSWORD % 'service')
        self.directory.joinpath('placement.conf').write_text(text)

    def ask(self, method: str, path: str, token: str | None, **headers: str) -> requests.Response:
        """The answer to a request at the newest version, with an empty body if it takes one."""
        sent = {'OpenStack-API-Version': 'placement latest'}
        sent.update({name.replace('_', '-'): value for name, value in headers.items()})
        if token is not None:
            sent['X-Auth-Token'] = token
        body: Any = {} if method in ('PUT', 'POST') else None
        return requests.request(method, f'{self.url}{path}', headers=sent, json=body)


class Insight(Placement):
    """Insight beside a service, of which it reads the database at `connection`."""

    def __init__(self, directory: pathlib.Path, keystone: Keystone, connection: str) -> None:
        super().__init__(directory, keystone, True)
        self.connection = connection

    def configure(self) -> None:
        """Write its own configuration, with that database."""
        super().configure()
        file = self.directory / 'placement.conf'
        file.write_text(file.read_text().replace(f'sqlite:///{self.database}', self.connection))

    def start(self) -> None:
        """Start it on the database as it is."""
        self.configure()
        self.restart()

    def command(self) -> list[str]:
        """The application for any WSGI server, under waitress."""
        listen = f'--listen=127.0.0.1:{self.port}'
        return [sys.executable, '-m', 'waitress', listen, 'placement_insight.wsgi:application']


@pytest.fixture(scope='module')
def keystone() -> Iterator[Keystone]:
    """The Keystone of the module."""
    with installation.directory() as directory:
        keystone = Keystone(directory)
        keystone.prepare()
        with keystone:
            yield keystone


@pytest.fixture(scope='module')
def cloud(keystone: Keystone) -> Cloud:
    """The people in it."""
    return Cloud(keystone)


@pytest.fixture(scope='module')
def tokens(cloud: Cloud) -> dict[str, str]:
    """A token for each of the callers."""
    return {name: cloud.token(user, scope) for name, (user, scope) in CALLERS.items()}


@pytest.fixture(scope='module')
def expired(cloud: Cloud) -> str:
    """A token whose time is over, from a Keystone that gives them for one second."""
    with Keystone(cloud.keystone.directory, expiration=1) as hasty:
        token = cloud.token('admin', 'admin', hasty)
        # The time of a token is counted in whole seconds.
        time.sleep(2)
    return token


@pytest.fixture(scope='module', params=[True, False], ids=['new defaults', 'old defaults'])
def service(
    request: pytest.FixtureRequest, keystone: Keystone, cloud: Cloud
) -> Iterator[Placement]:
    """A service for the tests of the module, under either reading of the defaults."""
    with (
        installation.directory() as directory,
        Placement(directory, keystone, request.param) as service,
    ):
        yield service


def requests_of(rule: str) -> list[tuple[str, str]]:
    """Every method and path that a rule guards, for objects that are not there."""
    (described,) = [known for known in policies.list_rules() if known.name == rule]
    assert isinstance(described, policy.DocumentedRuleDefault)
    return [
        (str(operation['method']), re.sub('{.*?}', UUID, str(operation['path'])))
        for operation in described.operations
    ]


# Rules of administrators alone.
OF_ADMINISTRATORS = {
    'placement:insight:history',
    'placement:insight:promises:takers',
    'placement:insight:promises:update',
}
RULES = [rule.name for rule in policies.list_rules() if rule.name.startswith('placement:')]


def is_allowed(caller: str, rule: str, strict: bool) -> bool:
    """The table of specification: policy, "Effect of the default policy".

    Usages are those of the project ``demo``.
    """
    if caller == 'service':
        return rule not in OF_ADMINISTRATORS
    if caller == 'admin':
        return rule != RESHAPE or not strict
    return caller in ('reader', 'member') and rule == TOTAL_USAGES


@pytest.mark.parametrize('caller', CALLERS)
@pytest.mark.parametrize('rule', RULES)
def test_rule_admits_the_specified_roles(
    service: Placement, cloud: Cloud, tokens: dict[str, str], rule: str, caller: str
) -> None:
    for method, path in requests_of(rule):
        query = f'?project_id={cloud.projects["demo"]}' if rule == TOTAL_USAGES else ''
        answer = service.ask(method, path + query, tokens[caller])
        assert answer.status_code != 401
        if is_allowed(caller, rule, service.strict):
            assert answer.status_code != 403, answer.text
        else:
            assert answer.status_code == 403
            assert rule in answer.json()['errors'][0]['detail']


def test_a_client_cannot_name_its_own_roles(service: Placement, tokens: dict[str, str]) -> None:
    forged = {'X_Roles': 'admin,service', 'X_Is_Admin_Project': 'True', 'X_User_Id': 'root'}

    answer = service.ask('GET', '/resource_providers', tokens['reader'], **forged)
    assert answer.status_code == 403


def forgeries(token: str) -> list[str]:
    middle = len(token) // 2
    other = 'A' if token[middle] != 'A' else 'B'
    return [
        token[:middle] + other + token[middle + 1 :],
        token[:-8],
        'gAAAAABnotafernettokenatall',
        'admin',
        'a' * 5000,
    ]


@pytest.mark.parametrize('number', range(5))
def test_a_forged_token_is_refused(
    service: Placement, tokens: dict[str, str], number: int
) -> None:
    forged = forgeries(tokens['admin'])[number]

    assert service.ask('GET', '/traits', forged).status_code == 401


def test_a_revoked_token_is_refused(service: Placement, cloud: Cloud) -> None:
    token = cloud.token('admin', 'admin')
    cloud.revoke(token)

    assert service.ask('GET', '/traits', token).status_code == 401


def test_expired_token_needs_a_service_token(
    service: Placement, tokens: dict[str, str], expired: str
) -> None:
    def ask(**headers: str) -> int:
        return service.ask('GET', '/traits', expired, **headers).status_code

    assert ask() == 401
    assert ask(X_Service_Token=tokens['reader']) == 401
    assert ask(X_Service_Token='forged') == 401
    # What a service began for somebody may take longer than the token of that person lasts.
    assert ask(X_Service_Token=tokens['service']) == 200


def test_service_token_grants_no_roles(service: Placement, tokens: dict[str, str]) -> None:
    vouched = {'X_Service_Token': tokens['service']}

    answer = service.ask('GET', '/resource_providers', tokens['reader'], **vouched)
    assert answer.status_code == 403
    assert service.ask('GET', '/resource_providers', None, **vouched).status_code == 401
    bad = {'X_Service_Token': 'forged'}
    assert service.ask('GET', '/resource_providers', tokens['admin'], **bad).status_code == 401


def test_log_names_the_user_and_no_secret(
    service: Placement, cloud: Cloud, tokens: dict[str, str]
) -> None:
    service.ask('GET', '/traits', tokens['admin'], X_Service_Token=tokens['service'])
    service.ask('GET', '/traits', forgeries(tokens['admin'])[0])
    log = service.log.read_text()

    assert ' DEBUG ' in log
    assert re.search(r'placement_database.connection += \*\*\*\*', log)
    assert f'{cloud.users["service"]} {cloud.projects["service"]}' in log
    secrets = [PASSWORD % user for user in ('admin', *cloud.users)]
    secrets += [*tokens.values(), forgeries(tokens['admin'])[0]]
    assert [secret for secret in secrets if secret in log] == []


def test_service_recovers_after_keystone_was_down(tokens: dict[str, str], cloud: Cloud) -> None:
    with installation.directory() as directory:
        # A process of its own, with the same people in it.
        other = Keystone(cloud.keystone.directory, expiration=7200)
        with Placement(directory, other, True) as service:
            assert service.ask('GET', '/traits', tokens['admin']).status_code == 503
            assert service.ask('GET', '/', None).status_code == 200
            assert service.ask('GET', '/healthcheck', None).status_code == 200
            with other:
                assert service.ask('GET', '/traits', tokens['admin']).status_code == 200


def examined(service: Placement, password: str) -> dict[str, str]:
    """The status of each check of the doctor, with a password of the service."""
    text = service.directory.joinpath('placement.conf').read_text()
    file = service.directory / 'examined.conf'
    file.write_text(text.replace(PASSWORD % 'service', password))
    command = [sys.executable, '-m', 'placement.cmd.manage', '--config-file', str(file)]
    done = subprocess.run(
        [*command, 'doctor', '--format', 'json'], capture_output=True, text=True, check=False
    )
    assert done.stderr == ''
    return {check['name']: check['status'] for check in json.loads(done.stdout)['checks']}


def test_doctor_gets_a_token_with_the_right_password_only(service: Placement) -> None:
    right, wrong = (examined(service, password) for password in (PASSWORD % 'service', 'wrong'))

    assert (right['identity service'], right['credentials']) == ('ok', 'ok')
    assert (wrong['identity service'], wrong['credentials']) == ('ok', 'failure')


@pytest.fixture
def openstack(service: Placement, cloud: Cloud, tmp_path: pathlib.Path) -> Callable[[str], Client]:
    """The `openstack` client as somebody whom `clouds.yaml` names."""
    region = f'region-{service.port}'
    if region not in cloud.regions:
        cloud.publish('placement', service.url, region)
    auth = {
        'auth_url': cloud.keystone.url,
        'username': ADMIN,
        'password': PASSWORD % ADMIN,
        'project_name': 'admin',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
    }
    clouds = {
        'admin': {'auth': auth, 'region_name': region},
        'elsewhere': {'auth': auth, 'region_name': REGION},
    }
    file = tmp_path / 'clouds.yaml'
    file.write_text(yaml.safe_dump({'clouds': clouds}))
    return lambda who: Client({'OS_CLIENT_CONFIG_FILE': str(file), 'OS_CLOUD': who})


UNMET_DEMAND = ('placement', 'unmet', 'demand', 'list')


def test_commands_ask_with_the_credentials_of_clouds_yaml(
    openstack: Callable[[str], Client],
) -> None:
    assert openstack('admin')(*UNMET_DEMAND, '-f', 'json').values() == []


def test_commands_tell_that_a_region_has_no_endpoint(openstack: Callable[[str], Client]) -> None:
    refusal = openstack('elsewhere')(*UNMET_DEMAND).refusal()
    assert refusal.startswith('There is no Placement service in the catalogue (')
    assert '--os-region-name' in refusal


LOOK = installation.REPOSITORY / 'doc' / 'source' / 'look-at-your-cloud.rst'


@pytest.fixture
def insight(keystone: Keystone, tmp_path: pathlib.Path) -> Iterator[Insight]:
    """Insight beside a service with an empty cloud on MariaDB."""
    database = databases.create_empty(os.environ['PLACEMENT_TEST_MARIADB_URL'])
    databases.migrate(database.url)
    with Insight(tmp_path, keystone, database.url) as insight:
        yield insight
    database.drop()


def test_insight_beside_a_service_asks_keystone(insight: Insight, tokens: dict[str, str]) -> None:
    for caller, token in tokens.items():
        allowed = is_allowed(caller, 'placement:insight:providers', True)
        answer = insight.ask('GET', '/insight/providers', token)
        assert answer.status_code == (200 if allowed else 403), (caller, answer.text)
    for none in (None, 'forged'):
        assert insight.ask('GET', '/insight/providers', none).status_code == 401


def test_commands_of_the_page_ask_insight_beside_a_service(
    insight: Insight, tokens: dict[str, str]
) -> None:
    section = LOOK.read_text().partition('\nTo let it run\n')[2]
    named = dict(re.findall(r'\b(OS_\w+)=(\S+)', section))
    (command,) = re.findall(r'\$ openstack (placement .*)', section)
    client = Client({**named, 'OS_TOKEN': tokens['admin'], 'OS_ENDPOINT': insight.url})

    assert named.keys() == {'OS_TOKEN', 'OS_AUTH_TYPE', 'OS_ENDPOINT'}
    assert client(*command.split(), '-f', 'json').values()['domains'] == []
