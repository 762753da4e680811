# SPDX-License-Identifier: Apache-2.0
"""Many clients and several workers on one database, and the invariants that must always hold.

The database is read without the service, so that both are compared with the answers that the
clients received.
"""

import concurrent.futures
import itertools
import os
import threading
from collections.abc import Callable

import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import clouds, workload
from .fixtures.workers import Workers

CLIENTS = 32

#: How many requests are sent in all; `.ci/run` sends tens of thousands.
REQUESTS = int(os.environ.get('PLACEMENT_TEST_CLAIMS', '640'))

Usage = dict[tuple[str, str], int]

USED = sa.text(
    'SELECT p.name, c.name, CAST(COALESCE(SUM(a.used), 0) AS DECIMAL)'
    ' FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id'
    ' JOIN resource_classes c ON c.id = i.resource_class_id'
    ' LEFT JOIN allocations a ON a.resource_provider_id = p.id AND a.resource_class_id = c.id'
    ' GROUP BY p.name, c.name'
)

#: Queries that must count zero rows, by description of the rows.
INCONSISTENCIES = {
    'allocations without consumer': (
        'SELECT COUNT(*) FROM allocations WHERE consumer_id NOT IN (SELECT uuid FROM consumers)'
    ),
    'consumers without allocations': (
        'SELECT COUNT(*) FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)'
    ),
    'consumers of more or less than one host and two classes': (
        'SELECT COUNT(*) FROM (SELECT consumer_id FROM allocations GROUP BY consumer_id'
        ' HAVING COUNT(*) <> 2 OR COUNT(DISTINCT resource_provider_id) <> 1) AS odd'
    ),
}


class ConsistencyCheck:
    """One run of all clients against the workers of one database, at one port or several."""

    def __init__(self, url: str, *ports: int, faults: bool = False) -> None:
        self.account = workload.Account()
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.samples = 0
        self._ports = ports
        self._faults = faults
        port_of_each = itertools.islice(itertools.cycle(ports), CLIENTS)
        self._senders = [workload.HttpClient(port) for port in port_of_each]
        self._reader = workload.HttpClient(ports[0])
        self.claimants = [
            workload.Claimant(sender, self.account, number, faults)
            for number, sender in enumerate(self._senders)
        ]

    def run(self, requests: int = REQUESTS, meanwhile: Callable[[], None] | None = None) -> None:
        """Run all clients for a number of `requests`, and until `meanwhile` has ended."""
        rounds = max(1, requests // CLIENTS)
        done = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS + 2) as pool:
            watching = pool.submit(self._watch, done)
            others = [pool.submit(meanwhile)] if meanwhile else []
            until = others[0].done if others else lambda: True
            clients = [pool.submit(one.run, rounds, until) for one in self.claimants]
            concurrent.futures.wait(clients)
            done.set()
            for future in (*clients, *others, watching):
                future.result()
        for sender in self._senders:
            sender.close()

    def _watch(self, done: threading.Event) -> None:
        """Check all the time that no usage exceeds its capacity."""
        while not done.wait(0.02):
            try:
                used = self.used()
            except sa.exc.DBAPIError:
                assert self._faults
                continue
            self.samples += 1
            for (host, name), amount in used.items():
                assert amount <= workload.CAPACITIES[name], f'{host}: {amount} {name}'

    def used(self) -> Usage:
        """Usage by host and resource class, read from the database."""
        return used_in(self.engine)

    def check(self) -> None:
        """Assert that database and service have all acknowledged writes, and nothing else."""
        expected = {(h, name): 0 for h in workload.HOSTS for name in workload.CAPACITIES}
        for holding in self._holdings():
            assert holding.host is not None
            expected[holding.host, 'VCPU'] += holding.amount
            expected[holding.host, 'MEMORY_MB'] += holding.amount * workload.MEMORY_PER_VCPU
        assert self.used() == expected
        with self.engine.connect() as connection:
            for name, statement in INCONSISTENCIES.items():
                assert connection.scalar(sa.text(statement)) == 0, name
        for claimant in self.claimants:
            for consumer, holding in claimant.held.items():
                assert self._shown(consumer) == holding
        self._reader.close()
        self._check_searches(expected)

    def _holdings(self) -> list[workload.Holding]:
        own = [holding for one in self.claimants for holding in one.held.values()]
        shared = [self._shared(consumer) for consumer in workload.SHARED]
        return own + [holding for holding in shared if holding.host is not None]

    def _shared(self, consumer: str) -> workload.Holding:
        """The state of a shared consumer, checked against the last acknowledged write."""
        shown = self._shown(consumer)
        winners = self.account.shared[consumer]
        last = max(winners, default=None)
        if last is not None and (not self._faults or shown.generation == last):
            assert shown == winners[last]
        elif last is not None:
            assert (shown.generation or 0) > last
        return shown

    def _shown(self, consumer: str) -> workload.Holding:
        """The state of a consumer in the service."""
        path = f'/allocations/{consumer}'
        return workload.Holding.shown(self._reader.send('GET', path, version=NEWEST).json)

    def _check_searches(self, expected: Usage) -> None:
        """Check that every worker has the same usage in its snapshot."""
        for _, port in itertools.product(range(16), self._ports):
            client = workload.HttpClient(port)
            answer = client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
            client.close()
            assert answer.status == 200, answer.text
            for provider, summary in answer.json['provider_summaries'].items():
                host = workload.HOST_BY_UUID[provider]
                for name, resource in summary['resources'].items():
                    assert resource['used'] == expected[host, name], (host, name, resource)


def used_in(engine: sa.Engine) -> Usage:
    """Usage by host and resource class, read from a database."""
    with engine.connect() as connection:
        rows = connection.execute(USED).all()
    return {(host, name): int(used) for host, name, used in rows}


def build(workers: Workers) -> None:
    """Create the hosts."""
    client = workload.HttpClient(workers.port)
    clouds.build(workload.CLOUD, client)
    client.close()
