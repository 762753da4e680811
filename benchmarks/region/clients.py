# SPDX-License-Identifier: Apache-2.0
"""Clients of a region: each is the only one that writes its consumers or its provider, and waits
for each answer, so that it knows what the next one may say."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import requests

from benchmarks.region import checker
from benchmarks.region.record import Operation, Record, State
from benchmarks.region.services import Region

HEADERS = {'OpenStack-API-Version': 'placement latest'}
OWNER = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE'}
TIMEOUT = 60
HOSTS = 6
CAPACITY = 20
CLAIMERS = 6
# How many consumers a client keeps before it releases one.
KEPT = 4
# Seconds after which a client asks again that was told to wait.
PAUSE = 0.2


class Client(threading.Thread):
    """A thread that asks instances of the service at random, and records what it was answered."""

    def __init__(self, name: str, region: Region, record: Record, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.random = random.Random(f'{seed} {name}')
        self.record = record
        self.ended = threading.Event()
        self._tokens = region.tokens
        self._urls = self.asked(region)
        self._sessions = {where: requests.Session() for where in self._urls}

    @property
    def token(self) -> str:
        """What it says who it is."""
        return self._tokens.old

    def asked(self, region: Region) -> Mapping[str, str]:
        """Where it asks."""
        return region.urls

    def run(self) -> None:
        """Work until the end."""
        while not self.ended.is_set():
            try:
                self.work()
            except Exception as error:
                self.record.violation(f'{self.name} failed', repr(error))
                raise

    def work(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = 'read',
        subject: str = '',
        before: State | None = None,
        after: State | None = None,
    ) -> tuple[Operation, Any]:
        """Send a request anywhere; the operation, and what the answer says."""
        where = self.random.choice(list(self._urls))
        request_id, begun = f'req-{uuid.uuid4()}', self.record.now
        status, text, found, retry = 0, '', None, True
        try:
            answer = self._sessions[where].request(
                method, self._urls[where] + path, json=body, timeout=TIMEOUT,
                headers={
                    **HEADERS, 'X-Openstack-Request-Id': request_id,
                    'X-Auth-Token': self.token,
                },
            )  # fmt: skip
            status, text = answer.status_code, answer.text
            retry = 'Retry-After' in answer.headers
            found = answer.json() if text and status < 400 else None
        except requests.RequestException as error:
            text = repr(error)
            self._sessions[where].close()
            self._sessions[where] = requests.Session()
        operation = Operation(
            self.name, kind, subject, where, begun, self.record.now, status, text[:2000],
            request_id, retry, before, after,
        )  # fmt: skip
        self.record.add(operation)
        if status >= 500 or not status:
            time.sleep(PAUSE)
        return operation, found

    def read(self, path: str) -> Any:
        """What a read says, asked until it is answered."""
        while True:
            operation, found = self.ask('GET', path)
            if operation.status == 200:
                return found
            if 0 < operation.status < 500:
                self.record.violation(f'GET {path} is answered {operation.status}', operation.text)
                return None


class Claimer(Client):
    """Claims, moves and releases on hosts that all share, and on one that it alone searches."""

    def __init__(
        self, name: str, region: Region, record: Record, seed: int, hosts: list[str]
    ) -> None:
        super().__init__(name, region, record, seed)
        self.hosts = hosts
        self.own = str(uuid.uuid4())
        #: What each of its consumers holds, by host.
        self.holds: dict[str, dict[str, int]] = {}
        self._generations: dict[str, int | None] = {}

    @property
    def token(self) -> str:
        """The new token for one in two, so that others go on while it cannot be validated."""
        return self._tokens.new if self.name.endswith(('1', '3', '5')) else self._tokens.old

    def work(self) -> None:
        """Change a consumer, or claim the host of its own and search it."""
        if self.random.random() < 0.3:
            self._claim_own()
            return
        kept = [consumer for consumer, held in self.holds.items() if self.own not in held]
        if len(kept) < KEPT:
            consumer = str(uuid.uuid4())
            self.write(consumer, {self.random.choice(self.hosts): self.random.randint(1, 6)})
        elif self.random.random() < 0.5:
            consumer = self.random.choice(kept)
            amount = sum(self.holds[consumer].values())
            self.write(consumer, {self.random.choice(self.hosts): amount})
        else:
            self.write(self.random.choice(kept), {})

    def write(self, consumer: str, after: dict[str, int]) -> None:
        """Let a consumer hold this, and know what it holds then."""
        before, path = self.holds.get(consumer, {}), f'/allocations/{consumer}'
        kind = 'move' if before and after else 'claim' if after else 'release'
        body = {
            'allocations': {host: {'resources': {'VCPU': n}} for host, n in after.items()},
            'consumer_generation': self._generations.get(consumer),
            **OWNER,
        }
        operation, _found = self.ask('PUT', path, body, kind, consumer, before, after)
        if operation.is_acknowledged:
            possible = [after]
        elif operation.is_unknown:
            possible = [before, after]
        else:
            possible = [before]
            # 409: the host is full, or others kept writing to it.
            if operation.status not in (409, 503):
                self.record.violation(f'{kind} is answered {operation.status}', operation.text)
        self._learn(consumer, possible, operation)

    def _learn(self, consumer: str, possible: list[dict[str, int]], of: Operation) -> None:
        found = self.read(f'/allocations/{consumer}')
        held = {
            host: amounts['resources']['VCPU'] for host, amounts in found['allocations'].items()
        }
        if held not in possible:
            self.record.violation(
                f'{of.kind} of {consumer} at {of.where} was answered {of.status}', (held, possible)
            )
        before, after = self._generations.get(consumer), found.get('consumer_generation')
        if not checker.has_grown(before, after, of):
            self.record.violation(
                f'{of.kind} of {consumer} at {of.where} was answered {of.status}', (before, after)
            )
        self.holds[consumer] = held
        self._generations[consumer] = after
        if not held:
            del self.holds[consumer]

    def _claim_own(self) -> None:
        """Claim or release the host of its own, and search it through any instance."""
        holding = [consumer for consumer, held in self.holds.items() if self.own in held]
        if holding:
            self.write(holding[0], {})
        else:
            self.write(str(uuid.uuid4()), {self.own: 1})
        is_taken = any(self.own in held for held in self.holds.values())
        found = self.read(f'/allocation_candidates?resources=VCPU:1&in_tree={self.own}')
        if found is not None and bool(found['allocation_requests']) is is_taken:
            self.record.violation('a search does not know whether a host is taken', is_taken)


class Agent(Client):
    """Sets inventories of a provider of its own, by its generation."""

    def __init__(self, name: str, region: Region, record: Record, seed: int) -> None:
        super().__init__(name, region, record, seed)
        self.own = str(uuid.uuid4())
        self._generation = 0
        self._total = 0

    def asked(self, region: Region) -> Mapping[str, str]:
        """The balancer, as clients of a region do.

        Those that ask any instance wait for one that listens and still starts, and would soon all
        do so.
        """
        return {'balancer': region.urls['balancer']}

    def work(self) -> None:
        """Write another total, and read it and the generation."""
        wanted = self.random.randint(1, 1000)
        path = f'/resource_providers/{self.own}/inventories'
        body = {
            'resource_provider_generation': self._generation,
            'inventories': {'VCPU': {'total': wanted}},
        }
        operation, _found = self.ask('PUT', path, body, 'inventory', self.own)
        if operation.is_acknowledged:
            possible = {(self._generation + 1, wanted)}
        elif operation.is_unknown:
            possible = {(self._generation, self._total), (self._generation + 1, wanted)}
        else:
            possible = {(self._generation, self._total)}
            if operation.status != 503:
                self.record.violation(f'inventory: {operation.status}', operation.text)
        found = self.read(path)
        total = found['inventories'].get('VCPU', {}).get('total', 0)
        pair = (found['resource_provider_generation'], total)
        if pair not in possible:
            self.record.violation(f'inventory was answered {operation.status}', (pair, possible))
        self._generation, self._total = pair


class Follower(Client):
    """Keeps a copy of what is used, from what changes."""

    WANTED = 'include=usages&page_limit=1000'

    def __init__(self, name: str, region: Region, record: Record, seed: int) -> None:
        super().__init__(name, region, record, seed)
        #: By the uuid of a provider.
        self.used: dict[str, int] = {}
        self._next = ''

    def work(self) -> None:
        """Take the changes over."""
        self.catch_up()
        time.sleep(PAUSE)

    def catch_up(self) -> None:
        """Follow until nothing more has changed."""
        while True:
            path = self._next or f'/insight/providers?{self.WANTED}'
            page = self.read(path)
            for provider in page.get('deleted', ()):
                self.used.pop(provider, None)
            for provider in page['providers']:
                self.used[provider['uuid']] = provider['usages'].get('VCPU', 0)
            if page.get('complete') is False:
                self._next = ''
                continue
            self._next = f'/insight/changes?since={page["token"]}&{self.WANTED}'
            if not page['links']:
                return


@contextlib.contextmanager
def working(region: Region, record: Record, seed: int) -> Iterator[tuple[list[Claimer], Follower]]:
    """Let clients work on hosts that they create."""
    hosts = [str(uuid.uuid4()) for _ in range(HOSTS)]
    claimers = [Claimer(f'claimer {n}', region, record, seed, hosts) for n in range(CLAIMERS)]
    agents = [Agent(f'agent {n}', region, record, seed) for n in range(2)]
    follower = Follower('follower', region, record, seed)
    capacities = dict.fromkeys(hosts, CAPACITY) | {one.own: 1 for one in claimers}
    for host in [*capacities, *(agent.own for agent in agents)]:
        created, _found = follower.ask('POST', '/resource_providers', {'name': host, 'uuid': host})
        assert created.status == 200, created
        body = {'inventories': {'VCPU': {'total': capacities.get(host, 1)}}}
        if host in capacities:
            path = f'/resource_providers/{host}/inventories'
            made, _found = follower.ask('PUT', path, {'resource_provider_generation': 0, **body})
            assert made.status == 200, made
    clients = [*claimers, *agents, follower]
    for client in clients:
        client.start()
    try:
        yield claimers, follower
    finally:
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join()
