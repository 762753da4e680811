# SPDX-License-Identifier: Apache-2.0
"""Very old data has allocations of consumers without a record; a write replaces those too.

Specification: data_model, "Consumers that are missing".
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from placement.microversions import NEWEST

from .fixtures import clouds
from .fixtures.client import Answer, Client

HOST, OTHER = clouds.uuid_of('host'), clouds.uuid_of('other')
CONSUMER = 'dddddddd-0000-4000-8000-000000000001'
CLAIM = clouds.claim({HOST: {'VCPU': 1}})


@pytest.fixture(params=['known', 'new'])
def project(request: pytest.FixtureRequest) -> str:
    """A project that another consumer has, or that comes with the claim of a test."""
    return str(request.param)


@pytest.fixture
def holding(client: Client, execute: Callable[[str], None]) -> Client:
    """A client of a cloud in which a consumer without a record holds 3 VCPU of two hosts each."""
    clouds.build(
        (clouds.Provider('host', {'VCPU': 4}), clouds.Provider('other', {'VCPU': 4})), client
    )
    old = clouds.claim({HOST: {'VCPU': 3}, OTHER: {'VCPU': 3}})
    known = clouds.claim({OTHER: {'VCPU': 1}}, project_id='known')
    assert put(client, CONSUMER, old).status == 204
    assert put(client, 'dddddddd-0000-4000-8000-000000000002', known).status == 204
    execute(f"DELETE FROM consumers WHERE uuid = '{CONSUMER}'")
    return client


def put(client: Client, consumer: str, body: Any, version: str = NEWEST) -> Answer:
    return client.send('PUT', f'/allocations/{consumer}', body, version)


def used(client: Client) -> Mapping[str, int]:
    """The VCPU used of each host, by its uuid."""
    paths = {uuid: f'/resource_providers/{uuid}/usages' for uuid in (HOST, OTHER)}
    return {uuid: client.send('GET', path).json['usages']['VCPU'] for uuid, path in paths.items()}


def test_a_put_replaces_what_it_held(holding: Client, project: str) -> None:
    assert put(holding, CONSUMER, {**CLAIM, 'project_id': project}).status == 204

    assert used(holding) == {HOST: 1, OTHER: 1}


def test_a_put_counts_what_it_held_as_given_back(holding: Client, project: str) -> None:
    body = clouds.claim({HOST: {'VCPU': 4}}, project_id=project)

    assert put(holding, CONSUMER, body).status == 204
    assert used(holding) == {HOST: 4, OTHER: 1}


def test_a_put_without_a_generation_replaces_what_it_held(holding: Client, project: str) -> None:
    body = {
        'allocations': [{'resource_provider': {'uuid': HOST}, 'resources': {'VCPU': 1}}],
        'project_id': project,
        'user_id': 'user',
    }

    assert put(holding, CONSUMER, body, '1.8').status == 204
    assert used(holding) == {HOST: 1, OTHER: 1}


def test_a_post_replaces_what_it_held(holding: Client, project: str) -> None:
    body = {
        CONSUMER: {**CLAIM, 'project_id': project},
        'dddddddd-0000-4000-8000-000000000003': CLAIM,
    }

    assert holding.send('POST', '/allocations', body, NEWEST).status == 204
    assert used(holding) == {HOST: 2, OTHER: 1}


def test_a_reshape_replaces_what_it_held(holding: Client, project: str) -> None:
    generation = holding.send('GET', f'/resource_providers/{OTHER}').json['generation']
    record = {
        'resource_provider_generation': generation,
        'inventories': {'VCPU': {'total': 4}},
    }
    body = {
        'inventories': {OTHER: record},
        'allocations': {CONSUMER: {**CLAIM, 'project_id': project}},
    }

    assert holding.send('POST', '/reshaper', body, NEWEST).status == 204
    assert used(holding) == {HOST: 1, OTHER: 1}


def test_an_empty_claim_releases_what_it_held(holding: Client) -> None:
    assert put(holding, CONSUMER, clouds.claim({})).status == 204

    assert used(holding) == {HOST: 0, OTHER: 1}


def test_the_generations_of_its_hosts_tell_of_what_it_gave_back(holding: Client) -> None:
    path = f'/resource_providers/{OTHER}'
    before = holding.send('GET', path).json['generation']
    assert put(holding, CONSUMER, clouds.claim({})).status == 204

    assert holding.send('GET', path).json['generation'] == before + 1
