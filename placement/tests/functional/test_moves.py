# SPDX-License-Identifier: Apache-2.0
"""Drains and moves say what happens when they are made through the API, as nova makes them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from placement.microversions import NEWEST

from .fixtures import clouds
from .fixtures.clouds import uuid_of
from .test_survival import AVX, CLOUD, HELD, Cloud


class MovingCloud(Cloud):
    """A cloud whose consumers move."""

    def ask(self, question: str, **body: Any) -> Any:
        return self.send('POST', f'/insight/{question}', body)

    def refusal(self, question: str, body: Any) -> str:
        answer = self.client.send('POST', f'/insight/{question}', body, NEWEST)
        assert answer.status == 400, answer.text
        return str(answer.json['errors'][0]['detail'])

    def begin(self, consumer: str, after: Mapping[str, Any]) -> bool:
        """Leave to the migration what a consumer holds, and claim; false if that is refused."""
        path = f'/allocations/{consumer}'
        held = self.send('GET', path)
        hands_over = clouds.claim({}, held['consumer_generation'])
        migration = hands_over | {
            'allocations': {
                uuid: {'resources': of_provider['resources']}
                for uuid, of_provider in held['allocations'].items()
            },
            'consumer_generation': None,
            'consumer_type': 'MIGRATION',
        }
        self.send('POST', '/allocations', {uuid_of(consumer): migration, consumer: hands_over})
        body = clouds.claim({}) | {'allocations': after}
        answer = self.client.send('PUT', path, body, NEWEST)
        if answer.status == 204:
            return True
        assert 'capacity' in answer.text, answer.text
        return False

    def end(self, consumer: str) -> None:
        """Release what the migration holds."""
        self.send('DELETE', f'/allocations/{uuid_of(consumer)}')


@pytest.fixture
def cloud() -> Iterator[MovingCloud]:
    built = MovingCloud()
    try:
        yield built
    finally:
        built.service.stop()


def moved(plan: Mapping[str, Any]) -> dict[str, str]:
    return {move['consumer']: move['to']['name'] for move in plan['moves']}


@pytest.mark.parametrize('drained', [['cn1'], ['cn2', 'flat1']])
@pytest.mark.parametrize('seed', [1, 2, 3, None])
def test_a_drain_is_made_in_any_order_and_at_once(
    cloud: MovingCloud, drained: list[str], seed: int | None
) -> None:
    plan = cloud.ask('drain', providers=drained)
    assert not plan['homeless']
    assert plan['at_once'] == len(plan['moves']) > 1
    moves = plan['moves']
    if seed is not None:
        random.Random(seed).shuffle(moves)
    for move in moves:
        assert {source['name'] for source in move['from']} <= set(drained)
        assert move['to']['name'] not in drained
        assert cloud.begin(move['consumer'], move['allocations'])
        if seed is not None:
            cloud.end(move['consumer'])
    if seed is None:
        for move in moves:
            cloud.end(move['consumer'])
    for name in {one.name for one in CLOUD if {one.name, one.parent} & set(drained)}:
        usages = cloud.send('GET', f'/resource_providers/{uuid_of(name)}/usages')['usages']
        assert not any(usages.values())


def test_a_plan_has_all_that_there_is_to_know(cloud: MovingCloud) -> None:
    plan = cloud.ask(
        'drain',
        providers=[uuid_of('flat1')],
        requests={'avx': f'resources=VCPU:6,MEMORY_MB:1024&required={AVX}'},
        asked={'avx': [uuid_of('c5')]},
    )
    flat1, flat2 = ({'uuid': uuid_of(name), 'name': name} for name in ('flat1', 'flat2'))
    (staying,) = plan.pop('homeless')
    assert staying.pop('lacks').startswith('Fits nowhere')
    assert staying == {'consumer': uuid_of('c5'), 'from': [flat1], 'known': 'request'}
    assert plan.pop('at').endswith('Z')
    assert plan == {
        'moves': [
            {
                'consumer': uuid_of('c6'),
                'from': [flat1],
                'to': flat2,
                'allocations': {
                    flat2['uuid']: {'resources': {'DISK_GB': 5, 'MEMORY_MB': 512, 'VCPU': 2}}
                },
                'known': 'amounts',
                'alike': True,
            }
        ],
        'gone': 0,
        'at_once': 1,
        'fullest': [
            {'provider': flat2, 'resource_class': 'MEMORY_MB', 'used': 512, 'capacity': 2048},
        ],
    }


def test_consumers_leave_their_trees(cloud: MovingCloud) -> None:
    chosen = [uuid_of(name) for name in ('c5', 'c6', 'nobody')]
    plan = cloud.ask('drain', consumers=chosen, apart=[chosen], ignore=[uuid_of('c6')])
    assert (moved(plan), plan['gone']) == ({uuid_of('c5'): 'flat2'}, 1)
    plan = cloud.ask('drain', consumers=chosen, scenario=[{'remove': ['flat2']}])
    assert uuid_of('c5') not in moved(plan)
    assert plan['scenario'][0]['trees'] == 1
    steps: list[Any] = [
        {'release': {'consumers': chosen[:1]}},
        {'add': {'like': 'flat1', 'count': 1}},
    ]
    plan = cloud.ask('drain', providers=['flat1', 'flat2'], scenario=steps)
    assert moved(plan) == {uuid_of('c6'): 'flat1+1'}


@pytest.mark.parametrize('seed', range(6))
def test_a_verdict_is_what_happens(cloud: MovingCloud, seed: int) -> None:
    """Of random moves, of which some are not possible."""
    choose = random.Random(seed)
    hosts = ['cn1', 'cn2', 'cn3', 'flat1', 'flat2']
    chosen = [(c, choose.choice(hosts)) for c in choose.choices(sorted(HELD), k=6)]
    at_once = seed % 2 == 1
    if at_once:
        chosen = list(dict(chosen).items())
    moves = [{'consumer': uuid_of(consumer), 'to': target} for consumer, target in chosen]
    verdict = cloud.ask('moves', moves=moves, at_once=at_once)
    assert verdict['possible'] == (verdict['refused'] is None)
    refused = None
    for number, (consumer, target) in enumerate(chosen, 1):
        claim = candidate(cloud, consumer, target)
        if claim is None or not cloud.begin(uuid_of(consumer), claim):
            refused = number
            break
        if not at_once:
            cloud.end(uuid_of(consumer))
    assert (verdict['refused'] and verdict['refused']['number']) == refused
    if refused:
        assert verdict['refused']['lacks']


def candidate(cloud: MovingCloud, consumer: str, target: str) -> dict[str, Any] | None:
    """The first candidate of a tree for what a consumer holds of its own, with its pools."""
    allocations = cloud.send('GET', f'/allocations/{uuid_of(consumer)}')['allocations']
    names = {uuid_of(one.name): one for one in CLOUD}
    query, number = ['root_required=!COMPUTE_STATUS_DISABLED', 'group_policy=none'], 0
    kept = {}
    for uuid, of_provider in allocations.items():
        if names[uuid].name == 'pool':
            kept[uuid] = {'resources': of_provider['resources']}
            continue
        is_root = names[uuid].parent is None
        number += not is_root
        suffix = '' if is_root else str(number)
        amounts = ','.join(f'{name}:{n}' for name, n in of_provider['resources'].items())
        query.append(f'resources{suffix}={amounts}')
    if kept and 'shared' not in names[uuid_of(target)].aggregates:
        return None
    found = cloud.send('GET', f'/allocation_candidates?{"&".join(query)}')
    for each in found['allocation_requests']:
        taken: dict[str, Any] = each['allocations']
        roots = {found['provider_summaries'][uuid]['root_provider_uuid'] for uuid in taken}
        if roots - {uuid_of('pool')} == {uuid_of(target)}:
            return taken | kept
    return None


def test_a_plan_is_verified_for_who_goes_on_holding_of_another_tree(cloud: MovingCloud) -> None:
    steps = [{'change': {'where': ['pool'], 'traits': {'remove': [clouds.SHARES]}}}]
    plan = cloud.ask('drain', providers=['cn1'], scenario=steps)
    assert len(plan['moves']) == 2
    chosen = [
        {'consumer': move['consumer'], 'to': move['to']['name'], 'from': ['cn1']}
        for move in plan['moves']
    ]
    assert cloud.ask('moves', moves=chosen, scenario=steps)['possible']
    elsewhere = [chosen[0] | {'from': ['cn2', 'cn3']}]
    refused = cloud.ask('moves', moves=elsewhere, scenario=steps)['refused']
    assert refused['lacks'] == 'It holds nothing of the trees that it is to leave.'
    # Without sources the pool is left, too.
    all_trees = [{name: move[name] for name in ('consumer', 'to')} for move in chosen]
    assert not cloud.ask('moves', moves=all_trees, scenario=steps)['possible']


def test_a_verdict_has_all_that_there_is_to_know(cloud: MovingCloud) -> None:
    flat1, flat2 = ({'uuid': uuid_of(name), 'name': name} for name in ('flat1', 'flat2'))
    verdict = cloud.ask(
        'moves',
        moves=[
            {'consumer': uuid_of('c6'), 'to': None, 'request': 'large'},
            {'consumer': uuid_of('c5'), 'to': 'flat2'},
        ],
        requests={'large': 'resources=VCPU:5,DISK_GB:50'},
        scenario=[{'change': {'where': ['flat1'], 'inventories': {'VCPU': {'total': 5}}}}],
    )
    refused = verdict.pop('refused')
    assert 'DISK_GB: 20 asked, most free 0, largest 50 (used)' in refused.pop('lacks')
    assert refused == {'number': 2, 'consumer': uuid_of('c5'), 'to': flat2}
    assert verdict.pop('at').endswith('Z')
    assert verdict.pop('scenario')[0]['step'] == 'change'
    over = {'count': 1, 'providers': [
        flat1 | {'resources': {'VCPU': {'capacity': 5, 'used': 6}}},
    ]}  # fmt: skip
    assert verdict == {
        'possible': False,
        'places': [{'number': 1, 'to': flat2}],
        'over_capacity': over,
        'fullest': [{'provider': flat2, 'resource_class': 'DISK_GB', 'used': 50, 'capacity': 50}],
    }


C1, C2 = uuid_of('c1'), uuid_of('c2')


@pytest.mark.parametrize(
    ('question', 'body', 'words'),
    [
        ('drain', {}, 'Either providers or consumers'),
        ('drain', {'providers': ['cn1'], 'consumers': [C1]}, 'Either providers or consumers'),
        ('drain', {'providers': ['cn9']}, "providers: there is no resource provider 'cn9'"),
        ('drain', {'providers': ['cn1_numa0']}, 'is not the root of a tree'),
        ('drain', {'providers': {'member_of': C1}}, 'providers: no tree has its root in'),
        ('drain', {'consumers': [C1], 'asked': {'x': [C1]}}, "asked names request 'x'"),
        ('drain', {'consumers': [C1], 'requests': {'x': 'resources=CUSTOM_X:1'}}, 'Request x: '),
        ('moves', {'moves': []}, 'On instance'),
        ('moves', {'moves': [{'consumer': C1}]}, "'to' is a required property"),
        ('moves', {'moves': [{'consumer': C1, 'to': 'cn9'}]},
         "Move 1: there is no resource provider 'cn9'"),
        ('moves', {'moves': [{'consumer': C1, 'to': 'cn2'}, {'consumer': C2, 'to': 'cn2_numa0'}]},
         'Move 2: resource provider'),
        ('moves', {'moves': [{'consumer': C1, 'to': 'cn2', 'from': ['cn9']}]},
         "Move 1: there is no resource provider 'cn9'"),
        ('moves', {'moves': [{'consumer': C1, 'to': None, 'request': 'x'}]},
         "Move 1: there is no request 'x'"),
        ('moves', {'moves': [{'consumer': C1, 'to': None}] * 2, 'at_once': True}, 'but once'),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(
    cloud: MovingCloud, question: str, body: Any, words: str
) -> None:
    assert words in cloud.refusal(question, body)
