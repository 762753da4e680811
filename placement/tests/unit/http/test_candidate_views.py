# SPDX-License-Identifier: Apache-2.0
"""The JSON of candidates and summaries (specification: allocation_candidates, "Response")."""

import json
from collections.abc import Set
from typing import Any

import pytest

from placement import microversions
from placement.http import candidate_views
from placement.http.microversion import Api, Rule
from placement.http.reply import Reply
from placement.objects.trait import listing_order
from placement.search.candidates import Result
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search

ACTION = 'allocation_candidates.list'
CLOUD = cloud(
    provider('host', traits='HW_B CUSTOM_A', MEMORY_MB=1024, DISK_GB=10),
    provider('host_numa0', 'host', traits='HW_NUMA_ROOT', VCPU=4),
    provider('host_numa1', 'host', VCPU=4, FPGA={'total': 2, 'used': 1}),
    provider('flat', aggregates='rack', VCPU=8, MEMORY_MB=2048),
    provider('disks', traits=SHARING, aggregates='rack', DISK_GB=100),
)
QUERIES = (
    'resources=VCPU:1',
    'resources=VCPU:1,MEMORY_MB:64,DISK_GB:1',
    'resources=VCPU:100',
    'resources1=VCPU:1&resources_B=VCPU:1&group_policy=none',
    'resources1=VCPU:1&required2=CUSTOM_A&same_subtree=1,2&group_policy=none',
)


def values(result: Result, classes: Set[str] | None) -> dict[str, Any]:
    """The answer in the newest shape, value by value."""
    return {
        'allocation_requests': [
            {
                'allocations': {
                    provider.uuid: {'resources': dict(amounts)}
                    for provider, amounts in candidate.allocations.items()
                },
                'mappings': {
                    suffix: [provider.uuid for provider in providers]
                    for suffix, providers in candidate.mappings.items()
                },
            }
            for candidate in result.candidates
        ],
        'provider_summaries': {
            provider.uuid: {
                'resources': {
                    name: {'capacity': capacity.reported_capacity, 'used': used}
                    for name, capacity, used in provider.inventories
                    if classes is None or name in classes
                },
                'traits': sorted(provider.traits, key=listing_order),
                'parent_provider_uuid': provider.parent_uuid,
                'root_provider_uuid': provider.root_uuid,
            }
            for provider in result.providers
        },
    }


def text_of(result: Result, api: Api, classes: Set[str] | None) -> str:
    shape = api.shape(ACTION)
    return b''.join(candidate_views.as_pieces(result, shape, classes).pieces).decode()


@pytest.mark.parametrize('query', QUERIES)
@pytest.mark.parametrize(
    'api',
    [api for api in microversions.APIS.values() if ACTION in api.handlers],
    ids=lambda api: str(api.version),
)
def test_text_is_the_json_of_the_downgraded_values(api: Api, query: str) -> None:
    result = search(CLOUD, query)
    classes = None if api.allows(Rule.SUMMARIES_OF_ALL_CLASSES) else frozenset({'VCPU'})

    shown = api.downgraded(ACTION, Reply(values(result, classes))).body
    # Twice, since summaries are remembered.
    assert text_of(result, api, classes) == text_of(result, api, classes) == json.dumps(shown)


def test_many_candidates_and_summaries_come_in_several_pieces() -> None:
    many = cloud(*(provider(f'host{number}', VCPU=1) for number in range(600)))
    api = microversions.APIS[1, 39]
    result = search(many, 'resources=VCPU:1')
    pieces = candidate_views.as_pieces(result, api.shape(ACTION)).pieces

    assert len(pieces) > candidate_views.FEW_PIECES
    assert b''.join(pieces).decode() == json.dumps(values(result, None))


def test_changed_provider_has_another_summary() -> None:
    api = microversions.APIS[1, 39]
    before: Snapshot = cloud(provider('host', VCPU=4))
    assert '"used": 0' in text_of(search(before, 'resources=VCPU:1'), api, None)

    after = before.with_used({1: {'VCPU': 3}})
    assert '"used": 3' in text_of(search(after, 'resources=VCPU:1'), api, None)
