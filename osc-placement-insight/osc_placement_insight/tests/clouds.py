# SPDX-License-Identifier: Apache-2.0
"""Clouds for the commands, made by requests of the API."""

from collections.abc import Mapping
from typing import Any

import requests

from osc_placement_insight.tests.conftest import Service


class Cloud:
    """Makes providers and consumers in a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        """The answer to a request at the newest microversion, which has to succeed."""
        sent = {
            'X-Auth-Token': self._service.token,
            'OpenStack-API-Version': 'placement 1.39',
            **{name.replace('_', '-'): value for name, value in headers.items()},
        }
        answer = requests.request(method, self._service.endpoint + path, headers=sent, json=body)
        assert answer.ok, answer.text
        return answer

    def provider(
        self,
        name: str,
        inventories: Mapping[str, int | Mapping[str, Any]],
        traits: tuple[str, ...] = (),
        aggregates: tuple[str, ...] = (),
        parent: str | None = None,
    ) -> str:
        """The uuid of a new provider with these totals or inventories."""
        body: dict[str, Any] = (
            {'name': name} if parent is None else {'name': name, 'parent_provider_uuid': parent}
        )
        uuid: str = self.send('POST', '/resource_providers', body).json()['uuid']
        path = f'/resource_providers/{uuid}'
        had = {
            name: {'total': one} if isinstance(one, int) else one
            for name, one in inventories.items()
        }
        for kind, names in (('resource_classes', inventories), ('traits', traits)):
            for custom in (one for one in names if one.startswith('CUSTOM_')):
                self.send('PUT', f'/{kind}/{custom}')
        generation = 0
        for name, members in (
            ('inventories', had),
            ('traits', traits),
            ('aggregates', aggregates),
        ):
            body = {'resource_provider_generation': generation, name: members}
            answer = self.send('PUT', f'{path}/{name}', body).json()
            generation = answer['resource_provider_generation']
        return uuid

    def claim(self, consumer: str, held: Mapping[str, Mapping[str, int]], **headers: str) -> None:
        """Make a consumer hold these amounts, by provider."""
        body = {
            'allocations': {uuid: {'resources': amounts} for uuid, amounts in held.items()},
            'project_id': 'demo',
            'user_id': 'alice',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        self.send('PUT', f'/allocations/{consumer}', body, **headers)

    def search(self, query: str, request_id: str) -> None:
        """Ask for allocation candidates, as nova does for a request of its own."""
        self.send('GET', f'/allocation_candidates?{query}', X_Openstack_Request_Id=request_id)
