# SPDX-License-Identifier: Apache-2.0
"""The writes of a scheduler: claims and releases, alone and in competition, moves, reshapes."""

from __future__ import annotations

import functools
import random
import uuid
from collections.abc import Collection, Iterator
from typing import Any

from benchmarks import clouds
from benchmarks.client import Answer, Client
from benchmarks.clouds import Plan
from benchmarks.scenarios.base import Budget, Refused, Scenario, Work
from benchmarks.scenarios.search import GRANULAR, TREES_OF_EIGHT
from placement.tests.functional.fixtures.clouds import claim

SIZES = (100, 1_000, 10_000, 130_000)
CLIENT_COUNTS = (1, 8, 32)
COMPETITION_SIZE = 1_000
CURVE = (1, 2, 4, 8, 16, 32, 64)
QUICK_CURVE = (1, 8, 64)
FEW_HOSTS = 4
SERVER = {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 10}
QUERY = 'resources=' + ','.join(f'{name}:{amount}' for name, amount in SERVER.items())
MANY = 50
RESHAPED = 100


def scenarios(sizes: Collection[int]) -> Iterator[Scenario]:
    """The claims in clouds of these sizes."""
    for size in filter(sizes.__contains__, SIZES):
        cloud = Plan(clouds.flat, size)
        yield Scenario('claim cycle PUT GET DELETE', size, cloud,
                       functools.partial(Claim, size), budget=Budget(ratio=4))  # fmt: skip
        yield Scenario('scheduling cycle', size, cloud, functools.partial(Schedule, size),
                       is_quick=False)  # fmt: skip
        yield Scenario('move by POST', size, cloud, functools.partial(Move, size))
        yield Scenario(
            f'POST with {MANY} consumers', size, cloud, functools.partial(ManyConsumers, size)
        )
        yield Scenario(f'reshaper with {RESHAPED} providers', size, cloud, Reshape)
    for size in filter(sizes.__contains__, TREES_OF_EIGHT):
        yield Scenario(
            'scheduling in trees of eight', size, Plan(clouds.trees_of_eight, size),
            functools.partial(ScheduleInTrees, size), is_quick=False,
        )  # fmt: skip
    if COMPETITION_SIZE in sizes:
        yield from _competition(COMPETITION_SIZE)
    yield from _curve()


def _competition(size: int) -> Iterator[Scenario]:
    cloud = Plan(clouds.flat, size)
    yield Scenario(
        'claims and releases, many hosts, 8 clients', size, cloud,
        functools.partial(Claim, size, reads=False), clients=8,
        budget=Budget(ratio=10, of='rate', engine='mariadb'),
    )  # fmt: skip
    for clients in CLIENT_COUNTS:
        yield Scenario(
            f'scheduling, many hosts, {clients} clients', size, cloud,
            functools.partial(Schedule, size), clients=clients,
            is_quick=clients == max(CLIENT_COUNTS),
        )  # fmt: skip


def _curve() -> Iterator[Scenario]:
    clients = max(CURVE)
    yield Scenario(
        f'claims and releases, one host, {clients} clients', 1, Plan(clouds.flat, 1),
        functools.partial(Claim, 1, reads=False), clients=clients, is_quick=False,
    )  # fmt: skip
    for clients in CURVE:
        yield Scenario(
            f'scheduling, four hosts, {clients} clients', FEW_HOSTS,
            Plan(clouds.flat, FEW_HOSTS), functools.partial(Schedule, FEW_HOSTS), clients=clients,
            is_quick=clients in QUICK_CURVE,
        )  # fmt: skip


class Claim(Work):
    """A claim on a random host, and its release."""

    def __init__(self, size: int, _number: int, reads: bool = True) -> None:
        self._size = size
        self._reads = reads

    def run(self, client: Client) -> None:
        """PUT, GET and DELETE of a new consumer.

        :raises Refused: a concurrent claim was faster
        """
        self.cycle(client, claim({clouds.host(random.randrange(self._size)): SERVER}))

    def cycle(self, client: Client, body: Any) -> None:
        """Claim this for a new consumer, and release it.

        :raises Refused: a concurrent claim was faster
        """
        path = new_consumer()
        accepted(client.request('PUT', path, body))
        if self._reads:
            client.get(path)
        accepted(client.request('DELETE', path))


class Schedule(Claim):
    """A search, a claim on one of its candidates, and its release."""

    def run(self, client: Client) -> None:
        """GET of the candidates; PUT, GET and DELETE of a new consumer.

        :raises Refused: a concurrent claim was faster
        """
        candidates = client.get(self._path()).json()['allocation_requests']
        body = claim({})
        body['allocations'] = random.choice(candidates)['allocations']
        self.cycle(client, body)

    def _path(self) -> str:
        path = f'/allocation_candidates?{QUERY}&limit=10'
        if self._size > FEW_HOSTS:
            # Schedulers search different parts of a large cloud.
            path += f'&member_of={clouds.aggregate(random.randrange(self._size))}'
        return path


class ScheduleInTrees(Schedule):
    """The same for a server on a NUMA node with a port, in a whole cloud of trees."""

    def _path(self) -> str:
        return f'/allocation_candidates?{GRANULAR}&limit=10'


class Move(Work):
    """A server that moves between two hosts and back, as by cold migration."""

    def __init__(self, size: int, number: int) -> None:
        self._hosts = [clouds.host(number % size), clouds.host((number + 1) % size)]
        self._server, self._migration = str(uuid.uuid4()), str(uuid.uuid4())
        self._generation = 0

    def prepare(self, client: Client) -> None:
        """Put the server on the first host."""
        body = claim({self._hosts[0]: SERVER})
        client.send('PUT', f'/allocations/{self._server}', body)
        self._generation = 1

    def run(self, client: Client) -> None:
        """Two POST with two consumers each: the move, and its confirmation."""
        source, target = self._hosts
        client.send('POST', '/allocations', {
            self._migration: claim({source: SERVER}),
            self._server: claim({target: SERVER}, self._generation),
        })  # fmt: skip
        client.send('POST', '/allocations', {
            self._migration: claim({}, 1),
            self._server: claim({target: SERVER}, self._generation + 1),
        })  # fmt: skip
        self._generation += 2
        self._hosts.reverse()

    def finish(self, client: Client) -> None:
        """Remove the server."""
        client.send('DELETE', f'/allocations/{self._server}')


class ManyConsumers(Work):
    """Many consumers claimed, then released, in one request each."""

    def __init__(self, size: int, _number: int) -> None:
        self._consumers = [str(uuid.uuid4()) for _ in range(MANY)]
        self._hosts = [clouds.host(number % size) for number in range(MANY)]

    def run(self, client: Client) -> None:
        """Two POST: a claim for all consumers, a release of all."""
        pairs = list(zip(self._consumers, self._hosts, strict=True))
        client.send('POST', '/allocations', {c: claim({host: SERVER}) for c, host in pairs})
        client.send('POST', '/allocations', {c: claim({}, 1) for c in self._consumers})


class Reshape(Work):
    """Hosts whose inventories and allocations are replaced in one request."""

    def __init__(self, _number: int) -> None:
        cloud = clouds.flat(RESHAPED)
        self._providers = cloud.providers
        self._consumers = cloud.consumers
        self._generations: dict[str, int] = {}

    def prepare(self, client: Client) -> None:
        """Read the generations."""
        for provider in self._providers:
            inventories = client.get(f'/resource_providers/{provider.uuid}/inventories').json()
            self._generations[provider.uuid] = inventories['resource_provider_generation']
        for consumer in self._consumers:
            found = client.get(f'/allocations/{consumer.uuid}').json()
            self._generations[consumer.uuid] = found['consumer_generation']

    def run(self, client: Client) -> None:
        """One POST."""
        client.send('POST', '/reshaper', {
            'inventories': {
                provider.uuid: {
                    'resource_provider_generation': self._generations[provider.uuid],
                    'inventories': provider.inventories,
                }
                for provider in self._providers
            },
            'allocations': {
                consumer.uuid: claim(consumer.allocations, self._generations[consumer.uuid])
                for consumer in self._consumers
            },
        })  # fmt: skip
        for provider in self._providers:
            self._generations[provider.uuid] += 3
        for consumer in self._consumers:
            self._generations[consumer.uuid] += 1


def new_consumer() -> str:
    """The path of a consumer that there is not yet."""
    return f'/allocations/{uuid.uuid4()}'


def accepted(answer: Answer) -> None:
    """Check that a write was accepted.

    :raises Refused: it was not
    """
    if answer.status >= 400:
        raise Refused(f'{answer.status} {answer.body[:200].decode()}')
