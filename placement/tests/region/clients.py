# SPDX-License-Identifier: Apache-2.0
"""Clients of a region: each is the only one that writes its consumers or its provider, and waits
for each answer, so that it knows what the next one may say."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import requests

from placement.tests.region import checker, stored
from placement.tests.region.record import Operation, Record, State

HEADERS = {'OpenStack-API-Version': 'placement latest'}
OWNER = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE'}
TIMEOUT = 60
# Maximum length of an answer in the record.
MAX_TEXT = 20_000
# How many consumers a client keeps before it releases one.
KEPT = 4
# Seconds after which a client asks again that was told to wait.
PAUSE = 0.2
# Seconds within which a request is done, or never, whose client got no answer.
LATE = 60
# Seconds between two comparisons of a follower's copy.
COMPARE_EVERY = 3


class Tokens(Protocol):
    """Tokens of an administrator, of which the new one may not be known, and of a service."""

    @property
    def old(self) -> str:
        """One that has been there since the clients began."""

    @property
    def new(self) -> str:
        """One that may have been replaced."""

    @property
    def service(self) -> str:
        """The token of a service such as nova, which alone may reshape."""


class Service(Protocol):
    """The service that clients use."""

    @property
    def urls(self) -> Mapping[str, str]:
        """Where each instance answers, and the `balancer`."""

    @property
    def tokens(self) -> Tokens:
        """The tokens of clients."""

    def session(self) -> requests.Session:
        """Something that sends requests."""

    def stored(self) -> stored.Stored | None:
        """The contents of the database; None if it does not answer."""


class Client(threading.Thread):
    """A thread that sends requests to random instances, and records the answers."""

    def __init__(self, name: str, service: Service, record: Record, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.random = random.Random(f'{seed} {name}')
        self.service = service
        self.record = record
        self.ended = threading.Event()
        self._urls = self.asked(service)
        self._sessions = {where: service.session() for where in self._urls}

    @property
    def token(self) -> str:
        """The token of its requests."""
        return self.service.tokens.old

    def asked(self, service: Service) -> Mapping[str, str]:
        """Where it asks."""
        return service.urls

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
        kind: str = checker.READ,
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
            self._sessions[where] = self.service.session()
        operation = Operation(
            self.name, kind, subject or path, where, begun, self.record.now, status,
            text[:MAX_TEXT], request_id, retry, before, after,
        )  # fmt: skip
        self.record.add(operation)
        if status >= 500 or not status:
            self.record.sleep(PAUSE)
        return operation, found

    def read(self, path: str) -> Any:
        """The answer to a read, after retries until there is one."""
        while True:
            operation, found = self.ask('GET', path)
            if operation.status == 200:
                return found
            if 0 < operation.status < 500:
                self.record.violation(f'GET {path} is answered {operation.status}', operation.text)
                return None


class Late(NamedTuple):
    """The possible late effect of a write without an answer, and its latest time."""

    consumer: str
    state: dict[str, int]
    until: float


class Claimer(Client):
    """Claims, moves and releases on hosts that all share, and on one that it alone searches."""

    def __init__(
        self, name: str, service: Service, record: Record, seed: int, hosts: list[str]
    ) -> None:
        super().__init__(name, service, record, seed)
        self.hosts = hosts
        self.own = str(uuid.uuid4())
        #: What each of its consumers holds, by host.
        self.holds: dict[str, dict[str, int]] = {}
        self._generations: dict[str, int | None] = {}
        self._late = list[Late]()

    @property
    def token(self) -> str:
        """The new token for one in two, so that others go on while it cannot be validated."""
        tokens = self.service.tokens
        return tokens.new if self.name.endswith(('1', '3', '5')) else tokens.old

    def work(self) -> None:
        """Change a consumer, or claim the host of its own and search it."""
        self.settle()
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
        """Write the allocations of a consumer, and record its new state."""
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

    def settle(self) -> None:
        """Look whether writes without an answer have been made since.

        A balancer that was killed may have passed on a request, which an instance still does when
        the client has long read what was there before. Another write of the consumer, made by the
        same generation, excludes it.
        """
        for consumer in {late.consumer for late in self._late}:
            held, generation = self._read(consumer)
            if self._is_late(consumer, held):
                self._know(consumer, held, generation)
        self._late = [late for late in self._late if self.record.now <= late.until]

    def _is_late(self, consumer: str, held: dict[str, int]) -> bool:
        """True if a write without an answer can have made this of a consumer."""
        return any(late.consumer == consumer and late.state == held for late in self._late)

    def _read(self, consumer: str) -> tuple[dict[str, int], int | None]:
        """The amounts of a consumer by host, and its generation."""
        found = self.read(f'/allocations/{consumer}')
        held = {
            host: amounts['resources']['VCPU'] for host, amounts in found['allocations'].items()
        }
        return held, found.get('consumer_generation')

    def _learn(self, consumer: str, possible: list[dict[str, int]], of: Operation) -> None:
        held, after = self._read(consumer)
        before = self._generations.get(consumer)
        is_late = not of.is_acknowledged and self._is_late(consumer, held)
        if held not in possible and not is_late:
            self.record.violation(
                f'{of.kind} of {consumer} at {of.where} was answered {of.status}', (held, possible)
            )
        if not is_late and not checker.has_grown(before, after, of):
            self.record.violation(
                f'{of.kind} of {consumer} at {of.where} was answered {of.status}', (before, after)
            )
        self._know(consumer, held, after)
        if of.is_unknown and held == of.before:
            self._late.append(Late(consumer, dict(of.after or {}), of.ended + LATE))

    def _know(self, consumer: str, held: dict[str, int], generation: int | None) -> None:
        if generation != self._generations.get(consumer):
            # Those that were sent by the former generation are excluded.
            self._late = [late for late in self._late if late.consumer != consumer]
        self.holds[consumer] = held
        self._generations[consumer] = generation
        if not held:
            del self.holds[consumer]

    def _claim_own(self) -> None:
        """Claim or release the host of its own, and search it through any instance."""
        holding = [consumer for consumer, held in self.holds.items() if self.own in held]
        if holding:
            self.write(holding[0], {})
        else:
            self.write(str(uuid.uuid4()), {self.own: 1})
        if any(
            self.own in {*late.state, *self.holds.get(late.consumer, {})} for late in self._late
        ):
            return
        is_taken = any(self.own in held for held in self.holds.values())
        found = self.read(f'/allocation_candidates?resources=VCPU:1&in_tree={self.own}')
        if found is not None and bool(found['allocation_requests']) is is_taken:
            self.record.violation('a search does not know whether a host is taken', is_taken)


class Follower(Client):
    """Keeps a copy of the cloud from what changes, and compares it with the database."""

    WANTED = 'include=usages,inventories,traits,aggregates&page_limit=1000'

    def __init__(self, name: str, service: Service, record: Record, seed: int) -> None:
        super().__init__(name, service, record, seed)
        #: By uuid, as the database shows them.
        self.copy: dict[str, dict[str, Any]] = {}
        self._next = ''
        self._compared_at = 0.0

    def work(self) -> None:
        """Take the changes over; every few seconds, compare."""
        if self.record.now - self._compared_at >= COMPARE_EVERY:
            self._compared_at = self.record.now
            self.compare()
        self.catch_up()
        self.record.sleep(PAUSE)

    def compare(self) -> bool:
        """Have the copy compared with what the database holds all the while it catches up, if it
        answers."""
        before = self.service.stored()
        self.catch_up()
        after = self.service.stored()
        if before is None or after is None:
            return False
        self.record.compare(before.providers, after.providers, self.copy)
        return True

    def catch_up(self) -> None:
        """Follow until nothing more has changed."""
        while True:
            path = self._next or f'/insight/providers?{self.WANTED}'
            page = self.read(path)
            for provider in page.get('deleted', ()):
                self.copy.pop(provider, None)
            for provider in page['providers']:
                self.copy[provider['uuid']] = stored.normal(provider)
            if page.get('complete') is False:
                self._next = ''
                self.copy.clear()
                continue
            self._next = f'/insight/changes?since={page["token"]}&{self.WANTED}'
            if not page['links']:
                return
