# SPDX-License-Identifier: Apache-2.0
"""A cloud of two zones with few servers, for questions about places."""

from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.audit import clouds, nova
from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.client import Client

ZONES = ['a1000000-0000-4000-8000-00000000000a', 'a2000000-0000-4000-8000-00000000000b']
HOST = {'VCPU': 16}
SMALL = nova.flavor(4, 0, 0, name='m1.small')
LARGE = nova.flavor(12, 0, 0, name='m1.large')


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Three hosts of 16 processors, two of them in az1 and one in az2; a server of 12 is on the
    first, one of 4 on each of the first two."""
    with clouds.running_cloud() as cloud:
        cloud.nova.flavors += [SMALL, LARGE]
        for name, zone in (('c1', 0), ('c2', 0), ('c3', 1)):
            uuid = cloud.provider(name, HOST, aggregates=(ZONES[zone],), uuid=cloud.new_uuid())
            cloud.nova.hypervisors[uuid] = name
        cloud.nova.aggregates += [
            nova.aggregate(ZONES[0], 'az1', 'az1', 'c1', 'c2'),
            nova.aggregate(ZONES[1], 'az2', 'az2', 'c3'),
        ]
        c1, c2, _c3 = cloud.nova.hypervisors
        cloud.server('c1', {c1: {'VCPU': 12}}, LARGE, 'db-1')
        cloud.server('c1', {c1: {'VCPU': 4}}, SMALL, 'web-1')
        cloud.server('c2', {c2: {'VCPU': 4}}, SMALL, 'web-2')
        yield cloud


@pytest.fixture
def openstack(cloud: Cloud) -> Client:
    """The client of an administrator of the cloud and its nova."""
    return cloud.openstack
