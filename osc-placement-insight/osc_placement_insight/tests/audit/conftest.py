# SPDX-License-Identifier: Apache-2.0
"""A cloud for each test, and a client of it."""

from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.client import Client


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with clouds.running_cloud() as cloud:
        yield cloud


@pytest.fixture
def operator(cloud: Cloud) -> Client:
    """The client of an administrator, with nova at an address of its own."""
    return Client(
        {
            'OS_AUTH_TYPE': 'admin_token',
            'OS_ENDPOINT': cloud.endpoint,
            'OS_TOKEN': 'admin',
            'OS_COMPUTE_ENDPOINT_OVERRIDE': cloud.nova_endpoint,
        }
    )
