# SPDX-License-Identifier: Apache-2.0
"""A small scheduler: threads that place, move and delete instances through one client.

What the client acknowledged is what the service holds in the end, to the last unit.
"""

import collections
import concurrent.futures
import itertools
import os
import random

import placement_report_client as client
from placement.tests.functional import client_services
from placement_report_client.tests.callers import Caller, new_consumer, new_uuid

#: How many instances are placed in all; thousands take minutes.
INSTANCES = int(os.environ.get('PLACEMENT_TEST_CLIENT_INSTANCES', '64'))

#: Upstream answers 500 to much of what comes at once, on SQLite: it gets less.
THREADS = 8 if client_services.is_ours() else 1
HOSTS = 6
VCPUS_PER_HOST = 16
#: Hosts are full when each thread has this many instances, which is when it begins to delete.
MAX_INSTANCES = 6

RETRY_POLICY = client.RetryPolicy(attempts=12, first_delay=0.02, call_timeout=300)

Amounts = client.allocations.Amounts


class Scheduler:
    """One thread's instances and migrations: what the client said that they hold."""

    def __init__(self, report: client.ReportClient, number: int) -> None:
        self._report = report
        self._random = random.Random(number)
        self.held: dict[str, Amounts] = {}
        self.counts: collections.Counter[str] = collections.Counter()

    def run(self, instances: int) -> None:
        """Place so many instances, and move and delete some of them in between."""
        others = itertools.cycle((self.move, self.resize))
        while self.counts['placed'] < instances:
            if len(self.held) >= self._random.randint(1, MAX_INSTANCES):
                self.delete()
            self.place()
            if self.held:
                next(others)(self.any_of_mine())

    def find(self) -> list[client.Candidate]:
        """Search for an instance of some size; the candidates in any order."""
        group = client.RequestGroup({'VCPU': self._random.randint(1, 4)})
        found = self._report.find_candidates(client.CandidateRequest({'': group}, limit=5))
        return self._random.sample(found.found, len(found))

    def any_of_mine(self) -> str:
        """Choose one of the instances of this thread."""
        return self._random.choice(sorted(self.held))

    def place(self) -> None:
        """Place a new instance, if there is room for it."""
        instance = new_consumer()
        try:
            self.held[instance.uuid] = self._report.claim_any(instance, self.find()).amounts
        except client.NoCapacity:
            if self.held:
                self.delete()
        else:
            self.counts['placed'] += 1

    def delete(self) -> None:
        """Delete an instance."""
        instance = self.any_of_mine()
        self._report.release(instance)
        del self.held[instance]
        self.counts['deleted'] += 1

    def move(self, instance: str) -> None:
        """Move an instance elsewhere; every other time, back again."""
        found, migration = self.find(), new_uuid()
        if not found:
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
            self.held[instance] = found[0].amounts
            self.counts['moved'] += 1

    def resize(self, instance: str) -> None:
        """Change the size of an instance where it is, if it can be."""
        wanted = {host: {'VCPU': self._random.randint(1, 4)} for host in self.held[instance]}
        try:
            self._report.change_allocations(instance, lambda found: found.with_amounts(wanted))
        except client.NoCapacity:
            return
        self.held[instance] = wanted
        self.counts['resized'] += 1


def test_acknowledged_writes_survive(cloud: Caller) -> None:
    hosts = [cloud.host(VCPUS_PER_HOST) for _ in range(HOSTS)]
    report = client.ReportClient(cloud.recorder, RETRY_POLICY)
    schedulers = [Scheduler(report, number) for number in range(THREADS)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for running in [pool.submit(one.run, INSTANCES // THREADS) for one in schedulers]:
            running.result()

    held = {consumer: amounts for one in schedulers for consumer, amounts in one.held.items()}
    assert {consumer: cloud.amounts(consumer) for consumer in held} == held
    expected: collections.Counter[str] = collections.Counter()
    for amounts in held.values():
        expected.update({host: resources['VCPU'] for host, resources in amounts.items()})
    assert [cloud.used(host) for host in hosts] == [expected[host.uuid] for host in hosts]
    counts = sum((one.counts for one in schedulers), collections.Counter())
    for event in ('moved', 'reverted', 'resized', 'deleted'):
        assert counts[event] > 0, counts
