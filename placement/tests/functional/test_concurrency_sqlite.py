# SPDX-License-Identifier: Apache-2.0
"""Concurrent clients of one process on one SQLite file: acknowledged writes are kept, not more."""

import collections
import concurrent.futures
import functools
import uuid
from collections.abc import Iterable, Iterator

import pytest

from placement.history import NEWEST

from .fixtures import applications, clouds, workload
from .fixtures.client import Client

THREADS = 8
ROUNDS = 120
HOSTS = workload.HOSTS

#: The code of a conflict about a generation that the client sent.
STALE = 'placement.concurrent_update'


@pytest.fixture
def service() -> Iterator[applications.Service]:
    service = applications.Service()
    clouds.build(workload.CLOUD, Client(service.application))
    yield service
    service.stop()


@pytest.fixture
def account() -> workload.Account:
    return workload.Account()


@pytest.fixture
def claimants(service: applications.Service, account: workload.Account) -> list[workload.Claimant]:
    return [
        workload.Claimant(Client(service.application), account, number)
        for number in range(THREADS)
    ]


def holdings(
    client: Client, claimants: Iterable[workload.Claimant]
) -> dict[str, workload.Holding]:
    """What each consumer must have: its last acknowledged write, for shared ones what is read."""
    own = {uuid: holding for one in claimants for uuid, holding in one.held.items()}
    return own | {uuid: shown(client, uuid) for uuid in workload.SHARED}


def shown(client: Client, consumer: str) -> workload.Holding:
    answer = client.send('GET', f'/allocations/{consumer}', version=NEWEST)
    return workload.Holding.shown(answer.json)


def claim(amount: int, generation: int | None) -> dict[str, object]:
    return workload.Holding(HOSTS[0], amount).body(generation)


def usages(client: Client) -> dict[str, int]:
    paths = {host: f'/resource_providers/{clouds.uuid_of(host)}/usages' for host in HOSTS}
    return {host: client.send('GET', path).json['usages']['VCPU'] for host, path in paths.items()}


def run_all(tasks: list[collections.abc.Callable[[], None]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


def test_usage_equals_acknowledged_claims_and_never_exceeds_capacity(
    service: applications.Service,
    claimants: list[workload.Claimant],
    account: workload.Account,
) -> None:
    watcher = Client(service.application)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(one.run, ROUNDS) for one in claimants]
        while not all(future.done() for future in futures):
            assert all(used <= workload.CAPACITIES['VCPU'] for used in usages(watcher).values())
        for future in futures:
            future.result()

    expected = dict.fromkeys(HOSTS, 0)
    for holding in holdings(watcher, claimants).values():
        if holding.host is not None:
            expected[holding.host] += holding.amount
    assert usages(watcher) == expected

    answers = account.answers
    # How many fit depends on the order; that next to none did would prove nothing.
    assert answers['done'] > THREADS * ROUNDS / 10, answers
    assert answers['full'] > 0, 'the hosts were never full, so nothing was tried'


def test_every_consumer_equals_its_last_acknowledged_write(
    service: applications.Service, claimants: list[workload.Claimant]
) -> None:
    run_all([functools.partial(one.run, ROUNDS) for one in claimants])
    client = Client(service.application)
    held = {uuid: holding for one in claimants for uuid, holding in one.held.items()}
    assert held
    assert {uuid: shown(client, uuid) for uuid in held} == held


def test_one_client_wins_each_generation_of_a_consumer(
    service: applications.Service,
) -> None:
    consumer = str(uuid.uuid4())
    won: collections.Counter[int | None] = collections.Counter()

    def write() -> None:
        client = Client(service.application)
        generation: int | None = None
        for _ in range(25):
            body = claim(1, generation)
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
