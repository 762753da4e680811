# SPDX-License-Identifier: Apache-2.0
"""The configuration for the tests beside this file."""

import pytest

from placement import conf as placement_conf
from placement.conf import ConfigOpts


@pytest.fixture(scope='session')
def conf() -> ConfigOpts:
    """The defaults of every option, with a database in memory."""
    conf = ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('connection', 'sqlite://', 'placement_database')
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    return conf
