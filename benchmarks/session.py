# SPDX-License-Identifier: Apache-2.0
"""Both services with the same cloud in their databases, for as long as they are measured."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.client import Client
from benchmarks.databases import temporary_database
from benchmarks.services import WAITRESS, Service
from benchmarks.upstream import DRIVERS
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.large_clouds import Cloud, Provider, load_as_rows

Say = Callable[[str], None]
CONSUMERS_PER_REQUEST = 50


def load_through_api(client: Client, cloud: Cloud) -> None:
    """Load the cloud as agents and a scheduler would.

    :raises Unexpected: the service refuses a part of it
    """
    for name in cloud.custom_traits:
        client.send('PUT', f'/traits/{name}')
    for provider in cloud.providers:
        _send_provider(client, provider)
    claims = {consumer.uuid: claim(consumer.allocations) for consumer in cloud.consumers}
    remaining = iter(claims.items())
    while batch := dict(itertools.islice(remaining, CONSUMERS_PER_REQUEST)):
        client.send('POST', '/allocations', batch)


def _send_provider(client: Client, provider: Provider) -> None:
    path = f'/resource_providers/{provider.uuid}'
    body: dict[str, Any] = {'uuid': provider.uuid, 'name': provider.name}
    if provider.parent is not None:
        body['parent_provider_uuid'] = provider.parent
    client.send('POST', '/resource_providers', body)
    generation = 0
    for part in ('inventories', 'traits', 'aggregates'):
        value: Any = getattr(provider, part)
        if value:
            body = {part: value, 'resource_provider_generation': generation}
            client.send('PUT', f'{path}/{part}', body)
            generation += 1


@dataclass(frozen=True)
class Bench:
    """The environment that both services are measured in."""

    directory: pathlib.Path
    our_python: str
    upstream_python: str
    engine: str = 'sqlite'
    database_url: str | None = None
    threads: int = 4
    wsgi_server: str = WAITRESS
    processes: int = 1
    # Maximum number of providers of a cloud that is loaded through the API.
    most_through_api: int = 1_000

    @contextlib.contextmanager
    def services(
        self, cloud: Cloud, upstream_settings: Mapping[str, str], say: Say
    ) -> Iterator[tuple[Service, Service]]:
        """Ours and upstream, freshly started, with this cloud in their databases."""
        with contextlib.ExitStack() as stack:
            ours = self._service(stack, 'ours', self.our_python, {})
            upstream = self._service(stack, 'upstream', self.upstream_python, DRIVERS)
            for service, settings in ((ours, {}), (upstream, upstream_settings)):
                say(f'loading {cloud.name} into {service.name}')
                service.start(settings)
                self._load(service, cloud)
            yield ours, upstream

    def _service(
        self, stack: contextlib.ExitStack, name: str, python: str, drivers: Mapping[str, str]
    ) -> Service:
        database = stack.enter_context(
            temporary_database(self.engine, name, self.directory, self.database_url)
        )
        service = Service(
            name, python, database, self.directory, self.threads, drivers, self.wsgi_server,
            self.processes,
        )  # fmt: skip
        # Stopped before its database is dropped.
        stack.callback(service.stop)
        return service

    def _load(self, service: Service, cloud: Cloud) -> None:
        if len(cloud.providers) > self.most_through_api:
            # The service must not keep anything in memory from before the rows.
            service.stop()
            load_as_rows(service.database, cloud)
            service.restart()
            return
        client = Client(service.port)
        try:
            load_through_api(client, cloud)
        finally:
            client.close()
