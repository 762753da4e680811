# SPDX-License-Identifier: Apache-2.0
"""The hour before the demonstration starts: requests whose rows are dated back afterwards.

``last_hour.yaml`` describes the events. Their requests are sent in the order of their times, since
the history lists rows by id.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.objects.claim import Claim
from placement.search.model.kind import DISABLED_TRAIT
from placement_insight.demo_cloud import statements
from placement_insight.demo_cloud.cloud import SEED, Allocations, Cloud, Inventories, uuid_of

if TYPE_CHECKING:
    from keystoneauth1 import adapter

NOVA = 'nova'
MINUTE, DAY = 60, 86_400
# Ages of consumers in days, by type. Migrations that still have allocations are old.
DAYS_OF = {'MIGRATION': range(20, 90)}
DAYS_OF_OTHERS = range(1, 500)
SMALL = {'VCPU': 4, 'MEMORY_MB': 8192, 'DISK_GB': 80}


class LastHour:
    """Sends the requests of the hour, and records the age that the rows of each are to have."""

    def __init__(self, client: adapter.Adapter, cloud: Cloud) -> None:
        self._client = client
        self._cloud = cloud
        self._data: Mapping[str, Any] = yaml.safe_load(
            pkgutil.get_data(__name__, 'last_hour.yaml')
        )
        # Ages in seconds of requests by id, of promises by name, and of consumers by uuid.
        self._requests: dict[str, int] = {}
        self._promises: dict[str, int] = {}
        self._consumers = dict(_ages(cloud.claims))

    def happen(self) -> None:
        """Send all requests, the oldest first."""
        data = self._data
        for name, promise in data['promises'].items():
            self._promise(name, **promise)
        breaker = data['promise_breaker']
        first = {one.name: one.inventories for one in self._cloud.providers}
        for name in (*self._cloud.shrunk, breaker['name']):
            self._report(name, first[name], **data['reported'])
        self._drain(**data['drain'])
        for name, inventories in self._cloud.shrunk.items():
            self._report(name, inventories, **data['shrunk'])
        self._delete_project(**data['deleted_project'])
        for boot in data['booted']:
            self._boot(**boot)
        self._fail_migration(**data['failed_migration'])
        self._report(**breaker)

    def date_back(self, database: Database) -> None:
        """Date the rows of the requests, and the creation of all consumers, back."""
        with database.begin(Mode.WRITE_BRIEFLY) as connection:
            statements.date_back(connection, self._requests, self._promises, self._consumers)

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        seconds_ago: int,
        by: str = NOVA,
        request_id: str | None = None,
    ) -> None:
        """Send a write request, and record its age.

        :raises RuntimeError: the service refuses it
        """
        headers = {'X-Auth-Token': f'{by}:service', 'X-User-Name': by, 'X-Roles': 'admin'}
        if request_id is not None:
            headers['X-Openstack-Request-Id'] = request_id
        answer = self._client.request(path, method, json=body, headers=headers)
        if not answer.ok:
            raise RuntimeError(f'{method} {path}: {answer.text}')
        self._requests[answer.headers['x-openstack-request-id']] = seconds_ago

    def _promise(self, name: str, query: str, spare: int, days_ago: int, by: str) -> None:
        room = self._get(f'/insight/capacity?{query}')['now']['at_least']
        self._promises[name] = days_ago * DAY
        body = {'request': query, 'count': room - spare}
        path = f'/insight/promises/{name}'
        self._send('PUT', path, body, seconds_ago=days_ago * DAY, by=by)

    def _drain(self, ago: int, back_ago: int, host: str, to: Sequence[str]) -> None:
        traits = {one.name: one.traits for one in self._cloud.providers}[host]
        agent = _agent_of(host)
        self._set_traits(host, traits | {DISABLED_TRAIT}, seconds_ago=ago * MINUTE, by=agent)
        for index, claim in enumerate(self._servers_on(host)):
            destination = to[index % len(to)]
            then = (ago - 2 - 2 * index) * MINUTE
            migration = uuid_of(f'drain of {claim.consumer_uuid}')
            request_id = f'req-{uuid_of(f"request {migration}")}'
            self._hand_over(claim, migration, then, request_id)
            moved = {uuid_of(destination): claim.resources[uuid_of(host)]}
            self._claim(claim, moved, then - 2, request_id)
            self._send(
                'DELETE', f'/allocations/{migration}', seconds_ago=then - 45,
                by=_agent_of(destination), request_id=request_id,
            )  # fmt: skip
        self._set_traits(host, traits, seconds_ago=back_ago * MINUTE, by=agent)

    def _report(self, name: str, inventories: Inventories, ago: int) -> None:
        provider = self._get(f'/resource_providers/{uuid_of(name)}')
        body = {
            'resource_provider_generation': provider['generation'],
            'inventories': {
                each: {'max_unit': inventory['total'], **inventory}
                for each, inventory in inventories.items()
            },
        }
        path = f'/resource_providers/{uuid_of(name)}/inventories'
        self._send('PUT', path, body, seconds_ago=ago * MINUTE, by=_agent_of(name))

    def _delete_project(self, ago: int, project: str, forgotten: int) -> None:
        servers = [claim for claim in self._cloud.claims if claim.project_id == project]
        for index, claim in enumerate(servers[forgotten:]):
            path = f'/allocations/{claim.consumer_uuid}'
            self._send('DELETE', path, seconds_ago=ago * MINUTE - index)

    def _boot(self, ago: int, host: str, project: str) -> None:
        server = uuid_of(f'{host} booted')
        self._consumers[server] = ago * MINUTE
        body = _allocations_body({uuid_of(host): SMALL}, project, f'user-of-{project}', None)
        request_id = f'req-{uuid_of(f"request {server}")}'
        path = f'/allocations/{server}'
        self._send('PUT', path, body, seconds_ago=ago * MINUTE, request_id=request_id)

    def _fail_migration(self, ago: int, host: str, to: str, request_id: str) -> None:
        claim = next(self._servers_on(host))
        migration = uuid_of(f'failed migration of {claim.consumer_uuid}')
        self._consumers[migration] = then = ago * MINUTE
        self._hand_over(claim, migration, then, request_id)
        resources = claim.resources[uuid_of(host)]
        self._claim(claim, {uuid_of(to): resources}, then - 2, request_id)
        self._claim(claim, {uuid_of(host): resources}, then - 90, request_id, by=_agent_of(to))

    def _hand_over(self, claim: Claim, migration: str, seconds_ago: int, request_id: str) -> None:
        """Move the allocations of a server to a migration, as nova does before scheduling."""
        owner = claim.project_id, claim.user_id
        body = {
            migration: _allocations_body(claim.resources, *owner, None, 'MIGRATION'),
            claim.consumer_uuid: _allocations_body({}, *owner, self._generation(claim)),
        }
        self._send('POST', '/allocations', body, seconds_ago=seconds_ago, request_id=request_id)

    def _claim(
        self,
        claim: Claim,
        resources: Allocations,
        seconds_ago: int,
        request_id: str,
        by: str = NOVA,
    ) -> None:
        owner = claim.project_id, claim.user_id
        body = _allocations_body(resources, *owner, self._generation(claim))
        path = f'/allocations/{claim.consumer_uuid}'
        self._send('PUT', path, body, seconds_ago=seconds_ago, by=by, request_id=request_id)

    def _set_traits(self, host: str, traits: frozenset[str], seconds_ago: int, by: str) -> None:
        path = f'/resource_providers/{uuid_of(host)}'
        generation = self._get(path)['generation']
        body = {'resource_provider_generation': generation, 'traits': sorted(traits)}
        self._send('PUT', f'{path}/traits', body, seconds_ago=seconds_ago, by=by)

    def _servers_on(self, host: str) -> Iterator[Claim]:
        return (claim for claim in self._cloud.claims if uuid_of(host) in claim.resources)

    def _generation(self, claim: Claim) -> int | None:
        generation: int | None = self._get(f'/allocations/{claim.consumer_uuid}').get(
            'consumer_generation'
        )
        return generation

    def _get(self, path: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._client.request(path, 'GET').json()
        return found


def _agent_of(provider: str) -> str:
    """Return the user name of the agent on the host of a provider."""
    return f'nova-compute-{"-".join(provider.split("-")[:3])}'


def _ages(claims: Sequence[Claim]) -> Iterator[tuple[str, int]]:
    """Yield the uuid and the age in seconds of each consumer."""
    chance = random.Random(SEED)
    for claim in claims:
        days = DAYS_OF.get(str(claim.consumer_type), DAYS_OF_OTHERS)
        yield claim.consumer_uuid, chance.randrange(days.start * DAY, days.stop * DAY)


def _allocations_body(
    resources: Allocations,
    project: str,
    user: str,
    generation: int | None,
    consumer_type: str = 'INSTANCE',
) -> Mapping[str, object]:
    return {
        'allocations': {provider: {'resources': held} for provider, held in resources.items()},
        'project_id': project,
        'user_id': user,
        'consumer_generation': generation,
        'consumer_type': consumer_type,
    }
