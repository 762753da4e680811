# SPDX-License-Identifier: Apache-2.0
"""A small scheduler: threads that place, move and delete instances through one client.

What the client acknowledged is what the service holds in the end, to the last unit.
"""

import collections
import concurrent.futures
import dataclasses
import itertools
import os
import random
import uuid
from collections.abc import Iterator

import pytest

import placement_report_client as client
from placement.tests.functional import client_services

#: How many instances are placed in all; thousands take minutes.
INSTANCES = int(os.environ.get('PLACEMENT_TEST_CLIENT_INSTANCES', '64'))

#: Upstream answers 500 to much of what comes at once, on SQLite: it gets less.
THREADS = 8 if client_services.is_ours() else 1
HOSTS = 6
CELLS_PER_HOST = 2
VCPUS_PER_CELL = 8
MEMORY_PER_HOST = 16
#: Hosts are full when each thread has this many instances, which is when it begins to delete.
MAX_INSTANCES = 6
#: Instances that every thread writes concurrently.
SHARED = 3

RETRY_POLICY = client.RetryPolicy(attempts=12, first_delay=0.02, call_timeout=300)

Amounts = dict[str, dict[str, int]]


def new_uuid() -> str:
    return str(uuid.uuid4())


def a_host(number: int) -> client.Provider:
    cells = tuple(
        client.Provider(
            new_uuid(), f'host{number} cell{cell}', {'VCPU': client.Inventory(VCPUS_PER_CELL)}
        )
        for cell in range(CELLS_PER_HOST)
    )
    return client.Provider(
        new_uuid(),
        f'host{number}',
        {'CUSTOM_MEMORY': client.Inventory(MEMORY_PER_HOST)},
        traits=['CUSTOM_FAST'] if number % 2 else [],
        aggregates=[],
        children=cells,
    )


class Cloud:
    """The hosts, and the client that all threads share."""

    def __init__(self, url: str) -> None:
        self.recorder = client_services.adapter_for(url)
        self.report = client.ReportClient(self.recorder, RETRY_POLICY)
        self.hosts = [a_host(number) for number in range(HOSTS)]
        self.providers = [one.uuid for host in self.hosts for one, _ in host.with_parents()]

    def ensure_in_parallel(self, trees: list[client.Provider]) -> None:
        """Report these trees, as agents do that do not wait for each other."""
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self.report.ensure_tree, trees))

    def allocations(self) -> dict[str, Amounts]:
        """Return the allocations in the service, by consumer and provider."""
        held: dict[str, Amounts] = {}
        for provider in self.providers:
            shown = self.recorder.get(f'/resource_providers/{provider}/allocations').json()
            for consumer, entry in shown['allocations'].items():
                held.setdefault(consumer, {})[provider] = entry['resources']
        return held


@pytest.fixture(scope='module')
def cloud() -> Iterator[Cloud]:
    with client_services.running() as url:
        cloud = Cloud(url)
        cloud.ensure_in_parallel(cloud.hosts)
        yield cloud
        cloud.recorder.session.session.close()


class Scheduler:
    """One thread's instances and migrations: what the client said that they hold."""

    def __init__(self, cloud: Cloud, number: int, shared: list[str]) -> None:
        self._report = cloud.report
        self._random = random.Random(number)
        self._shared = shared
        self.held: dict[str, Amounts] = {}
        self.counts: collections.Counter[str] = collections.Counter()

    def run(self, instances: int) -> None:
        """Place so many instances, and move and delete some of them in between."""
        others = itertools.cycle((self.move, self.resize, self.interfere))
        while self.counts['placed'] < instances:
            if len(self.held) >= self._random.randint(1, MAX_INSTANCES):
                self.delete()
            self.place()
            next(others)()

    def find(self) -> list[client.Candidate]:
        """Search for an instance of some size; the candidates in any order."""
        cell = client.RequestGroup({'VCPU': self._random.randint(1, 4)})
        root = client.RequestGroup(
            {'CUSTOM_MEMORY': self._random.randint(1, 4)},
            forbidden=['CUSTOM_FAST'] if self._random.random() < 0.3 else [],
        )
        groups = {'': root, '_CELL': cell}
        found = self._report.find_candidates(client.CandidateRequest(groups, limit=5))
        return self._random.sample(found.found, len(found))

    def any_of_mine(self) -> str | None:
        """Choose one of the instances of this thread."""
        return self._random.choice(sorted(self.held)) if self.held else None

    def place(self) -> None:
        """Place a new instance, if there is room for it."""
        instance = client.Consumer(new_uuid(), 'project', 'user')
        try:
            taken = self._report.claim_any(instance, self.find())
        except client.NoCapacity:
            self.delete()
        else:
            self.held[instance.uuid] = _amounts(taken)
            self.counts['placed'] += 1

    def delete(self) -> None:
        """Delete an instance."""
        if instance := self.any_of_mine():
            self._report.release(instance)
            del self.held[instance]
            self.counts['deleted'] += 1

    def move(self) -> None:
        """Move an instance elsewhere; every other time, back again."""
        found, instance, migration = self.find(), self.any_of_mine(), new_uuid()
        if not (found and instance):
            return
        try:
            self._report.move(instance, migration, found[0])
        except client.NoCapacity:
            return
        if self.counts['moved'] > self.counts['reverted']:
            self._report.revert(instance, migration)
            self.counts['reverted'] += 1
        else:
            self._report.confirm(migration)
            self.held[instance] = _amounts(found[0])
            self.counts['moved'] += 1

    def resize(self) -> None:
        """Change the size of an instance where it is, if it can be."""
        instance = self.any_of_mine()
        if instance is None:
            return
        wanted = {
            provider: {name: self._random.randint(1, 4) for name in resources}
            for provider, resources in self.held[instance].items()
        }
        try:
            self._report.change_allocations(instance, lambda found: found.with_amounts(wanted))
        except client.NoCapacity:
            return
        self.held[instance] = wanted
        self.counts['resized'] += 1

    def interfere(self) -> None:
        """Claim, move or release an instance that others interfere with at the same time."""
        instance = client.Consumer(self._random.choice(self._shared), 'project', 'user')
        migration, found = new_uuid(), self.find()
        try:
            if self._report.find_allocations(instance.uuid) is None:
                self._report.claim_any(instance, found)
            elif found and self._random.random() < 0.5:
                self._report.move(instance.uuid, migration, found[0])
            else:
                self._report.release(instance.uuid)
        except (client.Conflict, client.Gone, client.NoCapacity, client.Unreachable) as error:
            # What became of a request without an answer cannot be told when others write, too.
            self.counts[type(error).__name__] += 1
        finally:
            self._report.confirm(migration)


def _amounts(candidate: client.Candidate) -> Amounts:
    return {provider: dict(resources) for provider, resources in candidate.amounts.items()}


def test_acknowledged_writes_survive(cloud: Cloud) -> None:
    shared = [new_uuid() for _ in range(SHARED)]
    schedulers = [Scheduler(cloud, number, shared) for number in range(THREADS)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for running in [pool.submit(one.run, INSTANCES // THREADS) for one in schedulers]:
            running.result()

    held = cloud.allocations()
    expected = {consumer: amounts for one in schedulers for consumer, amounts in one.held.items()}
    assert {consumer: held[consumer] for consumer in held if consumer not in shared} == expected
    counts = sum((one.counts for one in schedulers), collections.Counter())
    for event in ('moved', 'reverted', 'resized', 'deleted'):
        assert counts[event] > 0, counts
    if client_services.is_ours():
        assert counts['Unreachable'] == 0, counts


def test_agents_reporting_the_same_trees_converge(cloud: Cloud) -> None:
    def wanted(number: int) -> client.Provider:
        host = cloud.hosts[number % 2]
        return dataclasses.replace(
            host,
            inventories={**(host.inventories or {}), 'CUSTOM_CONTESTED': client.Inventory(5)},
            traits=['CUSTOM_FAST', 'CUSTOM_SHARED'],
            aggregates=[cloud.hosts[0].uuid],
        )

    trees = [wanted(number) for number in range(THREADS)]
    cloud.ensure_in_parallel(trees)
    before = len(cloud.recorder.writes())
    for tree in trees:
        cloud.report.ensure_tree(tree)
    assert cloud.recorder.writes()[before:] == []
