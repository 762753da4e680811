# SPDX-License-Identifier: Apache-2.0
"""`openstack placement unmet demand list`."""

import pytest

from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

LIST = ('placement', 'unmet', 'demand', 'list')
COLUMNS = ['times', 'last_at', 'verdict', 'query', 'reason', 'request_ids']
REQUEST = 'req-0d5c1a4e-3a52-4f7a-9c7b-1f0f6a3c2b11'
OTHER = 'req-5b2f6c1d-1111-4222-8333-944445555666'

REFUSED = 'req-7c1f6c1d-1111-4222-8333-944445555777'


@pytest.fixture(autouse=True)
def searches_in_vain(service: Service) -> None:
    """Two requests of nova, one of which asks twice."""
    for amount, identity in ((8, REQUEST), (8, REQUEST), (16, OTHER)):
        Cloud(service).search(f'resources=VCPU:{amount}', identity)


def test_searches_in_vain_are_listed_with_how_often_and_why(openstack: Client) -> None:
    once, twice = openstack(*LIST, '--sort-column', 'times', '-f', 'json').values()

    assert list(twice) == COLUMNS
    assert (twice['query'], twice['times']) == ('resources=VCPU:8', 2)
    assert twice['verdict'] == 'infeasible'
    assert 'there are no resource providers' in twice['reason']
    assert twice['request_ids'] == [REQUEST]
    assert (once['query'], once['times']) == ('resources=VCPU:16', 1)


def test_the_searches_of_one_request_are_listed_one_by_one(openstack: Client) -> None:
    found = openstack(*LIST, '--request', REQUEST, '-f', 'json').values()

    assert [(one['query'], one['times']) for one in found] == [('resources=VCPU:8', 1)] * 2


def test_names_that_do_not_exist_are_listed(openstack: Client, service: Service) -> None:
    for query in ('resources=VCPU:1&required=!CUSTOM_GONE', 'resources=CUSTOM_CARD:1'):
        with pytest.raises(AssertionError, match='No such'):
            Cloud(service).search(query, REFUSED)

    names = openstack(*LIST, '--unknown-names', '-f', 'json').values()
    assert [list(one) for one in names] == [['times', 'last_at', 'kind', 'name']] * 2
    assert [(one['kind'], one['name'], one['times']) for one in names] == [
        ('resource_class', 'CUSTOM_CARD', 1),
        ('trait', 'CUSTOM_GONE', 1),
    ]
    found = openstack(*LIST, '--request', REFUSED, '-f', 'json').values()
    assert {one['verdict'] for one in found} == {'refused'}
    refusal = openstack('allocation', 'candidate', 'explain', '--request', REFUSED).refusal()
    assert 'CUSTOM_CARD' in refusal


def test_only_what_was_searched_for_since_a_time_is_listed(openstack: Client) -> None:
    assert openstack(*LIST, '--since', '2100-01-01', '-f', 'json').values() == []
