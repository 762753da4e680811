# SPDX-License-Identifier: Apache-2.0
"""Queries with many filters: they answer, and cost no more than in proportion."""

import itertools
import uuid
from collections.abc import Callable, Iterator

import pytest

from placement.db.statements import provider_filters
from placement.http.querystring import MAX_CONDITIONS
from placement.microversions import NEWEST

from .fixtures import applications, clouds, databases
from .fixtures.client import Answer, Client
from .fixtures.work import statements_of

HOSTS = ('one', 'two', 'three')
CLASSES = [f'CUSTOM_CLASS_{number}' for number in range(40)]
AGGREGATES = tuple(f'aggregate{number}' for number in range(MAX_CONDITIONS + 1))


@pytest.fixture(scope='module')
def client() -> Iterator[applications.Worker]:
    """A cloud whose first two hosts have every trait, aggregate and class, the third some."""
    made = databases.create()
    with applications.serving(made.url) as client:
        for name in CLASSES:
            assert client.send('PUT', f'/resource_classes/{name}', version=NEWEST).status == 201
        for number, host in enumerate(HOSTS):
            part = slice(None) if number < 2 else slice(None, None, 2)
            inventories = dict.fromkeys(CLASSES[part], 8)
            traits = tuple(traits_of(client)[part])
            provider = clouds.Provider(host, inventories, traits, AGGREGATES[part])
            clouds.build((provider,), client)
        yield client
    made.drop()


def traits_of(client: Client) -> list[str]:
    found: list[str] = client.send('GET', '/traits', version=NEWEST).json['traits']
    return found


def aggregates(number: int) -> list[str]:
    return list(map(clouds.uuid_of, AGGREGATES[:number]))


def by_member_of(number: int, _traits: list[str]) -> str:
    return '&'.join(f'member_of={one}' for one in aggregates(number))


def by_member_of_any(number: int, _traits: list[str]) -> str:
    """Pairs of filters, each with one aggregate more than the previous pair."""
    pairs = itertools.pairwise(aggregates(number + 1))
    return '&'.join(f'member_of=in:{one},{other}' for one, other in pairs)


def by_forbidden(number: int, _traits: list[str]) -> str:
    return '&'.join(f'member_of=!{uuid.UUID(int=10**6 + one)}' for one in range(number))


def by_required(number: int, traits: list[str]) -> str:
    return '&'.join(f'required={one}' for one in traits[:number])


def by_required_any(number: int, traits: list[str]) -> str:
    groups = itertools.islice(itertools.combinations(traits, 2), number)
    return '&'.join(f'required=in:{one},{other}' for one, other in groups)


QUERIES = [by_member_of, by_member_of_any, by_forbidden, by_required, by_required_any]
Query = Callable[[int, list[str]], str]


def ask(client: Client, query: str) -> Answer:
    return client.send('GET', f'/resource_providers?{query}', version=NEWEST)


def names(answer: Answer) -> set[str]:
    assert answer.status == 200, answer.text
    return {provider['name'] for provider in answer.json['resource_providers']}


@pytest.mark.parametrize('query', QUERIES)
@pytest.mark.parametrize('number', [1, 2, 5, MAX_CONDITIONS])
def test_any_number_of_filters_finds_the_same_as_few(
    client: Client, query: Query, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = traits_of(client)
    found = names(ask(client, query(number, traits)))
    everywhere = query in (by_member_of_any, by_forbidden) or number == 1
    if query is by_required_any:
        # The first trait is in each of the first pairs, and the third host has it.
        everywhere = number < 300
    assert found == (set(HOSTS) if everywhere else {'one', 'two'})
    monkeypatch.setattr(provider_filters, 'MAX_CONDITIONS', 0)
    assert names(ask(client, query(number, traits))) == found


@pytest.mark.parametrize('number', [1, 4, 5, 40])
def test_any_number_of_amounts_finds_providers_with_room(client: Client, number: int) -> None:
    amounts = ','.join(f'{name}:8' for name in CLASSES[:number])
    expected = set(HOSTS) if number == 1 else {'one', 'two'}
    assert names(ask(client, f'resources={amounts}')) == expected
    too_much = amounts[:-1] + '9'
    assert names(ask(client, f'resources={too_much}')) == set()


@pytest.mark.parametrize('query', QUERIES)
def test_twice_the_filters_send_at_most_three_times_as_much(
    client: applications.Worker, query: Query
) -> None:
    traits = traits_of(client)

    def sent_for(number: int) -> tuple[int, int]:
        with statements_of(client.database.engine) as sent:
            assert ask(client, query(number, traits)).status == 200
        return len(sent), sum(one.length for one in sent)

    # The less of two: a busy server may make a transaction begin again.
    measured = [
        min(sent_for(number), sent_for(number)) for number in (MAX_CONDITIONS // 2, MAX_CONDITIONS)
    ]
    (statements, length), (more_statements, more_length) = measured
    assert more_length <= 3 * length
    assert more_statements == statements <= 5


def test_combinations_of_filters_do_not_fill_the_statement_cache(
    client: applications.Worker,
) -> None:
    """Send every number of filters of each kind: SQLAlchemy caches a statement for each."""
    traits = traits_of(client)
    kinds = (
        lambda number: [f'required={one}' for one in traits[:number]],
        lambda number: [f'member_of={one}' for one in aggregates(number)],
        lambda number: (
            ['resources=' + ','.join(f'{c}:1' for c in CLASSES[:number])] * bool(number)
        ),
    )
    before = len(client.database.engine._compiled_cache or ())
    for numbers in itertools.product(range(5), repeat=3):
        parts = [
            part for kind, number in zip(kinds, numbers, strict=True) for part in kind(number)
        ]
        assert ask(client, '&'.join(parts)).status == 200
    assert len(client.database.engine._compiled_cache or ()) - before < 60
