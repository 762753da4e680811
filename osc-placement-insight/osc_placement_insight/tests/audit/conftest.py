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
    return clouds.client_of(cloud.endpoint, cloud.nova_endpoint)
