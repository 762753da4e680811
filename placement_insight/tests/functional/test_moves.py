# SPDX-License-Identifier: Apache-2.0
"""Losses, drains and moves say what happens when they are made through the API, as nova does."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.schema import tables
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import clouds
from placement.tests.functional.fixtures.asked import AVX, CLOUD, DISABLED, HELD, Asked
from placement.tests.functional.fixtures.clouds import uuid_of
from placement_insight.what_if import handlers, statements

EACH = {'each': 'root'}
#: The names of the providers of which each consumer holds, by its uuid.
NAMES_OF_HELD = {uuid_of(consumer): held.keys() for consumer, held in HELD.items()}


class MovingCloud(Asked):
    """A cloud whose consumers move."""

    def losses(self, **body: Any) -> dict[str, dict[str, Any]]:
        """What the loss of each host comes to, by its name."""
        return {row['name']: row for row in self.ask('survival', lose=EACH, **body)['domains']}

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


def moving_cloud() -> Iterator[MovingCloud]:
    built = MovingCloud()
    yield built
    built.service.stop()


cloud = pytest.fixture(moving_cloud)
#: For all tests that only ask.
still = pytest.fixture(scope='module')(moving_cloud)


@pytest.mark.parametrize('drained', [['cn1'], ['cn2', 'flat1']])
@pytest.mark.parametrize('seed', [1, 2, 3, None])
def test_a_drain_is_made_in_any_order_and_at_once(
    cloud: MovingCloud, drained: list[str], seed: int | None
) -> None:
    plan = cloud.ask('drain', providers=drained)
    assert not plan['unplaced']
    assert plan['at_once'] == len(plan['moves']) > 1
    moves = plan['moves']
    if seed is not None:
        random.Random(seed).shuffle(moves)
    for move in moves:
        homes = {name.partition('_')[0] for name in NAMES_OF_HELD[move['consumer']]}
        assert {source['name'] for source in move['from']} == homes & set(drained)
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
    query, number = [f'root_required=!{DISABLED}', 'group_policy=none'], 0
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


def test_others_have_their_turn_while_it_is_read_what_is_held(
    still: MovingCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = still.losses()
    pauses = list[int]()
    monkeypatch.setattr(statements, 'ROOTS_AT_A_TIME', 3)
    monkeypatch.setattr(statements, 'give_way', lambda: pauses.append(1))
    assert still.losses() == whole
    assert len(pauses) == 2


def test_nobody_can_keep_what_its_pool_does_not_have(cloud: MovingCloud) -> None:
    """A database may have allocations of a class whose inventory was deleted."""
    pool = sa.select(tables.resource_providers.c.id).where(
        tables.resource_providers.c.name == 'pool'
    )
    with cloud.service.engine.begin() as connection:
        of_pool = tables.inventories.c.resource_provider_id.in_(pool)
        connection.execute(sa.delete(tables.inventories).where(of_pool))
    cloud.send('PUT', f'/resource_providers/{uuid_of("pool")}', {'name': 'pool'})
    rows = cloud.losses()
    assert (rows['cn1']['placed'], rows['cn3']['survives']) == (0, True)
    plan = cloud.ask('drain', providers=['cn1'])
    assert [one['consumer'] for one in plan['unplaced']] == sorted([uuid_of('c1'), uuid_of('c2')])
    move = {'consumer': uuid_of('c1'), 'to': None}
    assert not cloud.ask('moves', moves=[move])['possible']


def test_what_was_claimed_of_a_pool_goes_with_it(still: MovingCloud) -> None:
    query = f'resources=VCPU:4,MEMORY_MB:1,DISK_GB:1&required={AVX}'
    steps: list[Any] = [{'claim': {'query': query, 'count': 1}}, {'remove': ['pool']}]
    plan = still.ask('drain', providers=['cn1', 'cn2', 'cn3'], scenario=steps)
    of_claimed = [one['from'] for one in plan['moves'] if one['consumer'].startswith('claimed')]
    assert [[place['name'][:2] for place in places] for places in of_claimed] == [['cn']]


@pytest.mark.parametrize('units', [{'max_unit': 5}, {'step_size': 15}])
def test_units_count_for_what_is_kept_of_a_pool(still: MovingCloud, units: dict[str, int]) -> None:
    change = {'where': ['pool'], 'inventories': {'DISK_GB': units}}
    rows = still.losses(scenario=[{'change': change}])
    assert rows['cn3']['survives']
    assert (rows['cn1']['placed'], rows['cn1']['consumers']) == (0, 2)


@pytest.mark.parametrize('disk', [50, 40])
def test_what_was_asked_for_may_take_what_is_held_of_a_full_pool(
    cloud: MovingCloud, disk: int
) -> None:
    """In a group of its own, or of another amount than is held."""
    consumer, request = (
        uuid_of('c9'),
        f'resources_C=VCPU:1&resources_D=DISK_GB:{disk}&root_required={AVX}',
    )
    held = {uuid_of('cn1_numa0'): {'VCPU': 1}, uuid_of('pool'): {'DISK_GB': 50}}
    cloud.send('PUT', f'/allocations/{consumer}', clouds.claim(held))
    known = {
        'requests': {'c9': f'{request}&group_policy=none'},
        'asked': {'c9': [consumer]},
        'ignore': [uuid_of('c1'), uuid_of('c2')],
    }
    row = cloud.losses(**known)['cn1']
    assert (row['consumers'], row['survives'], row['exact']) == (1, True, True)
    plan = cloud.ask('drain', providers=['cn1'], **known)
    (move,) = plan['moves']
    assert (move['consumer'], plan['unplaced'], plan['at_once']) == (consumer, [], 0)
    before = cloud.send('GET', f'/allocations/{consumer}')['consumer_generation']
    body = clouds.claim({}, before) | {'allocations': move['allocations']}
    cloud.send('PUT', f'/allocations/{consumer}', body)


def test_empty_lists_say_nothing(still: MovingCloud) -> None:
    lists = {'ignore': [], 'within': [], 'asked': {'x': []}, 'requests': {'x': 'resources=VCPU:1'}}
    body: dict[str, Any] = {'lose': EACH, **lists}
    whole = still.ask('survival', lose=EACH)['domains']
    lists_apart: list[list[list[str]]] = [[], [[]], [[uuid_of('c1')]]]
    for apart in lists_apart:
        assert still.ask('survival', **body, apart=apart)['domains'] == whole
    assert still.ask('survival', lose=EACH, asked={}, requests={})['domains'] == whole
    assert still.ask('drain', providers=['cn1'], **lists)['moves']


C1, C2, ZONE = uuid_of('c1'), uuid_of('c2'), uuid_of('az1')
VCPU = 'resources=VCPU:1'


@pytest.mark.parametrize(
    ('question', 'body', 'words'),
    [
        ('survival', {'lose': {'domains': {'r': ['cn1_numa0']}}}, 'is not the root of a tree'),
        ('survival', {'lose': {'each': 'aggregate', 'of': [C1]}}, 'no tree has its root in'),
        ('survival', {'lose': EACH | {'of': [ZONE]}}, 'On instance'),
        ('survival', {'lose': {'each': 'aggregate'}}, 'On instance'),
        ('survival', {'lose': EACH, 'asked': {'x': [C1]}}, "asked names request 'x'"),
        ('survival', {'lose': EACH, 'requests': {'x': VCPU, 'y': VCPU},
                      'asked': {'x': [C1], 'y': [C1]}}, 'in more than one request'),
        ('survival', {'lose': EACH, 'requests': {'x': 'resources=CUSTOM_NO:1'}}, 'Request x: '),
        ('survival', {'lose': EACH, 'requests': {'x': 'resources=VCPU'}}, 'Request x: '),
        ('survival', {'lose': EACH, 'scenario': [{'remove': ['x']}]}, 'Scenario step 1 '),
        *((f'survival?{query}', {'lose': EACH}, '')
          for query in ('only=x', 'page_limit=0', 'marker=', 'bogus=1')),
        ('drain', {}, 'Either providers or consumers'),
        ('drain', {'providers': ['cn9']}, "providers: there is no resource provider 'cn9'"),
        ('drain', {'providers': ['cn1_numa0']}, 'is not the root of a tree'),
        ('drain', {'providers': {'member_of': C1}}, 'providers: no tree has its root in'),
        ('drain', {'consumers': [C1], 'asked': {'x': [C1]}}, "asked names request 'x'"),
        ('drain', {'consumers': [C1], 'requests': {'x': 'resources=CUSTOM_X:1'}}, 'Request x: '),
        ('moves', {'moves': []}, 'On instance'),
        ('moves', {'moves': [{'consumer': C1}]}, "'to' is a required property"),
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
    still: MovingCloud, question: str, body: Any, words: str
) -> None:
    assert words in still.refusal(question, body)


@pytest.mark.parametrize(
    ('question', 'body'),
    [
        ('drain', {'providers': ['cn1']}),
        ('moves', {'moves': [{'consumer': C1, 'to': 'cn2'}] * 2}),
    ],
)
def test_a_question_beyond_its_budget_is_refused(
    still: MovingCloud, question: str, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, 'DRAIN_BUDGET', 1)
    monkeypatch.setattr(handlers, 'MOVES_BUDGET', 1)
    assert still.refusal(question, body) == 'The budget of one question does not suffice.'


def test_domains_beyond_the_budget_of_a_page_are_not_counted(
    still: MovingCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    domains = {name: ['cn1'] for name in 'abcd'}
    monkeypatch.setattr(handlers, 'SURVIVAL_BUDGET', 150)
    rows = still.ask('survival', lose={'domains': domains})['domains']
    first, *others = rows
    assert [first['consumers'], first['known']] == [2, {'requests': 0, 'amounts': 2}]
    counts = ('consumers', 'known', 'placed', 'placed_alike', 'survives')
    assert [[row[name] for name in counts] for row in others] == [[None] * 5] * 3
    assert [row['domain'] for row in rows] == list(domains)
