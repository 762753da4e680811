# SPDX-License-Identifier: Apache-2.0
"""The configuration for the tests beside this file."""

import pytest

from placement.conf import ConfigOpts
from placement.tests.unit.middleware.samples import configuration


@pytest.fixture(scope='session')
def conf() -> ConfigOpts:
    """The defaults of every option, with a database in memory."""
    return configuration()
