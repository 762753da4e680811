# SPDX-License-Identifier: Apache-2.0
"""All that a service answers about its database over HTTP, in a form that can be compared."""

import json
import urllib.parse
from collections.abc import Iterable
from typing import Any

from placement.microversions import NEWEST
from placement.tests.functional.fixtures.client import Sender

State = dict[str, Any]

#: The sub-resources read of every provider.
OF_PROVIDER = ('inventories', 'aggregates', 'traits', 'allocations', 'usages')

SEARCHES = (
    'resources=VCPU:1',
    'resources=VCPU:2,MEMORY_MB:512,DISK_GB:10',
    'resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=CUSTOM_SSD',
    'resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate',
    'resources=CUSTOM_IRON:1',
)


def read(
    client: Sender, owners: Iterable[tuple[str, str]], usage_versions: Iterable[str]
) -> State:
    """The state of the service; `owners` are the projects and users whose usage is read."""
    listed = _get(client, '/resource_providers')['resource_providers']
    state: State = {'providers': _by(listed, 'uuid')}
    consumers: set[str] = set()
    for uuid in sorted(state['providers']):
        for name in OF_PROVIDER:
            path = f'/resource_providers/{uuid}/{name}'
            state[path] = _get(client, path)
        consumers |= state[f'/resource_providers/{uuid}/allocations']['allocations'].keys()
    for consumer in sorted(consumers):
        state[consumer] = _get(client, f'/allocations/{consumer}')
    for path in ('/traits', '/traits?associated=true', '/resource_classes'):
        state[path] = _get(client, path)
    for project, user in owners:
        path = '/usages?' + urllib.parse.urlencode({'project_id': project})
        of_user = path + '&' + urllib.parse.urlencode({'user_id': user})
        for version in usage_versions:
            state[f'{version} {path}'] = _get(client, path, version)
            state[f'{version} {of_user}'] = _get(client, of_user, version)
    for search in SEARCHES:
        answer = client.send('GET', f'/allocation_candidates?{search}', version=NEWEST)
        # A class or trait may not be there yet, which is an answer to compare as well.
        assert answer.status in (200, 400), answer.text
        state[search] = _in_order(answer.json) if answer.status == 200 else answer.status
    return state


def _get(client: Sender, path: str, version: str = NEWEST) -> Any:
    answer = client.send('GET', path, version=version)
    assert answer.status == 200, f'{path}: {answer.status} {answer.text}'
    return _in_order(answer.json)


def _in_order(value: Any) -> Any:
    """A value whose lists, none of which has an order that means anything, are sorted."""
    if isinstance(value, dict):
        return {key: _in_order(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted((_in_order(entry) for entry in value), key=_text)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _by(records: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return {record[name]: record for record in records}
