# SPDX-License-Identifier: Apache-2.0
"""The changes that took room from a promise, compared with the room after each change."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.schema.own_tables import change_history
from placement.db.schema.tables import resource_providers
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.clouds import uuid_of
from placement_insight.promises import takers

ENABLED = 'required=!COMPUTE_STATUS_DISABLED'
DISABLED = 'COMPUTE_STATUS_DISABLED'
AGGREGATE = uuid_of('aggregate')

#: A simple request, one of groups in trees, one of an aggregate, and one of shared storage.
QUERIES = {
    'cores': f'resources=VCPU:2,MEMORY_MB:10&{ENABLED}',
    'devices': f'resources=VCPU:1&resources1=VGPU:2&group_policy=none&{ENABLED}',
    'aggregate': f'resources=VCPU:3&member_of={AGGREGATE}',
    'storage': 'resources=VCPU:1,DISK_GB:10',
}
COUNTS = {'cores': 12, 'devices': 5, 'aggregate': 2, 'storage': 6}

CLOUD = (
    *(clouds.Provider(f'host{number}', {'VCPU': 8, 'MEMORY_MB': 100}) for number in range(3)),
    *(clouds.Provider(f'gpu{n}', {'VGPU': 4}, parent=f'host{n}') for n in range(3)),
    clouds.Provider('storage', {'DISK_GB': 100}, (clouds.SHARES,), ('aggregate',)),
)


@pytest.fixture
def options() -> applications.Options:
    return applications.insight_options('on')


@dataclasses.dataclass
class Writer:
    """Makes random changes, and notes the room for each promise after each."""

    client: Client
    random: random.Random
    #: By request, the last one last.
    rooms: dict[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    consumers: dict[str, int] = dataclasses.field(default_factory=dict)
    hosts: list[str] = dataclasses.field(default_factory=list)

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        return self.client.send(method, path, body, version=NEWEST)

    def write(self, method: str, path: str, body: Any = None) -> bool:
        """Make one change, unless it is refused."""
        answer = self.send(method, path, body)
        # 400: a new host without inventory.
        assert answer.status in (200, 201, 204, 400, 409), answer
        is_made = answer.status < 300
        if is_made:
            self.rooms[answer.headers['x-openstack-request-id']] = self.room()
        return is_made

    def room(self) -> dict[str, int]:
        promises = self.send('GET', '/insight/promises').json['promises']
        assert all(one['room']['at_least'] == one['room']['at_most'] for one in promises)
        return {one['name']: one['room']['at_least'] for one in promises}

    def step(self) -> None:
        """Make one of the changes at random."""
        changes = (self.claim, self.claim, self.claim, self.release, self.inventory, self.traits,
                   self.aggregates, self.create, self.claim_many)  # fmt: skip
        self.random.choice(changes)()

    def provider(self, name: str) -> Any:
        return self.send('GET', f'/resource_providers/{uuid_of(name)}').json

    def amounts(self) -> dict[str, Any]:
        chosen = self.random.sample(self.hosts, self.random.choice((1, 1, 2)))
        amounts = {uuid_of(f'host{n}'): {'VCPU': self.random.randint(1, 3)} for n in chosen}
        if self.random.random() < 0.5 and chosen[0] in '012':
            amounts[uuid_of(f'gpu{chosen[0]}')] = {'VGPU': self.random.randint(1, 2)}
        if self.random.random() < 0.3:
            amounts[uuid_of('storage')] = {'DISK_GB': 10}
        return amounts

    def claim(self) -> None:
        """A new consumer, or other amounts of one."""
        name = f'c{self.random.randint(0, 5)}'
        generation = self.consumers.get(name)
        body = clouds.claim(self.amounts(), generation)
        if self.write('PUT', f'/allocations/{uuid_of(name)}', body):
            self.consumers[name] = (generation or 0) + 1

    def claim_many(self) -> None:
        """Several consumers in one request, one of which may hold nothing any more."""
        body = {}
        # Sorted, so that a seed makes the same changes in each run.
        for name in sorted({f'c{self.random.randint(0, 5)}' for _ in range(2)}):
            known = name in self.consumers
            amounts = {} if known and self.random.random() < 0.4 else self.amounts()
            body[uuid_of(name)] = clouds.claim(amounts, self.consumers.get(name))
        if self.write('POST', '/allocations', body):
            for name in [n for n in (f'c{i}' for i in range(6)) if uuid_of(n) in body]:
                if body[uuid_of(name)]['allocations']:
                    self.consumers[name] = self.consumers.get(name, 0) + 1
                else:
                    del self.consumers[name]

    def release(self) -> None:
        if self.consumers:
            name = self.random.choice(sorted(self.consumers))
            assert self.write('DELETE', f'/allocations/{uuid_of(name)}')
            del self.consumers[name]

    def inventory(self) -> None:
        host = f'host{self.random.choice(self.hosts)}'
        body = {
            'resource_provider_generation': self.provider(host)['generation'],
            'inventories': {
                'VCPU': {
                    'total': self.random.randint(6, 12),
                    'reserved': self.random.randint(0, 1),
                },
                'MEMORY_MB': {'total': self.random.randint(40, 100)},
            },
        }
        self.write('PUT', f'/resource_providers/{uuid_of(host)}/inventories', body)

    def traits(self) -> None:
        host = f'host{self.random.choice(self.hosts)}'
        body = {
            'resource_provider_generation': self.provider(host)['generation'],
            'traits': [DISABLED] if self.random.random() < 0.5 else [],
        }
        self.write('PUT', f'/resource_providers/{uuid_of(host)}/traits', body)

    def aggregates(self) -> None:
        host = f'host{self.random.choice(self.hosts)}'
        body = {
            'resource_provider_generation': self.provider(host)['generation'],
            'aggregates': [AGGREGATE] if self.random.random() < 0.5 else [],
        }
        self.write('PUT', f'/resource_providers/{uuid_of(host)}/aggregates', body)

    def create(self) -> None:
        name = f'host{len(self.hosts)}'
        assert self.write('POST', '/resource_providers', {'name': name, 'uuid': uuid_of(name)})
        self.hosts.append(str(len(self.hosts)))

    def takers(self, promise: str) -> Any:
        answer = self.send('GET', f'/insight/promises/{promise}/takers')
        assert answer.status == 200, answer
        return answer.json


@pytest.fixture
def writer(client: Client) -> Writer:
    clouds.build(CLOUD, client)
    writer = Writer(client, random.Random(42), hosts=['0', '1', '2'])
    for name, query in QUERIES.items():
        body = {'request': query, 'count': COUNTS[name]}
        assert writer.send('PUT', f'/insight/promises/{name}', body).status == 201
    return writer


def _expected(writer: Writer, promise: str, before: int) -> Iterator[tuple[str, int, int]]:
    """Yield request, room before and after of each change that took room, the last one first."""
    rooms = [before, *(room[promise] for room in writer.rooms.values())]
    changes = list(zip(writer.rooms, rooms, rooms[1:], strict=False))
    return (change for change in reversed(changes) if change[2] < change[1])


@pytest.mark.parametrize('seed', range(4))
def test_each_change_took_what_the_room_lost(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(takers, 'MAX_TAKERS', 1_000)
    writer.random = random.Random(seed)
    before = writer.room()
    for _ in range(60):
        writer.step()
    for promise in QUERIES:
        answer = writer.takers(promise)
        expected = list(_expected(writer, promise, before[promise]))
        listed = [one for one in answer['takers'] if one['request_id'] in writer.rooms]
        assert [
            (one['request_id'], one['room']['before'], one['room']['after']) for one in listed
        ] == expected
        assert all(one['taken'] == one['room']['before'] - one['room']['after'] for one in listed)
        _check_summary(writer, promise, answer, expected)


def _check_summary(writer: Writer, promise: str, answer: Any, expected: Any) -> None:
    """The sentence names the last change after which the promise was broken, if it is."""
    count = COUNTS[promise]
    if writer.room()[promise] >= count:
        assert answer['summary'] is None
        return
    breaking = next((one for one in expected if one[1] >= count), None)
    if breaking is not None:
        request, was, became = breaking
        assert answer['summary'].startswith('Broken since ')
        assert f'room for {was} became room for {became} when ' in answer['summary']
        assert answer['summary'].endswith(f' ({request}).')


def test_the_change_that_broke_a_promise_is_told_in_a_sentence(writer: Writer) -> None:
    assert writer.room()['cores'] == 12
    body = clouds.claim({uuid_of('host1'): {'VCPU': 3}}, None)
    assert writer.write('PUT', f'/allocations/{uuid_of("c")}', body)
    answer = writer.takers('cores')
    (taker, *_) = answer['takers']
    assert (taker['taken'], taker['room']) == (2, {'before': 12, 'after': 10})
    assert taker['roots'] == [{'uuid': uuid_of('host1'), 'name': 'host1'}]
    assert taker['action'] == 'allocations.set'
    assert answer['summary'] == (
        f'Broken since {taker["at"]}: room for 12 became room for 10 when resources were claimed '
        f'by admin for project {taker["project_id"]} on host1 ({taker["request_id"]}).'
    )


def execute(service: applications.Service, *statements: sa.Executable) -> None:
    """Execute statements past the service."""
    with service.engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_claim_of_shared_storage_alone(writer: Writer) -> None:
    aggregates = {'resource_provider_generation': 1, 'aggregates': [AGGREGATE]}
    path = f'/resource_providers/{uuid_of("host0")}/aggregates'
    assert writer.write('PUT', path, aggregates)
    assert writer.room()['storage'] == 8
    for number, amount in enumerate((50, 10)):
        body = clouds.claim({uuid_of('storage'): {'DISK_GB': amount}}, None)
        assert writer.write('PUT', f'/allocations/{uuid_of(f"c{number}")}', body)
    found = writer.takers('storage')['takers'][:2]
    assert [(one['taken'], one['room']['after']) for one in found] == [(1, 4), (3, 5)]
    assert found[0]['roots'] == [{'uuid': uuid_of('storage'), 'name': 'storage'}]


def test_what_the_history_does_not_know_is_not_guessed(
    writer: Writer, service: applications.Service
) -> None:
    execute(service, sa.delete(change_history))
    generation = writer.provider('host0')['generation']
    body = {'resource_provider_generation': generation, 'traits': [DISABLED]}
    assert writer.write('PUT', f'/resource_providers/{uuid_of("host0")}/traits', body)
    answer = writer.takers('cores')
    (taker,) = answer['takers']
    assert (taker['action'], taker['taken'], taker['room']) == ('provider_traits.set', None, None)
    assert answer['summary'] is None


def test_a_change_without_a_row_ends_what_is_known(
    writer: Writer, service: applications.Service
) -> None:
    for number in range(3):
        body = clouds.claim({uuid_of('host0'): {'VCPU': 2}}, None)
        assert writer.write('PUT', f'/allocations/{uuid_of(f"c{number}")}', body)
    second = list(writer.rooms)[1]
    execute(service, sa.delete(change_history).where(change_history.c.request_id == second))
    known = [one['taken'] for one in writer.takers('cores')['takers'][:2]]
    assert known == [1, None]


def test_there_are_none_without_the_history(
    writer: Writer, service: applications.Service, options: applications.Options
) -> None:
    options = {**options, ('history', 'enabled'): False}
    with applications.serving(service.database.url, options) as other:
        answer = other.send('GET', '/insight/promises/cores/takers', version=NEWEST)
        assert (answer.status, '[history] enabled is false' in answer.text) == (404, True)
        assert other.send('GET', '/insight/promises/cores', version=NEWEST).status == 200


def test_a_refused_promise_has_none(writer: Writer) -> None:
    assert writer.send('PUT', '/traits/CUSTOM_GONE').status == 201
    body = {'request': 'resources=VCPU:1&required=CUSTOM_GONE', 'count': 5}
    assert writer.send('PUT', '/insight/promises/gone', body).status == 201
    assert writer.send('DELETE', '/traits/CUSTOM_GONE').status == 204
    assert writer.takers('gone') == {
        'room': {'at_least': 0, 'at_most': 0},
        'summary': None,
        'takers': [],
        'followed_to': None,
    }
    assert writer.send('GET', '/insight/promises/none/takers').status == 404


def deletion(*names: str) -> sa.Delete:
    """Delete providers as no request does."""
    return sa.delete(resource_providers).where(
        resource_providers.c.uuid.in_([uuid_of(name) for name in names])
    )


def test_a_provider_that_was_deleted_past_the_feed_is_noticed(
    writer: Writer, service: applications.Service, caplog: pytest.LogCaptureFixture
) -> None:
    body = clouds.claim({uuid_of('host1'): {'VCPU': 3}}, None)
    assert writer.write('PUT', f'/allocations/{uuid_of("c")}', body)
    before = writer.takers('cores')

    execute(service, deletion('gpu1'))

    assert writer.takers('cores')['takers'][0] == before['takers'][0]
    assert 'a writer bypassed the change feed' in caplog.text


def test_a_release_of_providers_that_do_not_exist_is_no_change_of_them(
    writer: Writer, service: applications.Service
) -> None:
    held = {uuid_of(name): {'VGPU': 1} for name in ('gpu1', 'gpu2')}
    held[uuid_of('host1')] = {'VCPU': 3}
    path = f'/allocations/{uuid_of("c")}'
    assert writer.write('PUT', path, clouds.claim(held, None))
    execute(service, deletion('gpu1', 'gpu2'))
    assert writer.send('DELETE', path).status == 204

    (latest, *_) = writer.takers('cores')['takers']
    assert (latest['action'], latest['taken']) == ('allocations.set', None)
    assert {uuid_of('gpu1'), uuid_of('gpu2')} < {root['uuid'] for root in latest['roots']}
    answer = writer.send('GET', '/insight/history?page_limit=2')
    assert [(one['action'], one['kind'], one['uuid']) for one in answer.json['history']] == [
        ('allocations.delete', 'provider', uuid_of('host1')),
        ('allocations.delete', 'consumer', uuid_of('c')),
    ]


def test_rows_of_providers_without_uuid_are_left_out(
    writer: Writer, service: applications.Service
) -> None:
    body = clouds.claim({uuid_of('host1'): {'VCPU': 3}}, None)
    assert writer.write('PUT', f'/allocations/{uuid_of("c")}', body)
    before = writer.takers('cores')
    # As earlier versions wrote for providers that had been deleted by hand.
    row = {
        'at': datetime.datetime(2026, 1, 1),
        'request_id': 'req-orphans',
        'action': 'allocations.delete',
        'kind': 'provider',
        'state': json.dumps({'allocations': {uuid_of('c'): {'resources': {}}}}),
    }
    execute(service, *[sa.insert(change_history).values(row)] * 2)

    assert writer.takers('cores') == before
