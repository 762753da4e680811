# SPDX-License-Identifier: Apache-2.0
"""What several tests of middleware need."""

import pytest
from oslo_config import cfg

from placement.tests.unit.middleware.samples import configuration


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return configuration()
