# SPDX-License-Identifier: Apache-2.0
"""Many clients at once, on one SQLite file: what is acknowledged is kept, and nothing more."""

import collections
import concurrent.futures
import random
import uuid
from collections.abc import Iterator

import pytest

from placement.history import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Answer, Client

THREADS = 8
ROUNDS = 120
CAPACITY = 16
HOSTS = tuple(f'host{number}' for number in range(4))
CLOUD: clouds.Cloud = tuple(clouds.Provider(host, {'VCPU': CAPACITY}) for host in HOSTS)

#: What a client may be told instead of 204: the host is full.
FULL = 'The requested amount would exceed the capacity.'
#: What a client may be told about a consumer that others write as well.
STALE = 'placement.concurrent_update'


@pytest.fixture
def service() -> Iterator[applications.Service]:
    service = applications.Service()
    clouds.build(CLOUD, Client(service.application))
    yield service
    service.stop()


def allocations(host: str | None, amount: int) -> dict[str, object]:
    if host is None:
        return {}
    return {clouds.uuid_of(host): {'resources': {'VCPU': amount}}}


def claim(host: str | None, amount: int, generation: int | None) -> dict[str, object]:
    return {
        'allocations': allocations(host, amount),
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': generation,
        'consumer_type': 'INSTANCE',
    }


class Worker:
    """One client with consumers of its own, which it claims, moves and releases."""

    def __init__(self, service: applications.Service, number: int) -> None:
        self.client = Client(service.application)
        self.random = random.Random(number)
        #: consumer -> host, amount and generation, as they were acknowledged
        self.held: dict[str, tuple[str, int, int]] = {}
        self.answers: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        """Do one thing after another."""
        for _ in range(ROUNDS):
            of_one_held = (self.move, self.release, self.swap)
            actions = (self.claim, self.claim, *of_one_held) if self.held else (self.claim,)
            self.random.choice(actions)()

    def claim(self) -> None:
        """A new consumer takes something."""
        consumer = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        host, amount = self.random.choice(HOSTS), self.random.randint(1, 4)
        answer = self.put(consumer, claim(host, amount, None))
        if answer.status == 204:
            self.held[consumer] = (host, amount, 1)

    def move(self) -> None:
        """A consumer goes elsewhere, or changes its size."""
        consumer = self.random.choice(sorted(self.held))
        generation = self.held[consumer][2]
        host, amount = self.random.choice(HOSTS), self.random.randint(1, 4)
        answer = self.put(consumer, claim(host, amount, generation))
        if answer.status == 204:
            self.held[consumer] = (host, amount, generation + 1)

    def release(self) -> None:
        """A consumer ends, in one of the two ways."""
        consumer = self.random.choice(sorted(self.held))
        if self.random.random() < 0.5:
            answer = self.client.send('DELETE', f'/allocations/{consumer}', version=NEWEST)
            self.note(answer)
        else:
            answer = self.put(consumer, claim(None, 0, self.held[consumer][2]))
        assert answer.status == 204, answer.text
        del self.held[consumer]

    def swap(self) -> None:
        """A consumer hands over to a new one and takes its place elsewhere, in one request."""
        old = self.random.choice(sorted(self.held))
        new = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        host, amount, generation = self.held[old]
        elsewhere = self.random.choice(HOSTS)
        body = {old: claim(elsewhere, amount, generation), new: claim(host, amount, None)}
        answer = self.client.send('POST', '/allocations', body, version=NEWEST)
        self.note(answer)
        if answer.status == 204:
            self.held[old] = (elsewhere, amount, generation + 1)
            self.held[new] = (host, amount, 1)

    def put(self, consumer: str, body: dict[str, object]) -> Answer:
        """Write the allocations of one consumer."""
        answer = self.client.send('PUT', f'/allocations/{consumer}', body, version=NEWEST)
        self.note(answer)
        return answer

    def note(self, answer: Answer) -> None:
        """Remember how it went; only a full host is a reason to refuse."""
        assert answer.status in (204, 409), answer.text
        if answer.status == 409:
            error = answer.json['errors'][0]
            assert FULL in error['detail'], error
            assert error['code'] != STALE, error
        self.answers['done' if answer.status == 204 else 'full'] += 1


def usages(client: Client) -> dict[str, int]:
    return {
        host: client.send('GET', f'/resource_providers/{clouds.uuid_of(host)}/usages').json[
            'usages'
        ]['VCPU']
        for host in HOSTS
    }


def run_all(tasks: list[collections.abc.Callable[[], None]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


def test_usage_equals_acknowledged_claims_and_never_exceeds_capacity(
    service: applications.Service,
) -> None:
    workers = [Worker(service, number) for number in range(THREADS)]
    watcher = Client(service.application)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(worker.run) for worker in workers]
        while not all(future.done() for future in futures):
            assert all(used <= CAPACITY for used in usages(watcher).values())
        for future in futures:
            future.result()

    expected = dict.fromkeys(HOSTS, 0)
    for worker in workers:
        for host, amount, _ in worker.held.values():
            expected[host] += amount
    assert usages(watcher) == expected

    answers = sum((worker.answers for worker in workers), collections.Counter())
    # How many fit depends on who comes first; that next to none did would prove nothing.
    assert answers['done'] > THREADS * ROUNDS / 10, answers
    assert answers['full'] > 0, 'the hosts were never full, so nothing was tried'


def test_every_consumer_equals_its_last_acknowledged_write(service: applications.Service) -> None:
    workers = [Worker(service, number) for number in range(THREADS, 2 * THREADS)]
    for worker in workers:
        worker.claim()
    run_all([worker.run for worker in workers])
    client = Client(service.application)
    for worker in workers:
        for consumer, (host, amount, generation) in worker.held.items():
            shown = client.send('GET', f'/allocations/{consumer}', version=NEWEST).json
            (allocation,) = shown['allocations'].values()
            assert list(shown['allocations']) == [clouds.uuid_of(host)]
            assert allocation['resources'] == {'VCPU': amount}
            assert shown['consumer_generation'] == generation


def test_one_client_wins_each_generation_of_a_consumer(
    service: applications.Service,
) -> None:
    consumer = str(uuid.uuid4())
    won: collections.Counter[int | None] = collections.Counter()

    def write() -> None:
        client = Client(service.application)
        generation: int | None = None
        for _ in range(25):
            body = claim(HOSTS[0], 1, generation)
            answer = client.send('PUT', f'/allocations/{consumer}', body, version=NEWEST)
            if answer.status == 204:
                won[generation] += 1
            else:
                assert answer.status == 409, answer.text
                assert answer.json['errors'][0]['code'] == STALE, answer.text
            shown = client.send('GET', f'/allocations/{consumer}', version=NEWEST).json
            generation = shown['consumer_generation']

    run_all([write] * THREADS)
    last = Client(service.application).send('GET', f'/allocations/{consumer}', version=NEWEST)
    assert set(won.values()) == {1}
    assert sorted(won, key=lambda generation: generation or 0) == [
        None,
        *range(1, last.json['consumer_generation']),
    ]


def test_one_client_wins_each_generation_of_an_inventory(
    service: applications.Service,
) -> None:
    path = f'/resource_providers/{clouds.uuid_of(HOSTS[0])}/inventories'
    won: collections.Counter[int] = collections.Counter()

    def write() -> None:
        client = Client(service.application)
        for _ in range(25):
            body = client.send('GET', path, version=NEWEST).json
            generation = body['resource_provider_generation']
            answer = client.send('PUT', path, body, version=NEWEST)
            if answer.status == 200:
                won[generation] += 1
            else:
                assert answer.status == 409, answer.text
                assert answer.json['errors'][0]['code'] == STALE, answer.text

    run_all([write] * THREADS)
    assert set(won.values()) == {1}
    assert sorted(won) == list(range(min(won), min(won) + len(won)))


def test_concurrent_creations_of_the_same_name_succeed(service: applications.Service) -> None:
    def create() -> None:
        client = Client(service.application)
        for number in range(10):
            for kind in ('traits', 'resource_classes'):
                answer = client.send('PUT', f'/{kind}/CUSTOM_{number}', version=NEWEST)
                assert answer.status in (201, 204), answer.text
            body = {'name': f'the same {number}'}
            answer = client.send('POST', '/resource_providers', body, version=NEWEST)
            assert answer.status in (200, 409), answer.text

    run_all([create] * THREADS)
    client = Client(service.application)
    listed = client.send('GET', '/resource_providers', version=NEWEST).json['resource_providers']
    assert sum(provider['name'].startswith('the same') for provider in listed) == 10
