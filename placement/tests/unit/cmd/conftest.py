# SPDX-License-Identifier: Apache-2.0
"""A database in a file that the commands find through their environment."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from oslo_log import log

from placement.cmd import manage
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables


class Outcome(NamedTuple):
    """The exit status of a command of `placement-manage`, and what it wrote."""

    status: int
    printed: str
    complained: str


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a file that is not there yet; no other configuration is found."""
    url = f'sqlite:///{tmp_path}/placement.db'
    monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', url)
    monkeypatch.setenv('HOME', str(tmp_path))
    return url


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    """An engine for that file, still without any table."""
    engine = create_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `placement-manage` with the words given."""
    # It would replace the handlers that catch what is logged.
    monkeypatch.setattr(log, 'setup', lambda *_args: None)

    def run_command(*words: str) -> Outcome:
        try:
            status = manage.main(words)
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        return Outcome(status, *capsys.readouterr())

    return run_command


@pytest.fixture
def old_data(database: Database) -> Database:
    """Three providers without a root, and four allocations of two consumers without a record."""
    providers = [{'uuid': f'uuid {number}', 'name': f'name {number}'} for number in range(3)]
    allocations = [
        {'resource_provider_id': 1, 'consumer_id': uuid, 'resource_class_id': number, 'used': 1}
        for uuid in ('c1', 'c2')
        for number in (0, 1)
    ]
    with database.engine.begin() as connection:
        connection.execute(sa.insert(tables.resource_providers), providers)
        connection.execute(sa.insert(tables.allocations), allocations)
    return database
