# SPDX-License-Identifier: Apache-2.0
"""The commands of the `openstack` client and another release, which has nothing below /insight.

`PLACEMENT_TEST_SERVICE_PYTHON` names the Python of that release.
"""

from collections.abc import Iterator

import pytest

from placement.tests.functional import client_services
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

pytestmark = pytest.mark.skipif(
    client_services.is_ours(), reason='this service answers below /insight'
)


@pytest.fixture(scope='module')
def credentials() -> Iterator[dict[str, str]]:
    """The environment variables of an administrator of a service with one provider."""
    with client_services.running() as url:
        adapter = client_services.adapter_for(url, default_microversion='1.39')
        adapter.post('/resource_providers', json={'name': 'compute1'})
        yield {'OS_AUTH_TYPE': 'admin_token', 'OS_TOKEN': 'admin', 'OS_ENDPOINT': url}


@pytest.mark.parametrize('command', COMMANDS.values(), ids=COMMANDS)
def test_a_command_says_that_it_needs_this_service(
    credentials: dict[str, str], command: str
) -> None:
    done = openstack_client.run(*command.split(), environ=credentials)

    assert (done.returncode, done.stdout) == (1, '')
    assert 'the command needs openstack-placement 17.0 or later of this project' in done.stderr
