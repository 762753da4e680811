# SPDX-License-Identifier: Apache-2.0
"""What a client sees of a search that was cut by its budget."""

import logging
from collections.abc import Iterator

import pytest

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Client

CLOUD: clouds.Cloud = tuple(clouds.Provider(f'host{number}', {'VCPU': 8}) for number in range(20))
QUERY = '/allocation_candidates?resources=VCPU:1'


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A service with a cloud, whose searches have the budget of the test."""
    service = applications.Service(
        {('placement', 'search_budget'): request.param, ('placement', 'log_searches'): 'empty'}
    )
    client = Client(service.application)
    clouds.build(CLOUD, client)
    yield client
    service.stop()


@pytest.mark.parametrize('client', [1], indirect=True)
@pytest.mark.parametrize('version', ['1.10', NEWEST])
def test_cut_search_without_candidates_says_incomplete(
    client: Client, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answer = client.send('GET', QUERY, version=version)
    assert answer.status == 200
    assert answer.json == {'allocation_requests': [], 'provider_summaries': {}}
    assert answer.headers['openstack-placement-search'] == 'incomplete'
    warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert len(warnings) == 1
    message = warnings[0].getMessage()
    assert answer.headers['x-openstack-request-id'] in message
    assert 'the search budget was spent after ' in message


@pytest.mark.parametrize('client', [30], indirect=True)
def test_cut_search_returns_what_it_found(client: Client) -> None:
    answer = client.send('GET', QUERY, version=NEWEST)
    assert 0 < len(answer.json['allocation_requests']) < 20
    assert 'openstack-placement-search' not in answer.headers


@pytest.mark.parametrize('client', [0, 10_000], indirect=True)
def test_search_within_its_budget_is_whole(client: Client) -> None:
    answer = client.send('GET', QUERY, version=NEWEST)
    assert len(answer.json['allocation_requests']) == 20
    assert 'openstack-placement-search' not in answer.headers
    empty = client.send('GET', '/allocation_candidates?resources=VCPU:9', version=NEWEST)
    assert empty.json['allocation_requests'] == []
    assert 'openstack-placement-search' not in empty.headers
