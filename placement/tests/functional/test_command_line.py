# SPDX-License-Identifier: Apache-2.0
"""The commands of the `openstack` client, which runs as a process, and a service that is served.

`PLACEMENT_TEST_SERVICE_PYTHON` names the Python of another release, which has nothing below
/insight: there each command says which service it needs.
"""

import json
import pathlib
from collections.abc import Iterator

import pytest

from placement.tests.functional import client_services
from placement.tests.functional.client_services import is_ours
from placement.tests.functional.fixtures import openstack_client

COMMANDS = {
    'explain': 'allocation candidate explain --resource VCPU=1',
    'explain of a request': (
        'allocation candidate explain --request req-51000000-0000-4000-8000-000000000001'
    ),
    'capacity': 'placement capacity show --resource VCPU=1',
    'capacity by tree': 'placement capacity list --resource VCPU=1',
    'unmet demand': 'placement unmet demand list',
    'tree': 'placement tree show compute1',
    'changes': 'placement change list',
    'followed changes': 'placement change list --follow',
    'history': 'placement history list',
    'export': 'placement export',
}


@pytest.fixture(scope='module')
def service() -> Iterator[str]:
    """The URL of a service without authentication (noauth2), with one host."""
    with client_services.running() as url:
        adapter = client_services.adapter_for(url, default_microversion='1.39')
        created = adapter.post('/resource_providers', json={'name': 'compute1'}).json()
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 16}}}
        adapter.put(f'/resource_providers/{created["uuid"]}/inventories', json=body)
        yield url


@pytest.fixture
def credentials(service: str) -> dict[str, str]:
    """The environment variables of an administrator."""
    return {'OS_AUTH_TYPE': 'admin_token', 'OS_TOKEN': 'admin', 'OS_ENDPOINT': service}


ours = pytest.mark.skipif(not is_ours(), reason='only this service answers below /insight')
theirs = pytest.mark.skipif(is_ours(), reason='this service answers below /insight')


@ours
def test_a_command_uses_the_variables_of_the_client(credentials: dict[str, str]) -> None:
    command = COMMANDS['explain'].split()
    done = openstack_client.run(*command, environ=credentials)

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('fits: Fits 1 tree of 1.')


@ours
def test_a_command_uses_clouds_yaml(service: str, tmp_path: pathlib.Path) -> None:
    auth = {'endpoint': service, 'token': 'admin'}
    environ = openstack_client.clouds_yaml(
        tmp_path, here={'auth_type': 'admin_token', 'auth': auth}
    )
    command = COMMANDS['capacity'].split()
    done = openstack_client.run('--os-cloud', 'here', *command, '-f', 'json', environ=environ)

    assert (done.returncode, done.stderr) == (0, '')
    assert json.loads(done.stdout)['now'] == {'at_least': 16, 'at_most': 16}


@ours
def test_a_command_without_a_token_says_which_rule_it_needs(service: str) -> None:
    environ = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': service}
    done = openstack_client.run(*COMMANDS['tree'].split(), environ=environ)

    assert done.returncode == 1
    assert 'Policy does not allow placement:insight:providers' in done.stderr


@theirs
@pytest.mark.parametrize('command', COMMANDS.values(), ids=COMMANDS)
def test_a_command_says_that_it_needs_this_service(
    credentials: dict[str, str], command: str
) -> None:
    done = openstack_client.run(*command.split(), environ=credentials)

    assert (done.returncode, done.stdout) == (1, '')
    assert 'the command needs openstack-placement 17.0 or later of this project' in done.stderr
