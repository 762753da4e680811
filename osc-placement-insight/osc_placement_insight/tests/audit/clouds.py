# SPDX-License-Identifier: Apache-2.0
"""Clouds with a real placement and a nova of the tests, and what can be wrong with them."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import requests
import sqlalchemy as sa
from keystoneauth1 import adapter, session, token_endpoint
from osc_placement.http import SessionClient

from osc_placement_insight import service
from osc_placement_insight.audit import passes, repair
from osc_placement_insight.audit.compute import Compute
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.service import Service
from osc_placement_insight.tests import conftest
from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.nova import Migration, Nova, Server
from placement import direct

Resources = Mapping[str, int]

HOST = {'VCPU': 32, 'PCPU': 16, 'MEMORY_MB': 65536, 'DISK_GB': 1000}
#: What a server of the flavor of `nova.flavor()` takes.
SERVER = {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}


class Cloud:
    """A cloud whose hosts and servers are known to nova and placement alike, until a test says."""

    def __init__(self, endpoint: str, database: str, nova_endpoint: str, nova: Nova) -> None:
        self.nova = nova
        self.nova_endpoint = nova_endpoint
        self.endpoint = endpoint
        self.client = _client(endpoint)
        self.compute = Compute(_adapter(nova_endpoint))
        self._database = database
        self._numbers = itertools.count(1)

    def service(self, version: str = service.NEWEST) -> Service:
        """Placement, as the commands ask it."""
        return Service(self.client, version)

    def send(self, method: str, path: str, body: Any = None, version: str = '1.37') -> Any:
        """The answer of placement, whatever it is."""
        headers = {'OpenStack-API-Version': f'placement {version}'}
        content = {} if body is None else {'json': body}
        response = self.client.request(method, path, headers=headers, raise_exc=False, **content)
        assert response.ok, response.text
        return response.json() if response.content else None

    def execute(self, statement: str, **values: Any) -> None:
        """Do in the database what no release does any more."""
        engine = sa.create_engine(self._database)
        with engine.begin() as connection:
            assert connection.execute(sa.text(statement), values).rowcount
        engine.dispose()

    def new_uuid(self) -> str:
        """The uuids of a cloud are in the order of their making."""
        return str(uuid.UUID(int=(next(self._numbers) << 64) | (4 << 76) | (8 << 60)))

    def provider(
        self,
        name: str,
        inventories: Resources,
        parent: str | None = None,
        traits: tuple[str, ...] = (),
        aggregates: tuple[str, ...] = (),
    ) -> str:
        """Make a provider and return its uuid."""
        identity = self.new_uuid()
        body = {'uuid': identity, 'name': name, 'parent_provider_uuid': parent}
        self.send('POST', '/resource_providers', body)
        self.set_inventories(identity, inventories)
        for kind, names in (('traits', traits), ('aggregates', aggregates)):
            if names:
                written = {kind: names, 'resource_provider_generation': self.generation(identity)}
                self.send('PUT', f'/resource_providers/{identity}/{kind}', written)
        return identity

    def generation(self, provider: str) -> int:
        """The generation of a provider."""
        generation: int = self.send('GET', f'/resource_providers/{provider}')['generation']
        return generation

    def set_inventories(self, provider: str, inventories: Resources) -> None:
        """Give a provider exactly this."""
        body = {
            'resource_provider_generation': self.generation(provider),
            'inventories': {name: {'total': total} for name, total in inventories.items()},
        }
        self.send('PUT', f'/resource_providers/{provider}/inventories', body)

    def host(self, name: str, inventories: Resources = HOST) -> str:
        """Make a compute host, of the same name and uuid in nova, and return its uuid."""
        identity = self.provider(name, inventories)
        self.nova.hypervisors[identity] = name
        return identity

    def server(
        self,
        name: str,
        node: str | None,
        allocations: Mapping[str, Resources],
        flavor: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> Server:
        """Make a server of nova that holds this in placement."""
        made = Server(self.new_uuid(), name, flavor or nova.flavor(), node, **attributes)
        self.nova.servers[made.uuid] = made
        if allocations:
            self.claim(made.uuid, allocations)
        return made

    def migration(
        self, server: Server, type_: str, status: str, source: str, dest: str, **held: Any
    ) -> Migration:
        """Make a migration of nova that holds what `allocations` says in placement."""
        made = Migration(server.uuid, type_, status, source, dest, self.new_uuid())
        self.nova.migrations[made.uuid] = made
        if held:
            self.claim(made.uuid, held['allocations'])
        return made

    def claim(
        self,
        consumer: str,
        allocations: Mapping[str, Resources],
        type_: str | None = None,
    ) -> None:
        """Let a consumer hold exactly this; nothing is to be given back."""
        body = {
            'allocations': {one: {'resources': held} for one, held in allocations.items()},
            'project_id': 'a-project',
            'user_id': 'a-user',
            'consumer_generation': self.held(consumer).get('consumer_generation'),
        }
        version = '1.37'
        if type_ is not None:
            body['consumer_type'], version = type_, '1.38'
        self.send('PUT', f'/allocations/{consumer}', body, version)

    def held(self, consumer: str) -> dict[str, Any]:
        """What placement says of a consumer."""
        held: dict[str, Any] = self.send('GET', f'/allocations/{consumer}')
        return held

    def amounts(self, consumer: str) -> dict[str, Resources]:
        """What a consumer holds, by provider."""
        held = self.held(consumer)['allocations']
        return {one: row['resources'] for one, row in held.items()}

    def everything_held(self) -> dict[str, Any]:
        """Everything that each consumer holds, its generation aside."""
        found = self.send('GET', '/insight/consumers?page_limit=1000')['consumers']
        return {
            row['uuid']: {one: had['resources'] for one, had in row['allocations'].items()}
            for row in found
        }

    def audit(self, between: Any = lambda seconds: None) -> list[Finding]:
        """What an audit finds; `between` is called in the pause between its two passes."""
        found = passes.audit(self.service(), self.compute, lambda doing: None, 0, between)
        return found.findings

    def writer(self) -> Service:
        """Placement, as a repair writes to it."""
        return self.service(repair.MICROVERSION)


def _adapter(endpoint: str) -> adapter.Adapter:
    plugin = token_endpoint.Token(endpoint, 'admin')
    return adapter.Adapter(session.Session(plugin), endpoint_override=endpoint)


def _client(endpoint: str) -> SessionClient:
    """The client of osc-placement."""
    plugin = token_endpoint.Token(endpoint, 'admin')
    return SessionClient(session.Session(plugin), {'service_type': 'placement'}, '1.39')


@contextlib.contextmanager
def running_nova(nova: Nova) -> Iterator[str]:
    """The endpoint at which a nova answers every session of requests."""
    endpoint, transport = f'http://nova-{uuid.uuid4()}', direct.InProcess(nova)
    others = requests.Session.get_adapter

    def get_adapter(own: requests.Session, url: str, *args: Any) -> Any:
        return transport if url.startswith(endpoint) else others(own, url, *args)

    with mock.patch.object(requests.Session, 'get_adapter', get_adapter):
        yield endpoint


@contextlib.contextmanager
def running_cloud(nova: Nova | None = None) -> Iterator[Cloud]:
    """An empty cloud with this nova, or an ordinary one."""
    nova = nova or Nova()
    with conftest.Service() as placement, running_nova(nova) as nova_endpoint:
        assert placement.conf_fixture is not None
        database = placement.conf_fixture.conf.placement_database.connection
        yield Cloud(placement.endpoint, database, nova_endpoint, nova)
