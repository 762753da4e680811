# SPDX-License-Identifier: Apache-2.0
"""`openstack placement promise`."""

import json

import pytest

from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

PROMISE = ('placement', 'promise')
NOTE = 'COMPUTE_STATUS_DISABLED'


@pytest.fixture(autouse=True)
def host(service: Service) -> str:
    """The uuid of a host with room for four of four."""
    return Cloud(service).provider('compute1', {'VCPU': 16})


def test_a_promise_is_set_listed_shown_replaced_and_removed(openstack: Client) -> None:
    query = 'resources=VCPU:4&required=!COMPUTE_STATUS_DISABLED'
    made = openstack(*PROMISE, 'set', 'hana', '--count', '2', '--query', query, '-f', 'json')
    assert NOTE not in made.err
    shown = made.values()
    assert (shown['state'], shown['count'], shown['room'], shown['slack']) == ('kept', 2, '4', 2)

    replaced = openstack(
        *PROMISE, 'set', 'hana', '--count', '5', '--resource', 'VCPU=4', '-f', 'json'
    )
    assert NOTE in replaced.err
    now = json.loads(replaced.out)
    assert now['state'] == 'broken'

    (listed,) = openstack(*PROMISE, 'list', '-f', 'json').values()
    assert (listed['name'], listed['state'], listed['slack']) == ('hana', 'broken', -1)
    shown = openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()
    assert {name: shown[name] for name in now} == now

    assert openstack(*PROMISE, 'unset', 'hana').out == ''
    assert openstack(*PROMISE, 'list', '-f', 'json').values() == []
    assert 'No such promise hana' in openstack(*PROMISE, 'unset', 'hana').refusal()


def test_what_is_asked_for_has_to_be_said(openstack: Client) -> None:
    refusal = openstack(*PROMISE, 'set', 'hana', '--count', '2').refusal()
    assert refusal.startswith('Say what is asked for')


def test_latest_changes_that_took_room_are_told(
    openstack: Client, service: Service, host: str
) -> None:
    cloud = Cloud(service)
    query = 'resources=VCPU:4&required=!COMPUTE_STATUS_DISABLED'
    openstack(*PROMISE, 'set', 'hana', '--count', '4', '--query', query)
    server = 'd1000000-0000-4000-8000-000000000002'
    other = cloud.provider('compute2', {'VCPU': 2})
    cloud.claim(server, {other: {'VCPU': 1}}, 'INSTANCE')
    for total in (17, 12):
        path = f'/resource_providers/{host}'
        generation = cloud.send('GET', path)['generation']
        body = {'resource_provider_generation': generation}
        cloud.send(
            'PUT', f'{path}/inventories', {**body, 'inventories': {'VCPU': {'total': total}}}
        )
    cloud.claim(server, {host: {'VCPU': 1}}, 'INSTANCE')
    cloud.send('DELETE', f'/allocations/{server}')

    shown = openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()

    # Neither what has grown, nor what was given back, nor a host that is too small for one.
    assert shown['state'] == 'broken'
    assert [line.partition(' ')[2] for line in shown['took_room_lately']] == [
        '3 to 2: allocations.set by admin on compute1',
        '4 to 3: inventories.set by admin on compute1',
    ]
    cause = 'room for 4 became room for 3 when inventory was changed by admin on compute1'
    assert cause in shown['cause']


def test_a_promise_that_is_kept_has_no_such_changes(openstack: Client) -> None:
    openstack(*PROMISE, 'set', 'hana', '--count', '1', '--resource', 'VCPU=4')
    assert 'took_room_lately' not in openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()


def test_without_a_history_no_changes_are_known() -> None:
    with Service({('history', 'enabled'): False}) as service:
        openstack = client.administrator_at(service.endpoint)
        openstack(*PROMISE, 'set', 'hana', '--count', '9', '--resource', 'VCPU=4')
        shown = openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()
    assert (shown['state'], shown['cause'], shown['took_room_lately']) == ('broken', None, [])


def test_room_is_kept_and_released(openstack: Client, service: Service) -> None:
    cloud = Cloud(service)
    cloud.provider('compute2', {'VCPU': 16, 'MEMORY_MB': 64})
    asked = ('--resource', 'VCPU=4', '--resource', 'MEMORY_MB=8', '-f', 'json')

    tried = openstack(*PROMISE, 'set', 'hana', '--count', '4', '--keep', '--dry-run', *asked)
    dry = json.loads(tried.out)
    assert (dry['keep'], dry['held_hosts'], dry['set_at']) == (True, 1, None)
    assert openstack(*PROMISE, 'list', '-f', 'json').values() == []

    openstack(*PROMISE, 'set', 'hana', '--count', '4', '--keep', *asked)
    search = '/allocation_candidates?resources=VCPU:1,MEMORY_MB:1'
    assert cloud.send('GET', search)['allocation_requests'] == []
    assert openstack(*PROMISE, 'release', 'hana').lines() == []
    assert len(cloud.send('GET', search)['allocation_requests']) == 1
    (listed,) = openstack(*PROMISE, 'list', '-f', 'json').values()
    assert (listed['keep'], listed['state']) == (False, 'tight')

    openstack(*PROMISE, 'set', 'hana', '--count', '4', '--keep', *asked)
    openstack(*PROMISE, 'set', 'other', '--count', '1', *asked)
    assert openstack(*PROMISE, 'release', '--all').lines() == []
    assert len(cloud.send('GET', search)['allocation_requests']) == 1


def test_room_that_cannot_be_kept_is_refused(openstack: Client) -> None:
    asked = ('--count', '2', '--resource', 'VCPU=4', '--keep')
    refusal = openstack(*PROMISE, 'set', 'hana', *asked).refusal()
    assert 'at least two resource classes' in refusal
    assert 'one of the arguments' in openstack(*PROMISE, 'release').misuse()


def test_a_promise_that_cannot_be_released_stops_no_other(
    openstack: Client, service: Service
) -> None:
    cloud = Cloud(service)
    cloud.provider('compute2', {'VCPU': 16, 'MEMORY_MB': 64})
    asked = ('--resource', 'VCPU=4', '--resource', 'MEMORY_MB=8', '-f', 'json')
    openstack(*PROMISE, 'set', 'hana', '--count', '4', '--keep', *asked)

    refusal = openstack(*PROMISE, 'release', 'missing', 'hana').refusal()

    assert refusal.startswith('missing is not released: No such promise missing')
    first = openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()
    assert first['keep'] is False
    # Nothing is left to release, so nothing is written.
    assert openstack(*PROMISE, 'release', 'hana').lines() == []
    assert openstack(*PROMISE, 'show', 'hana', '-f', 'json').values()['set_at'] == first['set_at']
