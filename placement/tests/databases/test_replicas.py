# SPDX-License-Identifier: Apache-2.0
"""Reads from a replica: which answers may lag behind the primary, and which never do."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from placement.microversions import NEWEST
from placement.tests.databases import clusters, servers
from placement.tests.functional.fixtures import applications, clouds, databases, follower
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.tcp_proxy import TcpProxy

HOST, LATE, OTHER = map(clouds.uuid_of, ('host', 'late', 'other'))
CONSUMERS = tuple(clouds.uuid_of(f'consumer {number}') for number in range(3))
OTHERS = tuple(clouds.uuid_of(f'other {number}') for number in range(2))


class Pair(NamedTuple):
    """A primary, its replica, and a client of a service on both."""

    primary: clusters.Primary
    replica: clusters.Replica
    client: Client

    def get(self, path: str) -> Any:
        """The body of the answer to GET."""
        answer = self.client.send('GET', path, version=NEWEST)
        assert answer.status == 200, answer.text
        return answer.json

    def claim(self, consumer: str, amount: int, host: str = HOST) -> Answer:
        """The answer to a claim of a new consumer."""
        body = clouds.claim({host: {'VCPU': amount}})
        return self.client.send('PUT', f'/allocations/{consumer}', body, version=NEWEST)


@pytest.fixture(scope='module', params=clusters.PAIRS)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with clusters.replicating(request.param) as (primary, replica):
        databases.migrate(primary.service_url())
        replica.catch_up()
        options = {
            ('placement_database', 'slave_connection'): replica.service_url(),
            # Requests must not wait this long; only the start of a worker does.
            ('placement_database', 'retry_interval'): 3600,
            **applications.insight_options('on'),
        }
        with applications.serving(primary.service_url(), options) as client:
            yield Pair(primary, replica, client)


def test_reads_lag_and_searches_and_writes_do_not(pair: Pair) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 10}),), pair.client)
    pair.replica.catch_up()
    path = f'/resource_providers/{HOST}'
    before = pair.get(f'{path}/inventories')

    followed = follower.Follower(pair.client)
    pair.replica.pause()
    clouds.build((clouds.Provider('late', {'VCPU': 1}, ('CUSTOM_LATE',)),), pair.client)
    assert pair.claim(CONSUMERS[0], 6).status == 204

    # Reads are as old as the replica.
    assert pair.get('/resource_providers?name=late')['resource_providers'] == []
    assert pair.client.send('GET', f'/resource_providers/{LATE}').status == 404
    assert pair.get(f'{path}/usages')['usages'] == {'VCPU': 0}
    assert pair.get(f'/allocations/{CONSUMERS[0]}')['allocations'] == {}
    assert pair.get(f'{path}/inventories') == before

    # Searches are current, also by names that are new.
    found = pair.get('/allocation_candidates?resources=VCPU:1')['provider_summaries']
    assert found[HOST]['resources']['VCPU']['used'] == 6
    assert found[LATE]['resources']['VCPU']['used'] == 0
    found = pair.get('/allocation_candidates?resources=VCPU:1&required=CUSTOM_LATE')
    assert list(found['provider_summaries']) == [LATE]

    # Writes are checked against current data.
    answer = pair.claim(CONSUMERS[1], 6)
    assert answer.status == 409
    assert 'exceed the capacity' in answer.text
    answer = pair.claim(CONSUMERS[0], 1)
    assert answer.json['errors'][0]['code'] == 'placement.concurrent_update'
    body = {'name': 'late'}
    answer = pair.client.send('POST', '/resource_providers', body, version=NEWEST)
    assert answer.json['errors'][0]['code'] == 'placement.duplicate_name'
    answer = pair.client.send('PUT', f'{path}/inventories', before, version=NEWEST)
    assert answer.json['errors'][0]['code'] == 'placement.concurrent_update'
    assert pair.client.send('DELETE', path, version=NEWEST).status == 409
    path = f'/allocations/{CONSUMERS[0]}'
    assert pair.client.send('DELETE', path, version=NEWEST).status == 204
    assert pair.claim(CONSUMERS[2], 10).status == 204

    # So is what followers are told.
    followed.follow()
    assert followed.reads == 1
    assert {HOST, LATE} <= followed.providers.keys()
    assert followed.providers[HOST]['usages'] == {'VCPU': 10}
    assert followed.providers == follower.everything(pair.client)

    pair.replica.resume()
    pair.replica.catch_up()
    assert pair.get(f'/resource_providers/{HOST}/usages')['usages'] == {'VCPU': 10}
    assert pair.get(f'/resource_providers/{LATE}')['name'] == 'late'


ENDS: tuple[Callable[[servers.PrivateServer], None], ...] = (
    servers.PrivateServer.stop,
    lambda server: server.crash(),
)


def test_only_reads_are_refused_while_the_replica_is_down(pair: Pair) -> None:
    clouds.build((clouds.Provider('other', {'VCPU': 10}),), pair.client)
    for number, end in enumerate(ENDS):
        pair.replica.catch_up()
        assert pair.get(f'/resource_providers/{OTHER}/usages')['usages'] == {'VCPU': number}
        assert pair.client.send('GET', '/healthcheck').status == 200

        end(pair.replica)
        for path in ('/resource_providers', f'/allocations/{OTHERS[0]}', '/traits'):
            answer = pair.client.send('GET', path, version=NEWEST)
            assert answer.status == 503, answer.text
            assert 'please try again' in answer.json['errors'][0]['detail']
        assert pair.client.send('GET', '/healthcheck').status == 503
        assert pair.claim(OTHERS[number], 1, OTHER).status == 204
        found = pair.get('/allocation_candidates?resources=VCPU:1')['provider_summaries']
        assert found[OTHER]['resources']['VCPU']['used'] == number + 1

        pair.replica.start()
    pair.replica.catch_up()
    assert pair.get(f'/resource_providers/{OTHER}/usages')['usages'] == {'VCPU': len(ENDS)}
    assert pair.client.send('GET', '/healthcheck').status == 200


def test_writes_to_a_read_only_database_are_answered_503(pair: Pair) -> None:
    """As when another server has become the primary, and the address leads to the old one."""
    with applications.serving(pair.replica.service_url()) as client:
        assert client.send('GET', '/traits', version=NEWEST).status == 200
        for method, path, body in (
            ('PUT', '/traits/CUSTOM_READ_ONLY', None),
            ('POST', '/resource_providers', {'name': 'read-only'}),
        ):
            answer = client.send(method, path, body, version=NEWEST)
            assert answer.status == 503, answer.text
            assert answer.headers['retry-after'] == '1'
        health = client.send('GET', '/healthcheck')
        assert health.status == 503
        assert health.json['reasons'] == ['The database only reads.']


def test_writes_succeed_after_a_failover_of_the_primary(pair: Pair) -> None:
    """Pooled connections still lead to the old primary, which has become read-only."""
    proxy = TcpProxy(pair.primary.service_url())
    proxy.forward_to(pair.replica.service_url())
    with contextlib.closing(proxy), applications.serving(proxy.url) as client:
        assert client.send('GET', '/traits', version=NEWEST).status == 200
        proxy.forward_to(pair.primary.service_url())
        answer = client.send('PUT', '/traits/CUSTOM_MOVED', version=NEWEST)
        assert answer.status == 201, answer.text


def test_only_reads_are_answered_while_the_primary_is_down(pair: Pair) -> None:
    for end in ENDS:
        end(pair.primary)
        for _ in range(3):
            health = pair.client.send('GET', '/healthcheck')
            assert health.status == 503
            assert health.json['reasons'] == ['The database does not answer.']
            path = '/allocation_candidates?resources=VCPU:1'
            assert pair.client.send('GET', path, version=NEWEST).status == 503
            assert pair.client.send('PUT', '/traits/CUSTOM_DOWN', version=NEWEST).status == 503
            pair.get('/traits')
        pair.primary.start()
        assert pair.client.send('GET', '/healthcheck').status == 200
        assert pair.get('/allocation_candidates?resources=VCPU:1')
