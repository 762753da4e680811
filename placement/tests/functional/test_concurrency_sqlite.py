# SPDX-License-Identifier: Apache-2.0
"""Concurrent clients of one process on one SQLite file: acknowledged writes are kept, not more."""

import collections
import concurrent.futures
from collections.abc import Callable, Iterator
from typing import Any

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


def run_all(tasks: list[Callable[[], None]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()


CONSUMER = f'/allocations/{clouds.uuid_of("consumer")}'
INVENTORIES = f'/resource_providers/{clouds.uuid_of(HOSTS[0])}/inventories'


def claimed(shown: Any) -> tuple[int | None, Any]:
    """Return the generation of a consumer as it is shown, and the next claim."""
    generation: int | None = shown.get('consumer_generation')
    return generation, workload.Holding(HOSTS[0], 1).body(generation)


def reported(shown: Any) -> tuple[int | None, Any]:
    """Return the generation of a provider as it is shown, and the same inventories again."""
    return shown['resource_provider_generation'], shown


@pytest.mark.parametrize(('path', 'next_of'), [(CONSUMER, claimed), (INVENTORIES, reported)])
def test_one_client_wins_each_generation(
    service: applications.Service, path: str, next_of: Callable[[Any], tuple[int | None, Any]]
) -> None:
    won: collections.Counter[int | None] = collections.Counter()

    def write() -> None:
        client = Client(service.application)
        for _ in range(25):
            generation, body = next_of(client.send('GET', path, version=NEWEST).json)
            answer = client.send('PUT', path, body, version=NEWEST)
            if answer.status < 300:
                won[generation] += 1
            else:
                assert answer.status == 409, answer.text
                assert answer.json['errors'][0]['code'] == STALE, answer.text

    run_all([write] * THREADS)
    last, _ = next_of(Client(service.application).send('GET', path, version=NEWEST).json)
    assert set(won.values()) == {1}
    assert last is not None
    assert sorted(generation or 0 for generation in won) == list(range(last - len(won), last))


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
