# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk are each of one moment, whatever is written meanwhile."""

import concurrent.futures
import json
import random
from typing import Any

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.insight.bulk import pages as cloud
from placement.insight.bulk.statements import SummedBy
from placement.microversions import NEWEST

from .fixtures import applications
from .fixtures.client import Client
from .fixtures.freshness_workload import Workload

WRITES = 80
SEED = 5
INSIGHT = applications.insight_options('on')


def test_a_position_beyond_all_ids_is_no_error(database: Database) -> None:
    context = RequestContext(database)
    for by in SummedBy:
        assert cloud.list_usage_sums(context, by, 10**18 - 1, 10) == cloud.Page([], False)


INCLUDED = 'inventories,usages,traits,aggregates,allocations'

# The cloud at one moment: each provider, as an element of a page shows it, by its uuid.
Moment = dict[str, dict[str, Any]]
# The amounts of each consumer on each provider.
Held = dict[tuple[str, str], dict[str, int]]


def test_pages_are_what_the_requests_for_each_provider_say_of_one_moment(url: str) -> None:
    """Somebody writes, and asks for everything after each write; somebody else reads pages."""
    with applications.serving(url) as writer, applications.serving(url, INSIGHT) as reader:
        chance = random.Random(SEED)
        moments: list[Moment] = [moment_of(writer)]
        pages, held, trees = [], [], []
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write, writer, moments)
            while not writing.done():
                limit, first = chance.choice([3, 1000]), len(moments) - 1
                page = page_of(reader, limit)
                # A write that nobody has asked about yet may be in it.
                pages.append((page, limit, first, len(moments) + 1))
                first = len(moments) - 1
                held.append((held_by_consumers(reader), first, len(moments) + 1))
                first = len(moments) - 1
                trees.append((sums_by_root(reader), first, len(moments) + 1))
            writing.result()

    for page, limit, first, end in pages:
        expected = [[moment[uuid] for uuid in sorted(moment)][:limit] for moment in moments]
        assert page in expected[first:end]
    for held_now, first, end in held:
        assert held_now in [held_of(moment) for moment in moments[first:end]]
    for sums, first, end in trees:
        assert sums in [sums_of(moment) for moment in moments[first:end]]
    assert len({json.dumps(page) for page, *_ in pages}) > WRITES / 8, 'next to nothing was read'


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


def held_by_consumers(client: Client) -> Held:
    """Return what each consumer holds of each provider, as one page of consumers shows it."""
    answer = client.send('GET', '/insight/consumers?page_limit=1000', version=NEWEST)
    assert answer.status == 200, answer.text
    return {
        (consumer['uuid'], provider): allocation['resources']
        for consumer in answer.json['consumers']
        for provider, allocation in consumer['allocations'].items()
    }


def sums_by_root(client: Client) -> dict[str, Any]:
    """Return the sums of each tree by its root, as one page shows them."""
    path = '/insight/providers?by=root&page_limit=1000'
    answer = client.send('GET', path, version=NEWEST)
    assert answer.status == 200, answer.text
    return {
        tree['root']['uuid']: (tree['providers'], tree['resources'])
        for tree in answer.json['trees']
    }


def sums_of(moment: Moment) -> dict[str, Any]:
    """Return the same of a moment."""
    trees: dict[str, Any] = {}
    for provider in moment.values():
        count, sums = trees.get(provider['root_provider_uuid'], (0, {}))
        for name, inventory in provider['inventories'].items():
            spare = inventory['total'] - inventory['reserved']
            capacity, used = int(spare * inventory['allocation_ratio']), provider['usages'][name]
            amounts = (capacity, used, max(capacity - used, 0))
            members = ('capacity', 'used', 'free')
            before = sums.get(name, dict.fromkeys(members, 0))
            sums[name] = {
                member: before[member] + amount
                for member, amount in zip(members, amounts, strict=True)
            }
        trees[provider['root_provider_uuid']] = (count + 1, sums)
    return trees


def held_of(moment: Moment) -> Held:
    """Return the same of a moment."""
    return {
        (consumer, uuid): allocation['resources']
        for uuid, provider in moment.items()
        for consumer, allocation in provider['allocations'].items()
    }


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
