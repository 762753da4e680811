# SPDX-License-Identifier: Apache-2.0
"""Concurrent clients of one process on one SQLite file: acknowledged writes are kept, not more."""

import collections
import concurrent.futures
import uuid
from collections.abc import Iterator

import pytest

from placement.microversions import NEWEST

from .fixtures import applications, clouds, workload
from .fixtures.client import Client

THREADS = 8
HOSTS = workload.HOSTS

#: The code of a conflict about a generation that the client sent.
STALE = 'placement.concurrent_update'


@pytest.fixture
def service() -> Iterator[applications.Service]:
    service = applications.Service()
    clouds.build(workload.CLOUD, Client(service.application))
    yield service
    service.stop()


def claim(amount: int, generation: int | None) -> dict[str, object]:
    return workload.Holding(HOSTS[0], amount).body(generation)


def run_all(tasks: list[collections.abc.Callable[[], None]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


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
