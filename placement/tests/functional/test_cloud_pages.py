# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk are each of one moment, whatever is written meanwhile."""

import concurrent.futures
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from placement import deploy
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.statements.consumer_pages import ConsumerFilters
from placement.db.statements.usage_sums import SummedBy
from placement.history import NEWEST
from placement.insight.questions import Insight
from placement.objects import aggregate, cloud, trait
from placement.objects.resource_provider import ProviderFilters
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import applications, freshness
from .fixtures.client import Client

HOSTS = tuple(f'host{number}' for number in range(6))
SERVERS = tuple(f'server{number}' for number in range(4))
MOVES = 60


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


def test_a_page_says_what_the_requests_for_each_provider_say(url: str, database: Database) -> None:
    client = Client(
        deploy.application_on(
            database, applications.configured(url, applications.insight_options('on'))
        )
    )
    described = Cloud(database)
    for number, host in enumerate(HOSTS[::2]):
        provider = described.provider(host)
        names = ['HW_CPU_X86_AVX2', 'COMPUTE_NODE'][number % 2 :]
        trait.replace(described.context, provider, names, provider.generation)
        racks = [uuid_of('rack'), uuid_of(host)][number % 2 :]
        aggregate.replace(described.context, provider, racks, None)
    described.give(HOSTS[0], VCPU={'total': 100, 'allocation_ratio': 1.5}, DISK_GB=10)
    described.add('child', parent=HOSTS[1], SRIOV_NET_VF={'total': 9, 'max_unit': 3})
    # Everybody's requests are compared where nobody wrote between two equal pages.
    compared = 0
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        writer = pool.submit(move, url, 0)
        while True:
            is_last = writer.done()
            before = page_of(client)
            single = {uuid: requests_of(client, uuid) for uuid in before}
            if page_of(client) == before:
                assert before == single
                compared += 1
            if is_last:
                break
        writer.result()

    assert compared, 'nothing was compared'


def page_of(client: Client) -> dict[str, Any]:
    answer = client.send('GET', f'/insight/providers?include={INCLUDED}', version=NEWEST)
    assert answer.status == 200
    return {provider['uuid']: provider for provider in answer.json['providers']}


def requests_of(client: Client, uuid: str) -> dict[str, Any]:
    """What the API says of a provider, in the shape of an element of a page."""
    path = f'/resource_providers/{uuid}'
    provider: dict[str, Any] = client.send('GET', path, version=NEWEST).json
    del provider['links']
    for name in INCLUDED.split(','):
        provider[name] = client.send('GET', f'{path}/{name}', version=NEWEST).json[name]
    provider['aggregates'].sort()
    return provider
