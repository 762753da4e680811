# SPDX-License-Identifier: Apache-2.0
"""What has to be there before any functional test begins."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine

from .fixtures import applications, databases
from .fixtures.client import Client


def pytest_configure(config: pytest.Config) -> None:
    """Fail at once, and say so, when the server that was asked for is not there."""
    try:
        databases.check_server()
    except sa.exc.DBAPIError as error:
        raise pytest.UsageError(f'{databases.VARIABLE} names no server: {error.orig}') from None


@pytest.fixture
def stored() -> Iterator[databases.Database]:
    """A database with the standard traits and classes and nothing else."""
    database = databases.create()
    yield database
    database.drop()


@pytest.fixture
def url(stored: databases.Database) -> str:
    """The URL of such a database."""
    return stored.url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """The connections to such a database."""
    database = Database(create_engine(url))
    yield database
    database.dispose()


@pytest.fixture
def options() -> applications.Options:
    """The options of `service`, where they are not the defaults."""
    return {}


@pytest.fixture
def service(options: applications.Options) -> Iterator[applications.Service]:
    """A service with a database of its own."""
    service = applications.Service(options)
    yield service
    service.stop()


@pytest.fixture
def client(service: applications.Service) -> Client:
    """A client of `service`."""
    return Client(service.application)


@pytest.fixture
def execute(service: applications.Service) -> Callable[[str], None]:
    """A function that runs a statement on the database of `service`."""

    def run(statement: str) -> None:
        with service.engine.begin() as connection:
            connection.execute(sa.text(statement))

    return run
