# SPDX-License-Identifier: Apache-2.0
"""Concurrent writes: usage equals the acknowledged claims, and stays within capacity."""

import collections
import concurrent.futures
from collections.abc import Callable

from placement.microversions import NEWEST

from . import consistency_check
from .fixtures import applications, clouds, databases, workers
from .fixtures.client import Client

THREADS = 8

#: The code of a conflict about a generation that the client sent.
STALE = 'placement.concurrent_update'


def test_usage_equals_acknowledged_claims_and_never_exceeds_capacity(url: str) -> None:
    """Run 32 clients against 4 worker processes."""
    with workers.running(url) as cluster:
        consistency_check.build(cluster)
        run = consistency_check.ConsistencyCheck(url, cluster.port)
        run.run()
        run.check()
        print(f'{databases.backend()}: {dict(run.account.answers)}, {run.samples} samples')
        assert run.account.answers['done'] > consistency_check.REQUESTS / 4
        assert run.account.answers['full'] > 0, 'the hosts were never full'
        assert run.samples > 0
        assert 'deadlock' not in cluster.log().lower()


def run_in_threads(service: applications.Service, work: Callable[[Client], None]) -> None:
    """Run several clients of one process concurrently."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, [Client(service.application) for _ in range(THREADS)]))


def test_one_client_wins_each_generation_of_a_provider(
    service: applications.Service, client: Client
) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 8}),), client)
    path = f'/resource_providers/{clouds.uuid_of("host")}/inventories'
    won: collections.Counter[int] = collections.Counter()

    def write(client: Client) -> None:
        for _ in range(25):
            shown = client.send('GET', path, version=NEWEST).json
            answer = client.send('PUT', path, shown, version=NEWEST)
            if answer.status < 300:
                won[shown['resource_provider_generation']] += 1
            else:
                assert answer.status == 409, answer.text
                assert answer.json['errors'][0]['code'] == STALE, answer.text

    run_in_threads(service, write)
    last = client.send('GET', path, version=NEWEST).json['resource_provider_generation']
    assert set(won.values()) == {1}
    assert sorted(won) == list(range(last - len(won), last))


def test_concurrent_creations_of_the_same_name_succeed(
    service: applications.Service, client: Client
) -> None:
    def create(client: Client) -> None:
        for number in range(10):
            for kind in ('traits', 'resource_classes'):
                answer = client.send('PUT', f'/{kind}/CUSTOM_{number}', version=NEWEST)
                assert answer.status in (201, 204), answer.text
            body = {'name': f'the same {number}'}
            answer = client.send('POST', '/resource_providers', body, version=NEWEST)
            assert answer.status in (200, 409), answer.text

    run_in_threads(service, create)
    listed = client.send('GET', '/resource_providers', version=NEWEST).json['resource_providers']
    assert len(listed) == 10
