# SPDX-License-Identifier: Apache-2.0
"""Moving inventory that is in use (specification: reshaper)."""

from collections.abc import Mapping
from typing import Any

import pytest

from placement import errors
from placement.objects.allocation import AllocationList
from placement.objects.claim import Claim
from placement.objects.usage import UsageList
from placement.schemas.not_sent import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of

# By the name of the provider, the generation that the client read, and the inventories.
Inventories = Mapping[str, tuple[int, Mapping[str, Any]]]

MOVED: Inventories = {
    'p': (5, {'DISK_GB': 2000}),
    'q': (0, {'VCPU': 10}),
}


def reshape(cloud: Cloud, inventories: Inventories, *claims: Claim) -> None:
    AllocationList.reshape(
        cloud.context,
        {
            uuid_of(name): (generation, cloud.inventories(**wanted))
            for name, (generation, wanted) in inventories.items()
        },
        claims,
    )


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """The example: p at 5 with three consumers, below it q at 0 with nothing.

    Specification: reshaper, "Example".
    """
    cloud.add('p', VCPU=10, DISK_GB=2000)
    cloud.add('q', parent='p')
    cloud.take('a', {'p': {'DISK_GB': 1000}})
    cloud.take('b', {'p': {'VCPU': 6}})
    cloud.take('c', {'p': {'VCPU': 1, 'DISK_GB': 20}})
    cloud.give('p', VCPU=10, DISK_GB=2000)
    assert (cloud.generation('p'), cloud.generation('q')) == (5, 0)
    return cloud


def test_a_refused_reshape_leaves_nothing_and_succeeds_once_it_fits(cloud: Cloud) -> None:
    before = cloud.everything()
    claims = [
        cloud.claim('a', {'p': {'DISK_GB': 1000}}, 1),
        cloud.claim('b', {'q': {'VCPU': 8}}, 1),
        cloud.claim('c', {'p': {'DISK_GB': 20}, 'q': {'VCPU': 1}}, 1),
        cloud.claim('new', {'q': {'VCPU': 2}}, None, project='r', consumer_type='INSTANCE'),
    ]

    with pytest.raises(errors.CapacityExceeded):
        reshape(cloud, MOVED, *claims)
    assert cloud.everything() == before

    reshape(cloud, {**MOVED, 'q': (0, {'VCPU': 11})}, *claims)
    (usage,) = UsageList.list_by_provider(cloud.context, cloud.provider('q'))
    assert usage.used == 11


def test_a_reshape_costs_the_same_for_many_consumers(cloud: Cloud) -> None:
    cloud.add('r', VCPU=1000)

    def cost(count: int) -> int:
        claims = [
            cloud.claim(f'{count}-{number}', {'r': {'VCPU': 1}}, NOT_SENT)
            for number in range(count)
        ]
        with cloud.statements() as statements:
            reshape(cloud, {'r': (cloud.generation('r'), {'VCPU': 1000})}, *claims)
        return len(statements)

    assert cost(2) == cost(30)
