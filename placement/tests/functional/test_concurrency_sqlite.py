# SPDX-License-Identifier: Apache-2.0
"""Concurrent clients of one process on one SQLite file: acknowledged writes are kept, not more."""

import collections
import concurrent.futures
from collections.abc import Callable, Iterator

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


def test_one_client_wins_each_generation_of_a_provider(service: applications.Service) -> None:
    path = f'/resource_providers/{clouds.uuid_of(HOSTS[0])}/inventories'
    won: collections.Counter[int] = collections.Counter()

    def write() -> None:
        client = Client(service.application)
        for _ in range(25):
            shown = client.send('GET', path, version=NEWEST).json
            answer = client.send('PUT', path, shown, version=NEWEST)
            if answer.status < 300:
                won[shown['resource_provider_generation']] += 1
            else:
                assert answer.status == 409, answer.text
                assert answer.json['errors'][0]['code'] == STALE, answer.text

    run_all([write] * THREADS)
    shown = Client(service.application).send('GET', path, version=NEWEST).json
    last = shown['resource_provider_generation']
    assert set(won.values()) == {1}
    assert sorted(won) == list(range(last - len(won), last))


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
