# SPDX-License-Identifier: Apache-2.0
"""Requests that gabbi cannot send, without the headers that every HTTP library adds."""

from collections.abc import Iterator

import pytest

from .fixtures import applications
from .fixtures.client import Client


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    service = applications.Service()
    yield Client(service.application, {'x-auth-token': 'admin'})
    service.stop()


def test_request_without_accept_header_gets_json(client: Client) -> None:
    assert client.send('GET', '/resource_providers').json == {'resource_providers': []}
    answer = client.send('GET', '/resource_providers/pony')
    assert answer.json['errors'][0]['status'] == 404


def test_empty_path_is_the_root_and_needs_a_token(client: Client) -> None:
    assert client.send('GET', '', headers={'x-auth-token': None}).status == 401
    assert client.send('GET', '').json['versions'][0]['id'] == 'v1.0'


def test_response_to_head_has_no_body(client: Client) -> None:
    answer = client.send('HEAD', '/resource_providers')
    assert (answer.status, answer.headers['allow'], answer.body) == (405, 'GET, POST', b'')


def test_content_length_of_zero_needs_no_content_type(client: Client) -> None:
    answer = client.send('PUT', '/traits/CUSTOM_A', version='1.6', headers={'content-length': '0'})
    assert answer.status == 201


def test_body_that_ends_early_is_refused(client: Client) -> None:
    headers = {'content-length': '1000'}
    answer = client.send('POST', '/resource_providers', b'{"name": "a"}', headers=headers)
    assert 400 <= answer.status < 500


def test_service_reads_a_body_no_further_than_its_length(client: Client) -> None:
    body = b'{"name": "exact"}'
    headers = {'content-length': str(len(body))}
    answer = client.send('POST', '/resource_providers', body + b'garbage', headers=headers)
    assert answer.status == 201


def test_every_request_has_its_own_id(client: Client) -> None:
    answers = [client.send('GET', '/') for _ in range(10)]
    assert len({answer.headers['x-openstack-request-id'] for answer in answers}) == 10
