# SPDX-License-Identifier: Apache-2.0
"""Both services with the same cloud in their databases, for as long as they are measured."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.client import Client
from benchmarks.clouds import Cloud
from benchmarks.databases import temporary_database
from benchmarks.loading import load_as_rows, load_through_api
from benchmarks.services import WAITRESS, Service
from benchmarks.upstream import DRIVERS

Say = Callable[[str], None]


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
    # Clouds of up to so many providers are loaded through the API.
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

    @contextlib.contextmanager
    def choices(
        self, cloud: Cloud, choices: Mapping[str, Mapping[str, str]], say: Say
    ) -> Iterator[dict[str, Service]]:
        """A service of ours for each choice of settings, by its name, with this cloud in each."""
        with contextlib.ExitStack() as stack:
            services = {}
            for name, settings in choices.items():
                say(f'loading {cloud.name} into {name}')
                services[name] = self._service(stack, name, self.our_python, {})
                services[name].start(settings)
                self._load(services[name], cloud)
            yield services

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
