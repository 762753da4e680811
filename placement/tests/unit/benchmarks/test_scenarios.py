# SPDX-License-Identifier: Apache-2.0
"""What the benchmark does to a service: clouds arrive as they were meant, work leaves no trace."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import clouds, loading
from benchmarks.client import Client
from benchmarks.scenarios import claims, reads, search
from benchmarks.scenarios.base import number_of_items
from placement.tests.unit.benchmarks.conftest import Serve

PARTS = ('inventories', 'traits', 'aggregates', 'usages')
PARTS_OF_MIXED = (clouds.flat(3), clouds.trees(2), clouds.wide(2))
MIXED = clouds.Cloud(
    'mixed',
    tuple(provider for part in PARTS_OF_MIXED for provider in part.providers),
    tuple(consumer for part in PARTS_OF_MIXED for consumer in part.consumers),
)


def described(client: Client, cloud: clouds.Cloud) -> list[Any]:
    """Everything about the providers of a cloud but their generations."""
    found = []
    for provider in cloud.providers:
        path = f'/resource_providers/{provider.uuid}'
        values = [client.get(path).json()]
        values += [client.get(f'{path}/{part}').json() for part in PARTS]
        values.append(sorted(client.get(f'{path}/allocations').json()['allocations']))
        found.append(values)
    return [without_generations(values) for values in found]


def without_generations(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: without_generations(part)
            for name, part in value.items()
            if not name.endswith('generation')
        }
    if isinstance(value, list):
        return sorted(map(without_generations, value), key=repr)
    return value


def test_loading_as_rows_and_through_the_api_makes_the_same_cloud(serve: Serve) -> None:
    through_api, _url = serve('api')
    loading.load_through_api(through_api, MIXED)
    as_rows, url = serve('rows')
    loading.load_as_rows(url, MIXED)
    assert described(as_rows, MIXED) == described(through_api, MIXED)


@pytest.mark.parametrize(('size', 'make', 'found'), [(3, clouds.flat, 3), (2, clouds.trees, 4)])
def test_search_finds_all_candidates(
    serve: Serve, size: int, make: Callable[[int], clouds.Cloud], found: int
) -> None:
    client, url = serve('search')
    loading.load_as_rows(url, make(size))
    query = search.SERVER if make is clouds.flat else search.GRANULAR
    answer = client.get(f'/allocation_candidates?{query}')
    assert number_of_items(answer) == found


@pytest.mark.parametrize(('groups', 'found'), [(3, 6), (4, 0)])
def test_a_wide_host_fits_exactly_as_many_groups_as_it_has_children(
    serve: Serve, groups: int, found: int
) -> None:
    client, url = serve('wide')
    loading.load_as_rows(url, clouds.wide(3))
    query = '&'.join(f'resources{number}=VGPU:1' for number in range(1, groups + 1))
    answer = client.get(f'/allocation_candidates?{query}&group_policy=none')
    assert number_of_items(answer) == found


def test_claims_leave_the_cloud_as_it_was(serve: Serve) -> None:
    client, url = serve('claims')
    loading.load_as_rows(url, clouds.flat(100))
    everywhere = '/allocation_candidates?resources=VCPU:1'
    before = client.get(everywhere).json()['provider_summaries']
    for scenario in claims.scenarios([100]):
        work = scenario.work(0)
        work.prepare(client)
        work.run(client)
        work.run(client)
        work.finish(client)
    assert client.get(everywhere).json()['provider_summaries'] == before
    assert max(client.statuses) < 300


def test_every_read_is_answered(serve: Serve) -> None:
    client, url = serve('reads')
    loading.load_as_rows(url, clouds.flat(100))
    answers = {s.name: s.work(0).run(client) for s in reads.scenarios([100])}
    items = {name: number_of_items(answer) for name, answer in answers.items()}
    assert items['list all'] == items['list with resources'] == 100
    assert items['list member_of'] == clouds.HOSTS_PER_AGGREGATE
    assert items['list in_tree'] == items['list by name'] == 1
