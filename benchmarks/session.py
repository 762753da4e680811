# SPDX-License-Identifier: Apache-2.0
"""Both services with the same cloud in them, for as long as something is measured there."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.client import Client
from benchmarks.clouds import Cloud
from benchmarks.databases import temporary_database
from benchmarks.loading import load_as_rows, load_through_api
from benchmarks.released import DRIVERS
from benchmarks.services import WAITRESS, Service

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Where and on what everything is measured."""

    directory: pathlib.Path
    our_python: str
    released_python: str
    engine: str = 'sqlite'
    server: str | None = None
    threads: int = 4
    below: str = WAITRESS
    # Clouds of up to so many providers are loaded through the API.
    most_through_api: int = 1_000

    @contextlib.contextmanager
    def services(
        self, cloud: Cloud, released_settings: Mapping[str, str], say: Say
    ) -> Iterator[tuple[Service, Service]]:
        """Ours and the released one, freshly started, with this cloud in their databases."""
        with contextlib.ExitStack() as stack:
            ours = self._service(stack, 'ours', self.our_python, {})
            released = self._service(stack, 'released', self.released_python, DRIVERS)
            for service, settings in ((ours, {}), (released, released_settings)):
                say(f'loading {cloud.name} into {service.name}')
                service.start(settings)
                self._load(service, cloud)
            yield ours, released

    def _service(
        self, stack: contextlib.ExitStack, name: str, python: str, drivers: Mapping[str, str]
    ) -> Service:
        database = stack.enter_context(
            temporary_database(self.engine, name, self.directory, self.server)
        )
        service = Service(
            name, python, database, self.directory, self.threads, drivers, self.below
        )
        # Stopped before its database is dropped.
        stack.callback(service.stop)
        return service

    def _load(self, service: Service, cloud: Cloud) -> None:
        if len(cloud.providers) > self.most_through_api:
            # Nothing that the service remembers may be older than the rows.
            service.stop()
            load_as_rows(service.database, cloud)
            service.restart()
            return
        client = Client(service.port)
        try:
            load_through_api(client, cloud)
        finally:
            client.close()
