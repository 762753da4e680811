# SPDX-License-Identifier: Apache-2.0
"""Claims of a process that remembers ids, beside others that change what they mean."""

import pytest

from placement import errors
from placement.objects import allocation
from placement.tests.unit.objects.cloud import Cloud, uuid_of


def consumers_of(cloud: Cloud, provider: str) -> list[str]:
    rows = allocation.list_by_provider(cloud.context, cloud.provider(provider))
    return sorted(row.consumer_uuid for row in rows)


def test_a_claim_for_a_deleted_provider_does_not_reach_the_one_with_its_id(cloud: Cloud) -> None:
    cloud.add('gone', VCPU=8)
    cloud.write(cloud.claim('first', {'gone': {'VCPU': 1}}, None))
    cloud.write(cloud.claim('first', {}, 1))
    gone_id = cloud.provider('gone').id
    cloud.provider('gone').destroy()
    cloud.add('new', VCPU=8)
    assert cloud.provider('new').id == gone_id, 'SQLite gives the highest id again'

    with pytest.raises(errors.UnknownAllocationProvider):
        cloud.write(cloud.claim('second', {'gone': {'VCPU': 1}}, None))
    cloud.write(cloud.claim('second', {'new': {'VCPU': 1}}, None))
    assert consumers_of(cloud, 'new') == [uuid_of('second')]


def test_a_failed_claim_leaves_no_owner_behind(cloud: Cloud) -> None:
    cloud.add('host', VCPU=1)
    for _ in range(2):
        with pytest.raises(errors.CapacityExceeded):
            cloud.write(
                cloud.claim(
                    'large',
                    {
                        'host': {'VCPU': 1},
                    },
                    None,
                    consumer_type='BIG',
                ),
                cloud.claim('larger', {'host': {'VCPU': 1}}, None, consumer_type='BIG'),
            )
    cloud.write(cloud.claim('large', {'host': {'VCPU': 1}}, None, consumer_type='BIG'))
    _rows, consumer = allocation.list_by_consumer(cloud.context, uuid_of('large'))
    assert consumer is not None
    assert consumer.consumer_type == 'BIG'
