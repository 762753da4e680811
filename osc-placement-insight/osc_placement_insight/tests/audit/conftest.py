# SPDX-License-Identifier: Apache-2.0
"""A cloud for each test."""

from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.clouds import Cloud


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with clouds.running_cloud() as cloud:
        yield cloud
