# SPDX-License-Identifier: Apache-2.0
"""A small scheduler: threads that place, move and delete instances through one client.

What the client acknowledged is what the service holds in the end, to the last unit, and no host
was ever given more than it has.
"""

import collections
import concurrent.futures
import dataclasses
import itertools
import os
import random
import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

import placement_report_client as client
from placement.tests.functional import client_services

#: How many instances are placed in all; thousands take minutes.
VARIABLE = 'PLACEMENT_TEST_CLIENT_INSTANCES'
INSTANCES = int(os.environ.get(VARIABLE, '64'))

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


@dataclasses.dataclass
class Cloud:
    """The hosts, and the client that all threads share."""

    recorder: client_services.Recorder
    report: client.ReportClient
    hosts: list[client.Provider]

    def capacities(self) -> dict[tuple[str, str], int]:
        """The capacity of each resource class of each provider."""
        return {
            (provider.uuid, name): inventory.total
            for host in self.hosts
            for provider, _ in host.with_parents()
            for name, inventory in (provider.inventories or {}).items()
        }

    def allocations(self) -> dict[str, Amounts]:
        """The allocations in the service, by consumer and provider."""
        held: dict[str, Amounts] = {}
        for uuid_ in {provider for provider, _ in self.capacities()}:
            shown = self.recorder.get(f'/resource_providers/{uuid_}/allocations').json()
            for consumer, entry in shown['allocations'].items():
                held.setdefault(consumer, {})[uuid_] = entry['resources']
        return held

    def usages(self) -> dict[tuple[str, str], int]:
        """The usage of each resource class of each provider."""
        return {
            (uuid_, name): self.recorder.get(f'/resource_providers/{uuid_}/usages').json()[
                'usages'
            ][name]
            for uuid_, name in self.capacities()
        }


@pytest.fixture(scope='module')
def cloud() -> Iterator[Cloud]:
    with client_services.running() as url:
        recorder = client_services.adapter_for(url)
        report = client.ReportClient(recorder, RETRY_POLICY)
        hosts = [a_host(number) for number in range(HOSTS)]
        # Agents do not wait for each other either.
        in_parallel(report.ensure_tree, hosts)
        yield Cloud(recorder, report, hosts)
        recorder.session.session.close()


def in_parallel(action: Callable[[client.Provider], None], hosts: list[client.Provider]) -> None:
    with concurrent.futures.ThreadPoolExecutor(min(len(hosts), THREADS)) as pool:
        list(pool.map(action, hosts))


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

    def find(self) -> client.Candidates:
        """Some candidates for an instance of some size."""
        cell = client.RequestGroup({'VCPU': self._random.randint(1, 4)})
        root = client.RequestGroup(
            {'CUSTOM_MEMORY': self._random.randint(1, 4)},
            forbidden=['CUSTOM_FAST'] if self._random.random() < 0.3 else [],
        )
        groups = {'': root, '_CELL': cell}
        found = self._report.find_candidates(client.CandidateRequest(groups, limit=5))
        return dataclasses.replace(
            found, found=tuple(self._random.sample(found.found, len(found)))
        )

    def place(self) -> None:
        """A new instance, if there is room for it."""
        instance = client.Consumer(new_uuid(), 'project', 'user')
        try:
            taken = self._report.claim_any(instance, self.find())
        except client.NoCapacity:
            self.counts['no room'] += 1
            self.delete()
        else:
            self.held[instance.uuid] = _amounts(taken)
            self.counts['placed'] += 1

    def delete(self) -> None:
        """One instance less."""
        if self.held:
            instance = self._random.choice(sorted(self.held))
            self._report.release(instance)
            del self.held[instance]
            self.counts['deleted'] += 1

    def move(self) -> None:
        """An instance goes elsewhere, or almost."""
        found = self.find()
        if not self.held or not found:
            return
        instance, migration = self._random.choice(sorted(self.held)), new_uuid()
        try:
            self._report.move(instance, migration, found.found[0])
        except client.NoCapacity:
            self.counts['not moved'] += 1
        else:
            self._end_move(instance, migration, found.found[0])

    def _end_move(self, instance: str, migration: str, taken: client.Candidate) -> None:
        if self.counts['moved'] > self.counts['reverted']:
            self._report.revert(instance, migration)
            self.counts['reverted'] += 1
        else:
            self._report.confirm(migration)
            self.held[instance] = _amounts(taken)
            self.counts['moved'] += 1

    def resize(self) -> None:
        """An instance changes its size where it is, if it can."""
        if not self.held:
            return
        instance = self._random.choice(sorted(self.held))
        wanted = {
            provider: {name: self._random.randint(1, 4) for name in resources}
            for provider, resources in self.held[instance].items()
        }
        try:
            self._report.change_allocations(instance, lambda found: found.with_amounts(wanted))
        except client.NoCapacity:
            self.counts['not resized'] += 1
        else:
            self.held[instance] = wanted
            self.counts['resized'] += 1

    def interfere(self) -> None:
        """Something happens to an instance that others interfere with at the same time."""
        instance = client.Consumer(self._random.choice(self._shared), 'project', 'user')
        migration = new_uuid()
        found = self.find()
        try:
            if self._report.find_allocations(instance.uuid) is None:
                self._report.claim_any(instance, found)
            elif found and self._random.random() < 0.5:
                self._report.move(instance.uuid, migration, found.found[0])
            else:
                self._report.release(instance.uuid)
        except (client.Conflict, client.Gone, client.NoCapacity, client.Unreachable) as error:
            # What became of a request without an answer cannot be told when others write, too.
            self.counts[type(error).__name__] += 1
        finally:
            self._report.confirm(migration)


def _amounts(candidate: client.Candidate) -> Amounts:
    return {provider: dict(resources) for provider, resources in candidate.amounts.items()}


def test_acknowledged_writes_survive_and_no_host_is_overcommitted(cloud: Cloud) -> None:
    shared = [new_uuid() for _ in range(SHARED)]
    schedulers = [Scheduler(cloud, number, shared) for number in range(THREADS)]
    capacities = cloud.capacities()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            assert all(used <= capacities[key] for key, used in cloud.usages().items())

    with concurrent.futures.ThreadPoolExecutor(THREADS + 1) as pool:
        watcher = pool.submit(watch)
        running = [pool.submit(one.run, INSTANCES // THREADS) for one in schedulers]
        concurrent.futures.wait(running)
        done.set()
    for future in (*running, watcher):
        future.result()

    held = cloud.allocations()
    expected = {consumer: amounts for one in schedulers for consumer, amounts in one.held.items()}
    left_over = {consumer: held.pop(consumer) for consumer in shared if consumer in held}
    assert held == expected

    taken: collections.Counter[tuple[str, str]] = collections.Counter()
    for amounts in (*expected.values(), *left_over.values()):
        for provider, resources in amounts.items():
            for name, amount in resources.items():
                taken[provider, name] += amount
    usages = cloud.usages()
    assert {key: used for key, used in usages.items() if used} == taken
    assert all(used <= capacities[key] for key, used in usages.items())

    counts = sum((one.counts for one in schedulers), collections.Counter())
    assert counts['placed'] >= INSTANCES // THREADS * THREADS
    for event in ('moved', 'reverted', 'resized', 'deleted'):
        assert counts[event] > 0, counts
    if client_services.is_ours():
        assert counts['Unreachable'] == 0, counts


def test_agents_reporting_the_same_trees_converge(cloud: Cloud) -> None:
    name = 'CUSTOM_CONTESTED'

    def wanted(number: int) -> client.Provider:
        host = cloud.hosts[number % 2]
        return dataclasses.replace(
            host,
            inventories={**(host.inventories or {}), name: client.Inventory(5)},
            traits=['CUSTOM_FAST', 'CUSTOM_SHARED'],
            aggregates=[cloud.hosts[0].uuid],
        )

    trees = [wanted(number) for number in range(THREADS)]
    in_parallel(cloud.report.ensure_tree, trees)
    before = len(cloud.recorder.writes())
    for tree in trees:
        cloud.report.ensure_tree(tree)
    assert cloud.recorder.writes()[before:] == []


def test_released_instances_leave_no_usage(cloud: Cloud) -> None:
    consumers = list(cloud.allocations())
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(cloud.report.release, consumers))
    assert cloud.allocations() == {}
    assert set(cloud.usages().values()) <= {0}
