# SPDX-License-Identifier: Apache-2.0
"""The uuid of a provider or consumer in capital letters names the same one at every place."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.asked import Asked
from .fixtures.backends import on_mysql
from .fixtures.client import Client
from .fixtures.clouds import Provider, uuid_of

HOST, NODE, OTHER = map(uuid_of, ('cn1', 'cn1_numa0', 'flat1'))
CONSUMER, SECOND = map(uuid_of, ('c1', 'c2'))
QUERY = 'resources=VCPU:1'

SPELLINGS: dict[str, Callable[[str], str]] = {
    'upper': str.upper,
    'mixed': lambda uuid: uuid[:18].upper() + uuid[18:],
}

#: What is asked with GET.
READS = (
    *(
        f'/resource_providers/{NODE}{of}'
        for of in ('', '/inventories', '/inventories/VCPU', '/usages', '/allocations')
    ),
    *(f'/resource_providers/{HOST}{of}' for of in ('/aggregates', '/traits')),
    f'/allocations/{CONSUMER}',
    f'/resource_providers?uuid={HOST}',
    f'/resource_providers?in_tree={NODE}',
    f'/allocation_candidates?{QUERY}&in_tree={NODE}',
    f'/allocation_candidates?resources_A=VCPU:1&in_tree_A={NODE}',
    f'/insight/allocation_candidates?{QUERY}&in_tree={NODE}',
    f'/insight/allocation_candidates?{QUERY}&provider={OTHER}',
    f'/insight/capacity?{QUERY}&in_tree={NODE}',
    f'/insight/capacity?{QUERY}&by=root&marker={HOST}',
    f'/insight/providers?uuid={HOST}',
    f'/insight/providers?in_tree={NODE}',
    f'/insight/providers?marker={HOST}',
    f'/insight/consumers?uuid={CONSUMER}&uuid={SECOND}',
    f'/insight/consumers?provider={NODE}',
    f'/insight/history?provider={HOST}',
    f'/insight/history?consumer={CONSUMER}',
)

STEPS: list[dict[str, Any]] = [
    {'release': {'consumers': [CONSUMER]}},
    {'release': {'provider': OTHER}},
    {'change': {'where': [NODE], 'inventories': {'VCPU': {'total': 5}}}},
    {'add': {'like': OTHER, 'count': 1}},
    {'remove': [uuid_of('flat2')]},
    {'claim': {'query': f'{QUERY}&in_tree={NODE}', 'count': 1}},
]
EACH = {'each': 'root'}

#: What is asked with POST, by the path.
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(('capacity', {'requests': {'a': QUERY}, 'scenario': [step]}) for step in STEPS),
    ('capacity', {'requests': {'a': f'{QUERY}&in_tree={NODE}'}}),
    ('allocation_candidates', {'query': QUERY, 'scenario': [], 'provider': OTHER}),
    ('survival', {'lose': {'domains': {'d': [HOST]}}}),
    (f'survival?marker={HOST}', {'lose': EACH}),
    ('survival', {'lose': EACH, 'asked': {'a': [CONSUMER]}, 'requests': {'a': QUERY}}),
    ('survival', {'lose': EACH, 'ignore': [CONSUMER]}),
    ('drain', {'providers': [HOST]}),
    ('drain', {'consumers': [CONSUMER]}),
    ('drain', {'consumers': [CONSUMER], 'apart': [[CONSUMER, uuid_of('c4')]]}),
    ('moves', {'moves': [{'consumer': uuid_of('c4'), 'from': [uuid_of('cn3')], 'to': HOST}]}),
)


@pytest.fixture(scope='module')
def asked() -> Iterator[Asked]:
    """A cloud that nothing changes."""
    built = Asked()
    yield built
    built.service.stop()


def respelled(value: Any, spell: Callable[[str], str]) -> Any:
    """A value whose uuids are spelled in another way."""
    if isinstance(value, dict):
        return {respelled(name, spell): respelled(part, spell) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [respelled(part, spell) for part in value]
    if not isinstance(value, str):
        return value
    return re.sub('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', lambda m: spell(m[0]), value)


def without_time(answer: Any) -> Any:
    """The answer without the moment of a plan, and without the position in the feed, which moves
    on as gaps in it are found to stay."""
    return {name: value for name, value in answer.items() if name not in ('at', 'token')}


@pytest.mark.parametrize('spelling', SPELLINGS)
@pytest.mark.parametrize('path', READS)
def test_a_read_answers_the_same_in_any_spelling(asked: Asked, path: str, spelling: str) -> None:
    other = respelled(path, SPELLINGS[spelling])
    assert other != path

    answers = [asked.send('GET', one) for one in (other, path)]
    assert without_time(answers[0]) == without_time(answers[1])


@pytest.mark.parametrize('spelling', SPELLINGS)
@pytest.mark.parametrize(('question', 'body'), QUESTIONS)
def test_a_question_answers_the_same_in_any_spelling(
    asked: Asked, question: str, body: dict[str, Any], spelling: str
) -> None:
    path, expected = f'/insight/{question}', asked.ask(question, **body)
    other = respelled([path, body], SPELLINGS[spelling])
    assert other != [path, body]

    assert without_time(asked.send('POST', *other)) == without_time(expected)


@on_mysql
def test_a_consumer_stored_in_capitals_is_written_and_released(
    execute: Callable[[str], None], client: Client
) -> None:
    cloud = (Provider('host', {'VCPU': 8}),)
    clouds.build(cloud, client)
    path, held = f'/allocations/{CONSUMER}', {uuid_of('host'): {'VCPU': 1}}
    assert client.send('PUT', path, clouds.claim(held), NEWEST).status == 204
    execute('UPDATE consumers SET uuid = upper(uuid)')
    execute('UPDATE allocations SET consumer_id = upper(consumer_id)')

    assert client.send('PUT', path, clouds.claim(held, generation=1), NEWEST).status == 204
    assert client.send('GET', path, version=NEWEST).json['consumer_generation'] == 2
    assert client.send('DELETE', path, version=NEWEST).status == 204


@pytest.mark.parametrize('options', [applications.insight_options('on')])
def test_pages_go_on_behind_a_consumer_stored_in_capitals(
    execute: Callable[[str], None], client: Client
) -> None:
    clouds.build((Provider('host', {'VCPU': 8}),), client)
    stored = [f'{first}0000000-0000-4000-8000-000000000001' for first in '0ad']
    claims = {uuid: clouds.claim({uuid_of('host'): {'VCPU': 1}}) for uuid in stored}
    assert client.send('POST', '/allocations', claims, NEWEST).status == 204
    for table, column in (('consumers', 'uuid'), ('allocations', 'consumer_id')):
        execute(f"UPDATE {table} SET {column} = upper({column}) WHERE {column} LIKE 'd%'")

    seen, path = [], '/insight/consumers?page_limit=1'
    while path:
        page = client.send('GET', path, version=NEWEST).json
        seen += [row['uuid'] for row in page['consumers']]
        path = page['links'][0]['href'] if page['links'] else ''
    assert sorted(seen) == sorted([*stored[:2], stored[2].upper()])
