# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of middleware."""

import pytest
from oslo_config import cfg

from placement.tests.unit.middleware.samples import configuration


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return configuration()
