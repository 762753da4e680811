# SPDX-License-Identifier: Apache-2.0
"""Clouds for the commands, made by requests of the API."""

from collections.abc import Mapping
from typing import Any

import requests

from osc_placement_insight.tests.conftest import Service

Resources = Mapping[str, int]


class Cloud:
    """Makes providers and consumers in a service."""

    def __init__(self, service: Service) -> None:
        self.endpoint, self._token = service.endpoint, service.token

    def send(
        self, method: str, path: str, body: Any = None, version: str = '1.39', **headers: str
    ) -> Any:
        """Send a request, which has to succeed, and return the values of its answer."""
        sent = {
            'X-Auth-Token': self._token,
            'OpenStack-API-Version': f'placement {version}',
            **{name.replace('_', '-'): value for name, value in headers.items()},
        }
        answer = requests.request(method, self.endpoint + path, headers=sent, json=body)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def provider(
        self,
        name: str,
        inventories: Mapping[str, int | Mapping[str, Any]],
        traits: tuple[str, ...] = (),
        aggregates: tuple[str, ...] = (),
        parent: str | None = None,
        uuid: str | None = None,
    ) -> str:
        """Make a provider with these totals or inventories, and return its uuid."""
        body: dict[str, Any] = {'name': name, 'parent_provider_uuid': parent}
        if uuid is not None:
            body['uuid'] = uuid
        made = self.send('POST', '/resource_providers', body)
        for kind, names in (('resource_classes', inventories), ('traits', traits)):
            for custom in (name for name in names if name.startswith('CUSTOM_')):
                self.send('PUT', f'/{kind}/{custom}')
        had = {
            name: {'total': amount} if isinstance(amount, int) else amount
            for name, amount in inventories.items()
        }
        members = {'inventories': had, 'traits': traits, 'aggregates': aggregates}
        generation = 0
        for name, values in members.items():
            body = {'resource_provider_generation': generation, name: values}
            answer = self.send('PUT', f'/resource_providers/{made["uuid"]}/{name}', body)
            generation = answer['resource_provider_generation']
        return str(made['uuid'])

    def claim(
        self,
        consumer: str,
        held: Mapping[str, Resources],
        type_: str | None = None,
        project: str = 'demo',
        user: str = 'alice',
        **headers: str,
    ) -> None:
        """Make a consumer hold exactly these amounts, by provider."""
        body = {
            'allocations': {uuid: {'resources': amounts} for uuid, amounts in held.items()},
            'project_id': project,
            'user_id': user,
            'consumer_generation': self.held(consumer).get('consumer_generation'),
        }
        version = '1.37'
        if type_ is not None:
            body['consumer_type'], version = type_, '1.39'
        self.send('PUT', f'/allocations/{consumer}', body, version, **headers)

    def held(self, consumer: str) -> dict[str, Any]:
        """Return the allocations of a consumer as the service shows them."""
        held: dict[str, Any] = self.send('GET', f'/allocations/{consumer}')
        return held

    def search(self, query: str, request_id: str) -> None:
        """Ask for allocation candidates, as nova does for a request of its own."""
        self.send('GET', f'/allocation_candidates?{query}', X_Openstack_Request_Id=request_id)
