# SPDX-License-Identifier: Apache-2.0
"""Survival says what happens when a domain is deleted for real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.schema import tables
from placement.insight.what_if import statements
from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Client
from .fixtures.clouds import SHARES, Provider, uuid_of

AVX = 'HW_CPU_X86_AVX'
CLOUD = (
    *[
        provider
        for host, zone in (('cn1', 'az1'), ('cn2', 'az1'), ('cn3', 'az2'))
        for provider in (
            Provider(host, {'MEMORY_MB': 4096}, (AVX,), (zone, 'shared')),
            Provider(f'{host}_numa0', {'VCPU': 4}, parent=host),
            Provider(f'{host}_numa1', {'VCPU': 4}, parent=host),
        )
    ],
    Provider('flat1', {'VCPU': 8, 'MEMORY_MB': 2048, 'DISK_GB': 50}, aggregates=('az2',)),
    Provider('flat2', {'VCPU': 8, 'MEMORY_MB': 2048, 'DISK_GB': 50}, aggregates=('az2',)),
    Provider('pool', {'DISK_GB': 100}, (SHARES,), ('shared',)),
)
HELD = {
    'c1': {'cn1_numa0': {'VCPU': 3}, 'cn1': {'MEMORY_MB': 512}, 'pool': {'DISK_GB': 10}},
    'c2': {'cn1_numa1': {'VCPU': 3}, 'cn1': {'MEMORY_MB': 1024}, 'pool': {'DISK_GB': 10}},
    'c3': {'cn2_numa0': {'VCPU': 2}, 'cn2': {'MEMORY_MB': 512}, 'pool': {'DISK_GB': 10}},
    'c4': {'cn3_numa0': {'VCPU': 2}, 'cn3': {'MEMORY_MB': 512}},
    'c5': {'flat1': {'VCPU': 6, 'MEMORY_MB': 1024, 'DISK_GB': 20}},
    'c6': {'flat1': {'VCPU': 2, 'MEMORY_MB': 512, 'DISK_GB': 5}},
}


class Cloud:
    """A service with a cloud that has consumers."""

    def __init__(self) -> None:
        self.service = applications.Service(applications.insight_options('on'))
        self.client = Client(self.service.application)
        clouds.build(CLOUD, self.client)
        self.send('POST', '/allocations', {uuid_of(c): self.claim(c) for c in HELD})

    def claim(self, consumer: str) -> dict[str, Any]:
        return clouds.claim({uuid_of(name): held for name, held in HELD[consumer].items()})

    def send(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.send(method, path, body, NEWEST)
        assert answer.status < 300, f'{method} {path} {body}: {answer.text}'
        return answer.json if answer.body else None

    def refused(self, body: Any, query: str = '') -> str:
        answer = self.client.send('POST', f'/insight/survival{query}', body, NEWEST)
        assert answer.status == 400, answer.text
        return str(answer.json['errors'][0]['detail'])

    def rows(self, lose: Any, query: str = '', **more: Any) -> dict[str, dict[str, Any]]:
        answer = self.send('POST', f'/insight/survival{query}', {'lose': lose, **more})
        return {row['name'] or row['domain']: row for row in answer['domains']}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    built = Cloud()
    try:
        yield built
    finally:
        built.service.stop()


EACH = {'each': 'root'}


def test_each_host_that_somebody_holds_of_has_a_row(cloud: Cloud) -> None:
    rows = cloud.rows(EACH)
    assert sorted(rows) == ['cn1', 'cn2', 'cn3', 'flat1']
    assert rows['cn1'] == {
        'domain': uuid_of('cn1'),
        'name': 'cn1',
        'consumers': 2,
        'known': {'requests': 0, 'amounts': 2},
        'in_several_trees': 0,
        'placed': 2,
        'placed_alike': 2,
        'survives': True,
        'exact': True,
        'lacking': {},
        'homeless': [],
    }
    assert rows['flat1']['survives']


def test_pages_of_any_size_have_the_same_rows(cloud: Cloud) -> None:
    whole = cloud.send('POST', '/insight/survival', {'lose': EACH})
    assert (whole['examined'], whole['links']) == (4, [])
    for limit in (1, 3, 1000):
        path: str | None = f'/insight/survival?page_limit={limit}'
        rows = []
        while path:
            page = cloud.send('POST', path, {'lose': EACH})
            assert page['examined'] <= limit
            rows += page['domains']
            path = page['links'][0]['href'] if page['links'] else None
        assert rows == whole['domains']


def test_others_have_their_turn_while_it_is_read_what_is_held(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cloud.send('POST', '/insight/survival', {'lose': EACH})
    pauses = list[int]()
    monkeypatch.setattr(statements, 'ROOTS_AT_A_TIME', 3)
    monkeypatch.setattr(statements, 'give_way', lambda: pauses.append(1))
    assert cloud.send('POST', '/insight/survival', {'lose': EACH}) == whole
    assert len(pauses) == 2


def test_zones_and_racks_fail_together(cloud: Cloud) -> None:
    az1, az2 = uuid_of('az1'), uuid_of('az2')
    rows = cloud.rows({'each': 'aggregate', 'of': [az1, az2]}, within=[az1, az2])
    assert list(rows) == sorted([az1, az2])
    assert (rows[az1]['consumers'], rows[az1]['placed']) == (3, 2)
    assert not rows[az1]['survives']
    lacking = rows[az1]['homeless'][0]
    assert rows[az1]['lacking'] == {
        name: amount
        for held in HELD[next(c for c in HELD if uuid_of(c) == lacking['consumer'])].values()
        for name, amount in held.items()
        if name != 'DISK_GB'
    }
    racks = {'rack 1': ['cn1'], 'zone': {'member_of': az1}, 'both': [uuid_of('cn3'), 'flat1']}
    rows = cloud.rows({'domains': racks})
    assert list(rows) == ['both', 'rack 1', 'zone']
    assert rows['rack 1']['survives'] is True
    assert rows['zone']['survives'] is False
    failing = cloud.rows({'domains': racks}, '?only=failing')
    assert list(failing) == [name for name, row in rows.items() if not row['survives']]


def test_data_of_a_pool_is_gone_with_it(cloud: Cloud) -> None:
    row = cloud.rows({'domains': {'pool': ['pool']}})['pool']
    assert (row['consumers'], row['placed'], row['survives'], row['exact']) == (3, 0, False, True)
    assert row['lacking'] == {'DISK_GB': 30}
    assert 'its data is gone' in row['homeless'][0]['lacks']


def test_what_was_asked_for_counts_where_it_is_known(cloud: Cloud) -> None:
    asked: dict[str, Any] = {
        'requests': {'avx': f'resources=VCPU:6,MEMORY_MB:1024&required={AVX}'},
        'asked': {'avx': [uuid_of('c5')]},
    }
    row = cloud.rows(EACH, **asked)['flat1']
    assert row['known'] == {'requests': 1, 'amounts': 1}
    assert (row['placed'], row['survives'], row['exact']) == (1, False, True)
    (homeless,) = row['homeless']
    assert homeless['consumer'] == uuid_of('c5')
    assert homeless['lacks'].startswith('Fits nowhere')


def test_ignored_and_kept_apart(cloud: Cloud) -> None:
    assert cloud.rows(EACH, ignore=[uuid_of('c1')])['cn1']['consumers'] == 1
    both = [uuid_of('c4'), uuid_of('c3')]
    cloud.send('DELETE', f'/allocations/{uuid_of("c5")}')
    rows = cloud.rows(EACH, apart=[both, [uuid_of('c5'), uuid_of('c6')]])
    assert rows['cn3']['survives']
    everywhere = [{'remove': ['flat1', 'flat2', 'cn1']}]
    assert cloud.rows(EACH, scenario=everywhere)['cn3']['survives']
    assert not cloud.rows(EACH, scenario=everywhere, apart=[both])['cn3']['survives']


def test_after_a_scenario(cloud: Cloud) -> None:
    steps: list[Any] = [
        {'remove': ['flat2']},
        {'release': {'consumers': [uuid_of('c1'), uuid_of('c2')]}},
        {'claim': {'query': f'resources=VCPU:1&in_tree={uuid_of("cn2")}', 'count': 1}},
        {'add': {'like': 'flat1', 'count': 1}},
        {'claim': {'query': 'resources=VCPU:8,DISK_GB:50', 'count': 1}},
    ]
    body = {'lose': EACH, 'scenario': steps}
    answer = cloud.send('POST', '/insight/survival', body)
    rows = {row['name']: row for row in answer['domains']}
    assert sorted(rows) == ['cn2', 'cn3', 'flat1', 'flat1+1']
    assert rows['cn2']['consumers'] == 2
    assert rows['flat1+1']['homeless'][0]['consumer'] == 'claimed by the scenario: 2'
    assert [row['step'] for row in answer['scenario']] == [next(iter(step)) for step in steps]
    racks = {'copy': ['flat1+1'], 'host': ['cn2']}
    answer = cloud.send('POST', '/insight/survival', body | {'lose': {'domains': racks}})
    assert [row['consumers'] for row in answer['domains']] == [1, 2]


@pytest.mark.parametrize('names', [{'max_unit': 5}, {'step_size': 15}])
def test_units_count_for_what_is_kept_of_a_pool(cloud: Cloud, names: dict[str, int]) -> None:
    change = {'where': ['pool'], 'inventories': {'DISK_GB': names}}
    row = cloud.rows(EACH, scenario=[{'change': change}])['cn3']
    assert row['survives']
    row = cloud.rows(EACH, scenario=[{'change': change}])['cn1']
    assert (row['placed'], row['consumers']) == (0, 2)
    assert 'more of its pool than one consumer may' in row['homeless'][0]['lacks']


def test_nobody_can_keep_what_its_pool_does_not_have(cloud: Cloud) -> None:
    """Allocations of a class may be left over in a database whose inventory somebody deleted."""
    pool = sa.select(tables.resource_providers.c.id).where(
        tables.resource_providers.c.name == 'pool'
    )
    with cloud.service.engine.begin() as connection:
        of_pool = tables.inventories.c.resource_provider_id.in_(pool)
        connection.execute(sa.delete(tables.inventories).where(of_pool))
    cloud.send('PUT', f'/resource_providers/{uuid_of("pool")}', {'name': 'pool'})
    rows = cloud.rows(EACH)
    assert (rows['cn1']['placed'], rows['cn3']['survives']) == (0, True)
    plan = cloud.send('POST', '/insight/drain', {'providers': ['cn1']})
    assert [one['consumer'] for one in plan['homeless']] == sorted([uuid_of('c1'), uuid_of('c2')])
    move = {'consumer': uuid_of('c1'), 'to': None}
    assert not cloud.send('POST', '/insight/moves', {'moves': [move]})['possible']


def test_what_was_claimed_of_a_pool_goes_with_it(cloud: Cloud) -> None:
    query = f'resources=VCPU:4,MEMORY_MB:1,DISK_GB:1&required={AVX}'
    steps: list[Any] = [{'claim': {'query': query, 'count': 1}}, {'remove': ['pool']}]
    plan = cloud.send(
        'POST', '/insight/drain', {'providers': ['cn1', 'cn2', 'cn3'], 'scenario': steps}
    )
    of_claimed = [one['from'] for one in plan['moves'] if one['consumer'].startswith('claimed')]
    assert [[place['name'][:2] for place in places] for places in of_claimed] == [['cn']]


@pytest.mark.parametrize(
    ('body', 'words'),
    [
        ({'lose': {'domains': {'r': ['no']}}}, "Domain r: there is no resource provider 'no'"),
        ({'lose': {'domains': {'r': ['cn1_numa0']}}}, 'is not the root of a tree'),
        ({'lose': {'each': 'aggregate', 'of': [uuid_of('none')]}}, 'no tree has its root in'),
        ({'lose': {'each': 'root', 'of': [uuid_of('az1')]}}, 'On instance'),
        ({'lose': {'each': 'aggregate'}}, 'On instance'),
        ({}, "'lose' is a required property"),
        ({'lose': EACH, 'asked': {'x': [uuid_of('c1')]}}, "asked names request 'x'"),
        (
            {'lose': EACH, 'requests': {'x': 'resources=VCPU:1', 'y': 'resources=VCPU:1'},
             'asked': {'x': [uuid_of('c1')], 'y': [uuid_of('c1')]}},
            'in more than one request',
        ),
        ({'lose': EACH, 'requests': {'x': 'resources=CUSTOM_NO:1'}}, 'Request x: '),
        ({'lose': EACH, 'requests': {'x': 'resources=VCPU'}}, 'Request x: '),
        ({'lose': EACH, 'apart': [[uuid_of('c1')]]}, 'too short'),
        ({'lose': EACH, 'scenario': [{'remove': ['x']}]}, 'Scenario step 1 (remove): '),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(cloud: Cloud, body: Any, words: str) -> None:
    assert words in cloud.refused(body)


@pytest.mark.parametrize('query', ['?only=x', '?page_limit=0', '?marker=', '?bogus=1'])
def test_odd_parameters_are_refused(cloud: Cloud, query: str) -> None:
    cloud.refused({'lose': EACH}, query)


@pytest.mark.parametrize('lost', ['cn1', 'cn2', 'cn3', 'flat1'])
def test_a_domain_that_is_deleted_for_real(cloud: Cloud, lost: str) -> None:
    """Those who hold of it claim the places that drain tells."""
    row = cloud.rows(EACH)[lost]
    plan = cloud.send('POST', '/insight/drain', {'providers': [lost]})
    tree = {one.name for one in CLOUD if lost in (one.name, one.parent)}
    homeless = [consumer for consumer, held in HELD.items() if tree & held.keys()]
    for consumer in homeless:
        cloud.send('DELETE', f'/allocations/{uuid_of(consumer)}')
    for name in sorted(tree, reverse=True):
        cloud.send('DELETE', f'/resource_providers/{uuid_of(name)}')
    for move in plan['moves']:
        claim = clouds.claim({}) | {'allocations': move['allocations']}
        cloud.send('PUT', f'/allocations/{move["consumer"]}', claim)
    assert row['survives']
    assert len(plan['moves']) == row['placed'] == len(homeless)
