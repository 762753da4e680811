# SPDX-License-Identifier: Apache-2.0
"""Clouds with a real placement and a nova of the tests, and what can be wrong with them."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from unittest import mock
from wsgiref.types import WSGIApplication

import requests
import sqlalchemy as sa
from keystoneauth1 import adapter, session, token_endpoint
from osc_placement.http import SessionClient

from osc_placement_insight.audit import passes
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.compute import Compute
from osc_placement_insight.service import Service
from osc_placement_insight.tests import client, clouds, conftest
from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.nova import Migration, Nova, Server
from osc_placement_insight.tests.clouds import Resources
from placement import direct

HOST = {'VCPU': 32, 'PCPU': 16, 'MEMORY_MB': 65536, 'DISK_GB': 1000}
#: What a server of the flavor of `nova.flavor()` takes.
SERVER = {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}


class Host(NamedTuple):
    """A compute host, which is a provider, maybe with another for its GPU."""

    name: str
    uuid: str
    gpu: str | None = None

    @property
    def share(self) -> Mapping[str, Resources]:
        """The allocations of a server here; a GPU is in no flavor, and makes no difference."""
        return {self.uuid: SERVER} | ({self.gpu: {'VGPU': 1}} if self.gpu else {})


class Cloud(clouds.Cloud):
    """A cloud whose hosts and servers are known to nova and placement alike, until a test says."""

    def __init__(self, placement: conftest.Service, nova_endpoint: str, nova: Nova) -> None:
        super().__init__(placement)
        assert placement.conf_fixture is not None
        self.conf = placement.conf_fixture.conf
        self.nova = nova
        nova_at = {'OS_COMPUTE_ENDPOINT_OVERRIDE': nova_endpoint}
        self.openstack = client.administrator_at(self.endpoint, **nova_at)
        plugin = token_endpoint.Token(self.endpoint, 'admin')
        filters = {'service_type': 'placement'}
        self.client = SessionClient(session.Session(plugin), filters, '1.39')
        nova_session = session.Session(token_endpoint.Token(nova_endpoint, 'admin'))
        self.compute = Compute(adapter.Adapter(nova_session, endpoint_override=nova_endpoint))
        self._numbers = itertools.count(1)

    def execute(self, statement: str, **values: Any) -> None:
        """Do in the database what no release does any more."""
        engine = sa.create_engine(self.conf.placement_database.connection)
        with engine.begin() as connection:
            assert connection.execute(sa.text(statement), values).rowcount
        engine.dispose()

    def new_uuid(self) -> str:
        """The uuids of a cloud are in the order of their making."""
        return str(uuid.UUID(int=(next(self._numbers) << 64) | (4 << 76) | (8 << 60)))

    def host(self, name: str, inventories: Resources = HOST) -> Host:
        """Make a compute host, of the same name and uuid in nova."""
        made = Host(name, self.provider(name, inventories, uuid=self.new_uuid()))
        self.nova.hypervisors[made.uuid] = name
        return made

    def server(
        self,
        node: str | None,
        allocations: Mapping[str, Resources],
        flavor: Mapping[str, Any] | None = None,
        name: str = 'one',
        **attributes: Any,
    ) -> str:
        """Make a server of nova that holds this in placement, and return its uuid."""
        made = Server(self.new_uuid(), name, flavor or nova.flavor(), node, **attributes)
        self.nova.servers[made.uuid] = made
        if allocations:
            self.claim(made.uuid, allocations)
        return made.uuid

    def migration(
        self,
        server: str,
        type_: str,
        status: str,
        hosts: tuple[Host, Host],
        allocations: Mapping[str, Resources] | None = None,
    ) -> str:
        """Make a migration between two hosts that holds this, and return its uuid."""
        source, dest = (host.name for host in hosts)
        made = Migration(server, type_, status, source, dest, self.new_uuid())
        self.nova.migrations[made.uuid] = made
        if allocations:
            self.claim(made.uuid, allocations)
        return made.uuid

    def amounts(self, consumer: str) -> dict[str, Resources]:
        """Return the amounts a consumer holds, by provider."""
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
        """Return the findings; `between` is called in the pause between the two passes."""
        service = Service(self.client)
        return passes.audit(service, self.compute, lambda doing: None, 0, between).findings


@contextlib.contextmanager
def running_nova(nova: WSGIApplication) -> Iterator[str]:
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
        yield Cloud(placement, nova_endpoint, nova)
