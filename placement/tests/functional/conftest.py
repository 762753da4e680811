# SPDX-License-Identifier: Apache-2.0
"""Prerequisites of all functional tests."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine import lock_waits, timeouts
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.tests.opened import database_on

from .fixtures import applications, databases
from .fixtures.client import Client


def pytest_configure(config: pytest.Config) -> None:
    """Exit with a message if the requested database server is not reachable."""
    try:
        databases.check_server()
    except sa.exc.DBAPIError as error:
        raise pytest.UsageError(f'{databases.VARIABLE} names no server: {error.orig}') from None


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeouts of writes to the time of a transaction on a busy machine.

    A service refuses writes of a row that did not change for two seconds, and waits for a lock of
    a server for five. A COMMIT on a slow disk can take as long, and tests without other programs
    that lock rows expect no refusal.
    """
    monkeypatch.setattr(timeouts, 'SERVER_LOCK_SECONDS', 25)
    monkeypatch.setattr(lock_waits, 'LOOK_SECONDS', 60)
    monkeypatch.setattr(lock_waits, 'MAX_WAIT_SECONDS', 120)


@pytest.fixture
def brief_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeouts of brief transactions, in tests that expect all of them to succeed."""
    monkeypatch.setattr(timeouts, 'BRIEF_LOCK_SECONDS', 60)
    monkeypatch.setattr(timeouts, 'BRIEF_RESPONSE_SECONDS', 60)


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
    database = database_on(create_engine(url))
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
