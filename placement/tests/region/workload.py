# SPDX-License-Identifier: Apache-2.0
"""The clients of a region at work, and all that is known when they have ended."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from placement.tests.region.builder import Builder
from placement.tests.region.clients import Claimer, Client, Follower, Service
from placement.tests.region.databases import FULL
from placement.tests.region.history import Fault, History
from placement.tests.region.record import Record

HOSTS = 6
CAPACITY = 20
CLAIMERS = 6
BUILDERS = 2


class Workload:
    """Clients of a service, with the hosts and trees that they work on."""

    def __init__(self, service: Service, record: Record, seed: int) -> None:
        self._service = service
        self._record = record
        hosts = [str(uuid.uuid4()) for _ in range(HOSTS)]
        self.claimers = [
            Claimer(f'claimer {n}', service, record, seed, hosts) for n in range(CLAIMERS)
        ]
        self.builders = [Builder(f'builder {n}', service, record, seed) for n in range(BUILDERS)]
        self.follower = Follower('follower', service, record, seed)
        self._capacities = dict.fromkeys(hosts, CAPACITY) | {one.own: 1 for one in self.claimers}
        for host in [*self._capacities, *(builder.own for builder in self.builders)]:
            self._create(host, self._capacities.get(host, 1))

    @property
    def clients(self) -> list[Client]:
        """All of them."""
        return [*self.claimers, *self.builders, self.follower]

    def _create(self, host: str, total: int) -> None:
        ask = self.follower.ask
        created, _found = ask('POST', '/resource_providers', {'name': host, 'uuid': host})
        assert created.status == 200, created
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': total}}}
        made, _found = ask('PUT', f'/resource_providers/{host}/inventories', body)
        assert made.status == 200, made

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run the clients; after an exception, their last answers are not awaited."""
        for client in self.clients:
            client.start()
        try:
            yield
        finally:
            for client in self.clients:
                client.ended.set()
        for client in self.clients:
            client.join()

    def ended(self, faults: Sequence[Fault], about: Mapping[str, str]) -> History:
        """All that is known, when all is over."""
        ended, operations = self._record.now, list(self._record.operations)
        for claimer in self.claimers:
            claimer.settle()
        for builder in self.builders:
            builder.look_again()
        if not self.follower.compare():
            self._record.violation('the database does not answer')
        holds = {consumer: held for one in self.claimers for consumer, held in one.holds.items()}
        changes = None if any(FULL in fault.name for fault in faults) else self._changes()
        return History(
            about, ended, faults, operations, self._record.violations, self._record.comparisons,
            holds, changes, self._capacities, self._final(),
        )  # fmt: skip

    def _final(self) -> dict[str, dict[str, int]]:
        """The amounts on each host in the database, by consumer."""
        held = self._service.stored()
        return {
            host: {consumer: one['VCPU'] for consumer, one in held.allocations[host].items()}
            for host in self._capacities
            if held is not None
        }

    def _changes(self) -> list[dict[str, Any]]:
        """All rows of the change history, first change first."""
        rows, path = list[dict[str, Any]](), '/insight/history?page_limit=1000'
        while path:
            page = self.follower.read(path)
            rows += page['history']
            path = page['links'][0]['href'] if page['links'] else ''
        return rows[::-1]
