# SPDX-License-Identifier: Apache-2.0
"""Fixtures that restore process state after each unit test, and fixtures of several folders."""

import logging
import pathlib
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from placement.db.engine.database import Database
from placement.db.schema import migration
from placement.metrics.recorder import Recorder
from placement.tests.opened import database_on
from placement.tests.unit.middleware.samples import configuration


@pytest.fixture(autouse=True)
def logging_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the logging of the process after a test."""
    monkeypatch.setattr(sys, 'excepthook', sys.excepthook)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    """The defaults of every option, with a database in memory."""
    return configuration()


@pytest.fixture
def database(engine: sa.Engine) -> Database:
    """A database that has the newest schema and no rows; each folder has its own engine."""
    migration.sync(engine)
    return database_on(engine)


@pytest.fixture
def recorder(tmp_path: pathlib.Path) -> Iterator[Recorder]:
    """A recorder on an empty directory."""
    recorder = Recorder(str(tmp_path))
    yield recorder
    recorder.close()
