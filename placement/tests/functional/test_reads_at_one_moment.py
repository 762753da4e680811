# SPDX-License-Identifier: Apache-2.0
"""Answers that join several statements are of one moment."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Client

HOST = f'/resource_providers/{clouds.uuid_of("host")}'

#: Changes the generation of the host, and what one of its paths shows.
Change = Callable[[Client], int]


def get(client: Client, path: str) -> Any:
    return client.send('GET', path, version=NEWEST).json


def put(path: str, body: dict[str, Any]) -> Change:
    def change(client: Client) -> int:
        body['resource_provider_generation'] = get(client, HOST)['generation']
        return client.send('PUT', f'{HOST}/{path}', body, version=NEWEST).status

    return change


#: What changes while a path is read. Each change may happen once.
CHANGES: dict[str, Change] = {
    'inventories': put('inventories', {'inventories': {'VCPU': {'total': 7}}}),
    'inventories/VCPU': put('inventories', {'inventories': {'VCPU': {'total': 7}}}),
    'traits': put('traits', {'traits': ['HW_CPU_X86_VMX']}),
    'aggregates': put('aggregates', {'aggregates': [clouds.uuid_of('rack')]}),
    'usages': lambda client: clouds.put_claim(client, 'consumer').status,
    'allocations': lambda client: clouds.put_claim(client, 'consumer').status,
}


@pytest.fixture
def workers(service: applications.Service) -> Iterator[tuple[Client, Client, Any]]:
    """A worker that reads, one that writes, and the engine of the first."""
    url = service.database.url
    options = applications.insight_options('on')
    with (
        applications.serving(url, options) as reader,
        applications.serving(url, options) as writer,
    ):
        yield reader, writer, reader.database.engine


@pytest.mark.parametrize('path', CHANGES)
def test_a_generation_is_that_of_what_is_beside_it(
    workers: tuple[Client, Client, Any], path: str
) -> None:
    reader, writer, engine = workers
    clouds.build((clouds.Provider('host', {'VCPU': 9}),), writer)
    statuses: list[int] = []

    def change(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        if 'resource_providers' in text and not statuses:
            statuses.append(CHANGES[path](writer))

    before = get(reader, f'{HOST}/{path}')
    sa.event.listen(engine, 'after_cursor_execute', change)
    during, after = (get(reader, f'{HOST}/{path}') for _ in range(2))

    assert statuses in ([200], [204])
    assert before != after
    assert during in (before, after)


def test_sums_of_unmet_demand_are_those_of_what_is_listed(
    workers: tuple[Client, Client, Any],
) -> None:
    reader, writer, engine = workers
    searches = (f'/allocation_candidates?resources=VCPU:{amount}' for amount in itertools.count(1))

    def search_in_vain() -> None:
        assert get(writer, next(searches))['provider_summaries'] == {}
        get(writer, '/insight/unmet_demand')

    is_read: list[bool] = []

    def search_between(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        if 'ORDER BY placement_unmet_demand.id DESC' in text and not is_read:
            is_read.append(True)
            search_in_vain()

    search_in_vain()
    sa.event.listen(engine, 'after_cursor_execute', search_between)
    answer = get(reader, '/insight/unmet_demand')

    assert is_read
    assert len(answer['unmet_demand']) == sum(answer['sums'].values())
