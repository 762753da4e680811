# SPDX-License-Identifier: Apache-2.0
"""Databases on the servers that the Makefile names."""

import os
from collections.abc import Iterator

import pytest

from placement.tests.functional.fixtures import databases

SERVERS = {
    'sqlite': '',
    'mariadb': os.environ.get('PLACEMENT_TEST_MARIADB_URL'),
    'postgresql': os.environ.get('PLACEMENT_TEST_POSTGRESQL_URL'),
}


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[databases.Database]:
    """An empty database on the server that is the parameter."""
    url = SERVERS[request.param]
    assert url is not None, f'no URL of a {request.param} server: the Makefile has one'
    empty = databases.create_empty(url)
    yield empty
    empty.drop()
