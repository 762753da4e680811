# SPDX-License-Identifier: Apache-2.0
"""The service in this process, for clients of the benchmark."""

import pathlib
from collections.abc import Callable, Iterator

import pytest

from benchmarks.in_process import InProcess
from placement import conf as placement_conf
from placement import deploy
from placement.db.engine.database import Database

Serve = Callable[[str], tuple[InProcess, str]]


@pytest.fixture
def serve(tmp_path: pathlib.Path) -> Iterator[Serve]:
    """Makes the service on a database of its own: a client, and the URL of the database."""
    databases: list[Database] = []

    def make(name: str) -> tuple[InProcess, str]:
        conf = placement_conf.ConfigOpts()
        placement_conf.register_opts(conf)
        url = f'sqlite:///{tmp_path}/{name}.sqlite'
        conf.set_override('connection', url, 'placement_database')
        conf.set_override('auth_strategy', 'noauth2', 'api')
        conf.set_override('sync_on_startup', True, 'placement_database')
        conf.set_override('enforce_new_defaults', False, 'oslo_policy')
        conf([], project='placement', default_config_files=[])
        databases.append(Database.from_conf(conf))
        return InProcess(deploy.application_on(databases[-1], conf)), url

    yield make
    for database in databases:
        database.dispose()
