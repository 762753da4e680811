# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk are each of one moment, whatever is written meanwhile."""

import concurrent.futures
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.statements.consumer_pages import ConsumerFilters
from placement.db.statements.usage_sums import SummedBy
from placement.history import NEWEST
from placement.insight.questions import Insight
from placement.objects import cloud
from placement.objects.resource_provider import ProviderFilters
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import applications, freshness
from .fixtures.client import Client
from .fixtures.freshness_workload import Workload

HOSTS = tuple(f'host{number}' for number in range(6))
SERVERS = tuple(f'server{number}' for number in range(4))
MOVES = 60
WRITES = 80
SEED = 5
INSIGHT = applications.insight_options('on')


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """Hosts, on which each server has two of its amounts on one host and one on another."""
    database = Database(create_engine(url))
    written = Cloud(database)
    for host in HOSTS:
        written.add(host, VCPU=100)
    for number, server in enumerate(SERVERS):
        place(written, server, number)
    yield database
    database.dispose()


def place(written: Cloud, server: str, number: int) -> None:
    """Move a server to two neighbouring hosts."""
    first, second = HOSTS[number % len(HOSTS)], HOSTS[(number + 1) % len(HOSTS)]
    written.take(server, {first: {'VCPU': 2}, second: {'VCPU': 1}})


def move(url: str, seed: int) -> None:
    database = Database(create_engine(url))
    chance, written = random.Random(seed), Cloud(database)
    for _ in range(MOVES):
        place(written, SERVERS[seed], chance.randrange(len(HOSTS)))
    database.dispose()


def test_a_position_beyond_all_ids_is_no_error(database: Database) -> None:
    context = RequestContext(database)
    for by in SummedBy:
        assert cloud.list_usage_sums(context, by, 10**18 - 1, 10) == cloud.Page([], False)


def test_every_server_is_whole_on_every_page(url: str, database: Database) -> None:
    context = RequestContext(database)
    context.attach(database, freshness.unaudited_keeper(database), Insight(database), False)
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(len(SERVERS)) as pool:
        futures = [pool.submit(move, url, seed) for seed in range(len(SERVERS))]
        while not all(future.done() for future in futures):
            page = cloud.list_providers(context, ProviderFilters(), None, 10, True)
            seen.add(checked_providers(page.items))
            consumers = cloud.list_consumers(context, ConsumerFilters(), None, 10)
            for consumer in consumers.items:
                assert sorted(one.used for one in consumer.allocations) == [1, 2]
        for future in futures:
            future.result()

    assert len(seen) > 10, 'next to nothing was read in between'


def checked_providers(items: Sequence[cloud.CloudProvider]) -> tuple[int, ...]:
    """What is used of each host, which is what the consumers on the page hold together."""
    held: dict[str, list[int]] = {}
    usages = []
    for row, record, allocations in items:
        assert allocations is not None
        ((_name, _capacity, used),) = record.inventories
        assert used == sum(one.used for one in allocations), row.name
        usages.append(used)
        for one in allocations:
            held.setdefault(one.consumer_uuid, []).append(one.used)
    assert {uuid: sorted(amounts) for uuid, amounts in held.items()} == {
        uuid_of(server): [1, 2] for server in SERVERS
    }
    return tuple(usages)


INCLUDED = 'inventories,usages,traits,aggregates,allocations'

# The cloud at one moment: each provider, as an element of a page shows it, by its uuid.
Moment = dict[str, dict[str, Any]]


def test_pages_are_what_the_requests_for_each_provider_say_of_one_moment(url: str) -> None:
    """Somebody writes, and asks for everything after each write; somebody else reads pages."""
    with applications.serving(url) as one, applications.serving(url, INSIGHT) as other:
        writer, reader, chance = Client(one), Client(other), random.Random(SEED)
        moments: list[Moment] = [moment_of(writer)]
        pages = []
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write, writer, moments)
            while not writing.done():
                limit, first = chance.choice([3, 1000]), len(moments) - 1
                page = page_of(reader, limit)
                # A write that nobody has asked about yet may be in it.
                pages.append((page, limit, first, len(moments) + 1))
            writing.result()

    for page, limit, first, end in pages:
        expected = [[moment[uuid] for uuid in sorted(moment)][:limit] for moment in moments]
        assert page in expected[first:end]
    assert len({json.dumps(page) for page, *_ in pages}) > WRITES / 4, 'next to nothing was read'


def write(client: Client, moments: list[Moment]) -> None:
    """Write what a client can write, and note what the API says of the cloud after that."""
    workload = Workload(client, SEED)
    for _ in range(WRITES):
        workload.step()
        moments.append(moment_of(client))


def page_of(client: Client, limit: int) -> list[dict[str, Any]]:
    path = f'/insight/providers?include={INCLUDED}&page_limit={limit}'
    answer = client.send('GET', path, version=NEWEST)
    assert answer.status == 200, answer.text
    providers: list[dict[str, Any]] = answer.json['providers']
    return providers


def moment_of(client: Client) -> Moment:
    """What 5N + 1 requests say, while nobody writes."""
    listed = client.send('GET', '/resource_providers', version=NEWEST).json['resource_providers']
    return {provider['uuid']: requests_of(client, provider) for provider in listed}


def requests_of(client: Client, listed: dict[str, Any]) -> dict[str, Any]:
    """What the API says of a provider, in the shape of an element of a page."""
    provider = {name: value for name, value in listed.items() if name != 'links'}
    for name in INCLUDED.split(','):
        path = f'/resource_providers/{provider["uuid"]}/{name}'
        provider[name] = client.send('GET', path, version=NEWEST).json[name]
    provider['aggregates'].sort()
    return provider
