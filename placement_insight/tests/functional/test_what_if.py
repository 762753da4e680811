# SPDX-License-Identifier: Apache-2.0
"""A scenario says what there is once its steps were taken through the API."""

from __future__ import annotations

import concurrent.futures
import operator
import pathlib
import random
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds
from placement.tests.functional.fixtures.asked import AVX, CLOUD, DISABLED, HELD, Asked
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.thorough import examples
from placement_insight.search.what_if import scenario
from placement_insight.what_if import scenarios, views

ODD = uuid_of('nobody')
CONSUMERS = (*map(uuid_of, HELD), ODD)
REQUESTS = {
    'small': 'resources=VCPU:1,MEMORY_MB:256',
    'disk': 'resources=VCPU:2,MEMORY_MB:512,DISK_GB:10&root_required=!' + DISABLED,
    'numa': 'resources_a=VCPU:2&resources_b=VCPU:2&group_policy=isolate&resources=MEMORY_MB:64',
    'nic': 'resources=VCPU:1&resources1=SRIOV_NET_VF:1&required=HW_CPU_X86_AVX2',
    'zone': f'resources=VCPU:1&member_of={uuid_of("az2")}',
}
VALUES: list[dict[str, Any]] = [
    {'total': 3},
    {'reserved': 1},
    {'allocation_ratio': 2.5},
    {'max_unit': 2},
]


class Written(Asked):
    """A service whose cloud is changed through the API, as the steps say."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.copies = Counter[str]()
        self.claims = 0

    def step(self) -> dict[str, Any]:
        """Take a step, which is possible; how a scenario says it."""
        verbs = [self.change, self.add, self.remove, self.release, self.claim]
        verb = self.random.choices(verbs, (4, 3, 2, 2, 3))[0]
        return {verb.__name__: verb()}

    def provider(self) -> tuple[str, str]:
        """The uuid of a provider, and that or its name."""
        listed = self.send('GET', '/resource_providers')['resource_providers']
        chosen = self.random.choice(sorted(listed, key=operator.itemgetter('name')))
        return chosen['uuid'], self.random.choice([chosen['name'], chosen['uuid']])

    def tree(self, uuid: str) -> list[dict[str, Any]]:
        """The tree of a provider, parents before their children."""
        members = self.send('GET', f'/resource_providers?in_tree={uuid}')['resource_providers']
        ordered: list[dict[str, Any]] = []
        parents: list[str | None] = [None]
        while parents:
            children = [one for one in members if one['parent_provider_uuid'] in parents]
            ordered += children
            parents = [one['uuid'] for one in children]
        return ordered

    def values(self, uuid: str, kind: str) -> Any:
        """The inventories, traits or aggregates of a provider."""
        return self.send('GET', f'/resource_providers/{uuid}/{kind}')[kind]

    def replace(self, uuid: str, kind: str, values: Any) -> None:
        """Replace the inventories, traits or aggregates of a provider."""
        path = f'/resource_providers/{uuid}'
        body = {kind: values, 'resource_provider_generation': self.send('GET', path)['generation']}
        self.send('PUT', f'{path}/{kind}', body)

    def change(self) -> dict[str, Any]:
        top, provider = self.provider()
        members = [one['uuid'] for one in self.tree(top)]
        standing = members if top == members[0] else [top]
        inventories = {one: self.values(one, 'inventories') for one in standing}
        arguments: dict[str, Any] = {'where': [provider]}
        here = sorted({name for records in inventories.values() for name in records})
        if here:
            name, values = self.random.choice(here), self.random.choice(VALUES)
            arguments['inventories'] = {name: values}
            for one, records in inventories.items():
                if name in records:
                    self.replace(one, 'inventories', records | {name: records[name] | values})
        traits = {
            'add': [self.random.choice(['HW_CPU_X86_AVX2', DISABLED])],
            'remove': [self.random.choice([AVX, 'HW_CPU_X86_VMX'])],
        }
        aggregates = {'add': [uuid_of('az2')], 'remove': [uuid_of('az1')]}
        for kind, names in (('traits', traits), ('aggregates', aggregates)):
            if self.random.random() < 0.5 or not here:
                arguments[kind] = names
                left = set(self.values(top, kind)) - set(names['remove'])
                self.replace(top, kind, sorted(left | set(names['add'])))
        return arguments

    def add(self) -> dict[str, Any]:
        top, provider = self.provider()
        arguments: dict[str, Any] = {'like': provider, 'count': self.random.randint(1, 2)}
        if self.random.random() < 0.5:
            arguments['member_of'] = [uuid_of('az2'), uuid_of('shared')]
        tree = self.tree(top)
        for _ in range(arguments['count']):
            self.copies[tree[0]['uuid']] += 1
            for member in tree:
                self.copy(member, self.copies[tree[0]['uuid']], arguments.get('member_of'))
        return arguments

    def copy(self, member: dict[str, Any], number: int, member_of: list[str] | None) -> None:
        def copied(one: str | None) -> str | None:
            return one and str(uuid.uuid5(uuid.NAMESPACE_OID, f'{one}+{number}'))

        new, parent = copied(member['uuid']), member['parent_provider_uuid']
        assert new is not None
        name = f'{member["name"]}+{number}'
        body = {'name': name, 'uuid': new, 'parent_provider_uuid': copied(parent)}
        self.send('POST', '/resource_providers', body)
        for kind in ('inventories', 'traits', 'aggregates'):
            values = self.values(member['uuid'], kind)
            if kind == 'aggregates' and parent is None and member_of is not None:
                values = member_of
            if kind == 'traits':
                values = [one for one in values if one != DISABLED]
            self.replace(new, kind, values)

    def remove(self) -> list[str]:
        top, provider = self.provider()
        gone = [top]
        for one in self.tree(top):
            if one['parent_provider_uuid'] in gone:
                gone.append(one['uuid'])
        for consumer in everything(self)[1]:
            held = consumer['allocations']
            if held.keys() & set(gone):
                kept = {one: held[one]['resources'] for one in held.keys() - set(gone)}
                body = clouds.claim(kept, consumer['consumer_generation'])
                self.send('PUT', f'/allocations/{consumer["uuid"]}', body)
        for deleted in reversed(gone):
            self.send('DELETE', f'/resource_providers/{deleted}')
        return [provider]

    def release(self) -> dict[str, Any]:
        if self.random.random() < 0.5:
            consumers = self.random.sample(CONSUMERS, 3)
            arguments: dict[str, Any] = {'consumers': consumers}
        else:
            top, provider = self.provider()
            arguments = {'provider': provider}
            consumers = list(self.values(top, 'allocations'))
        for consumer in consumers:
            self.client.send('DELETE', f'/allocations/{consumer}', version=NEWEST)
        return arguments

    def claim(self) -> dict[str, Any]:
        query, count = self.random.choice(sorted(REQUESTS.values())), self.random.choice([2, 40])
        for _ in range(count):
            found = self.send('GET', f'/allocation_candidates?{query}&limit=1')
            for candidate in found['allocation_requests']:
                held = {one: of['resources'] for one, of in candidate['allocations'].items()}
                self.claims += 1
                path = f'/allocations/{uuid_of(f"claimed{self.claims}")}'
                self.send('PUT', path, clouds.claim(held))
        return {'query': query, 'count': count}


def everything(asked: Asked) -> list[Any]:
    """All that is stored, with generations."""
    included = 'inventories,usages,traits,aggregates,allocations'
    path = f'/insight/providers?include={included}&page_limit=1000'
    return [
        asked.send('GET', path)['providers'],
        asked.send('GET', '/insight/consumers?page_limit=1000')['consumers'],
    ]


def refused(asked: Asked, steps: list[Any]) -> str:
    """Why a scenario is refused."""
    return asked.refusal('capacity', {'requests': REQUESTS, 'scenario': steps})


@pytest.fixture(scope='module')
def asked() -> Iterator[Asked]:
    asked = Asked()
    yield asked
    asked.service.stop()


def check_losses(asked: Asked, written: Written, steps: list[Any]) -> None:
    """Each tree can be lost and drained after the steps as it can be once they are taken.

    Those that a step claimed have other uuids than those that were claimed for real, so that the
    orders differ in which places are tried, but not what can be told for certain.
    """
    each = {'each': 'root'}
    after = asked.ask('survival', lose=each, scenario=steps)['domains']
    real = written.ask('survival', lose=each)['domains']
    assert [(row['domain'], row['consumers']) for row in after] == [
        (row['domain'], row['consumers']) for row in real
    ], steps
    for one, other in zip(after, real, strict=True):
        assert one['survives'] is other['survives'] or not (one['exact'] and other['exact'])
        plan = asked.ask('drain', providers=[one['domain']], scenario=steps)
        same = written.ask('drain', providers=[one['domain']])
        for shown in (plan, same):
            count = len(shown['moves']) + len(shown['unplaced'])
            assert count == one['consumers']
            assert not (one['survives'] and other['survives'] and shown['unplaced'])


@pytest.mark.parametrize('seed', range(examples(24)))
def test_a_scenario_answers_as_the_cloud_does_after_its_steps(asked: Asked, seed: int) -> None:
    written, before = Written(seed), everything(asked)
    plain = asked.ask('capacity', requests=REQUESTS)['capacities']
    steps: list[dict[str, Any]] = []
    try:
        for _ in range(6):
            steps.append(written.step())
            answer = asked.ask('capacity', requests=REQUESTS, scenario=steps)
            expected = written.ask('capacity', requests=REQUESTS)
            assert answer['capacities'] == expected['capacities'], steps
            assert answer['before'] == plain
            assert [row['step'] for row in answer['scenario']] == [next(iter(s)) for s in steps]
            for one in answer['over_capacity']['providers']:
                usages = written.send('GET', f'/resource_providers/{one["uuid"]}/usages')['usages']
                assert {n: usages[n] for n in one['resources']} == {
                    name: amounts['used'] for name, amounts in one['resources'].items()
                }
            for query in REQUESTS.values():
                _, provider = written.provider()
                explained = asked.ask(
                    'allocation_candidates', query=query, scenario=steps, provider=provider
                )
                del explained['scenario'], explained['over_capacity']
                named = provider.replace('+', '%2B')
                path = f'/insight/allocation_candidates?{query}&provider={named}'
                assert explained == written.send('GET', path), steps
            check_losses(asked, written, steps)
    finally:
        written.service.stop()
    assert everything(asked) == before


def test_bounds_of_a_scenario(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = {'older_than': '2999-01-01'}
    claim = {'claim': {'query': 'resources=VCPU:1', 'count': 1}}
    assert 'is too long' in refused(asked, [claim] * 101)
    long = f'resources=VCPU:1&required={"A" * 1_000}'
    text = f'the queries have {70 * len(long)} characters, more than 65536'
    assert text in refused(asked, [{'claim': {'query': long, 'count': 1}}] * 70)
    many = {f'request{number}': long for number in range(70)}
    assert text in asked.refusal('capacity', {'requests': many})
    assert text in asked.refusal('survival', {'lose': {'each': 'root'}, 'requests': many})
    monkeypatch.setattr(scenarios, 'MAX_CONSUMERS', 9)
    text = 'Scenario step 2 (release): more than 9 consumers would be released'
    assert refused(asked, [{'release': everybody}, {'release': everybody}]) == text
    gone = {'release': {'consumers': [uuid_of(f'gone{number}') for number in range(5)]}}
    assert refused(asked, [gone, gone]) == text
    monkeypatch.setattr(scenarios, 'MAX_PROVIDERS', 2)
    text = 'The scenario names 3 resource providers, more than 2.'
    assert refused(asked, [{'remove': ['cn1', 'cn2', 'cn3']}]) == text
    monkeypatch.setattr(scenario, 'SCENARIO_BUDGET', 100)
    text = 'Scenario step 1 (claim): the budget of one question does not suffice for it'
    assert refused(asked, [{'claim': {'query': 'resources=VCPU:1', 'count': 40}}]) == text


def test_of_many_over_capacity_some_are_shown(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, 'MAX_OVER_CAPACITY', 1)
    change = {'where': ['cn1', 'flat1'], 'inventories': {'VCPU': {'total': 1}}}
    steps = [{'change': change}]
    over = asked.ask('capacity', requests=REQUESTS, scenario=steps)['over_capacity']

    assert over['count'] == 3
    assert [one['name'] for one in over['providers']] == ['cn1_numa0']


def test_what_is_released_is_of_the_moment_of_the_cloud(url: str) -> None:
    """Servers move to and fro; released together, they leave no usage behind."""
    hosts, moves = [uuid_of('flat1'), uuid_of('flat2')], 60
    options = applications.insight_options('on')
    with applications.serving(url) as writer, applications.serving(url, options) as reader:
        clouds.build(CLOUD, writer)

        def move() -> None:
            for number in range(moves):
                for consumer in CONSUMERS[:2]:
                    held = {hosts[number % 2]: {'VCPU': 2}}
                    body = clouds.claim(held, number or None)
                    answer = writer.send('PUT', f'/allocations/{consumer}', body, NEWEST)
                    assert answer.status == 204, answer.text

        body = {
            'requests': {'small': 'resources=VCPU:1'},
            'scenario': [{'release': {'project_id': 'project'}}],
        }
        seen = set()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            moving = pool.submit(move)
            while not moving.done():
                answer = reader.send('POST', '/insight/capacity', body, NEWEST).json
                used = [
                    answer[cloud]['small']['fragmentation'][0]['used']
                    for cloud in ('before', 'capacities')
                ]
                released = answer['scenario'][0]['consumers']
                assert used == [2 * released, 0]
                seen.add(released)
            moving.result()
        assert 2 in seen


WRONG: list[Any] = [
    {},
    None,
    'remove',
    {'explode': ['cn1']},
    {'remove': []},
    {'remove': 'cn1'},
    {'remove': ['']},
    {'remove': ['cn1', 'cn1']},
    {'remove': {'member_of': 'az1'}},
    {'remove': ['cn1'], 'release': {'consumers': [ODD]}},
    {'release': {}},
    {'release': {'consumers': []}},
    {'release': {'consumers': [ODD, ODD]}},
    {'release': {'consumers': [1]}},
    {'release': {'consumers': [ODD], 'provider': 'cn1'}},
    {'release': {'pony': 'x'}},
    {'release': {'older_than': 'yesterday'}},
    {'release': {'older_than': '2026-02-30'}},
    {'release': {'provider': 'nobody'}},
    {'add': {'like': 'cn1'}},
    {'add': {'like': 'cn1', 'count': 0}},
    {'add': {'like': 'cn1', 'count': 1_001}},
    {'add': {'like': 'cn1', 'count': 10**30}},
    {'add': {'like': 'cn1', 'count': 1.5}},
    {'add': {'like': 'cn1', 'count': 1, 'member_of': [ODD, ODD]}},
    {'add': {'like': 'CN1', 'count': 1}},
    {'claim': {'query': 'resources=VCPU:1', 'count': -1}},
    {'claim': {'query': '', 'count': 1}},
    {'claim': {'query': 'resources=CUSTOM_UNHEARD:1', 'count': 1}},
    {'claim': {'query': 'resources=VCPU:1&required=CUSTOM_UNHEARD', 'count': 1}},
    {'claim': {'query': 'resources=%ff', 'count': 1}},
    {'change': {'where': ['cn1']}},
    {'change': {'where': ['cn1'], 'traits': {}}},
    {'change': {'where': ['cn1'], 'traits': {'add': ['CUSTOM_UNHEARD']}}},
    {'change': {'where': ['cn1'], 'aggregates': {'add': ['az9']}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {}}}},
    {'change': {'where': ['cn1'], 'inventories': {'vcpu': {'total': 1}}}},
    {'change': {'where': ['cn1'], 'inventories': {'DISK_GB': {'total': 1}}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {'total': 2**31}}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {'total': -1}}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {'reserved': 5}}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {'allocation_ratio': 1e39}}}},
    {'change': {'where': ['cn1'], 'inventories': {'VCPU': {'used': 1}}}},
]


@pytest.mark.parametrize('step', WRONG, ids=repr)
def test_a_step_that_cannot_be_is_refused(asked: Asked, step: Any) -> None:
    fine = {'remove': ['cn2']}
    text = refused(asked, [fine, step])

    assert text.startswith(('Scenario step 2 (', 'JSON does not validate: '))
    body = {'query': 'resources=VCPU:1', 'scenario': [fine, step]}
    assert asked.refusal('allocation_candidates', body)


def test_aggregates_have_the_names_that_the_operator_gives_them(
    url: str, tmp_path: pathlib.Path
) -> None:
    aggregates, requests = tmp_path / 'aggregates.yaml', tmp_path / 'requests.yaml'
    aggregates.write_text(f'{uuid_of("az1").upper()}: zone 1\n')
    requests.write_text('m1.large: resources=VCPU:4')
    files = {
        ('metrics', 'aggregate_names_file'): str(aggregates),
        ('metrics', 'requests_file'): str(requests),
    }
    expected = {
        'aggregates': {uuid_of('az1'): 'zone 1'},
        'requests': {'m1.large': 'resources=VCPU:4'},
    }
    with applications.serving(url, {**applications.insight_options('on'), **files}) as client:
        clouds.build(CLOUD, client)

        def names() -> dict[str, str | None]:
            rows = client.send('GET', '/insight/capacity?resources=VCPU:1&by=aggregate').json
            named = [row['aggregate'] for row in rows['aggregates']]
            return {one['uuid']: one['name'] for one in named if one is not None}

        others = {uuid_of('az2'): None, uuid_of('shared'): None}
        assert names() == expected['aggregates'] | others
        assert client.send('GET', '/insight/names').json == expected
        assert client.send('GET', '/insight').json['failures'] == 0
        # One that cannot be used fails no question.
        aggregates.write_text('- zone 1')
        assert set(names().values()) == {None}
        assert client.send('GET', '/insight').json['failures'] == 1
        assert client.send('GET', '/insight/names').json == expected | {'aggregates': {}}
