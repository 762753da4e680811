# SPDX-License-Identifier: Apache-2.0
"""Fixtures that other projects import: a database for as long as a test runs."""

import functools
import os
import sqlite3
import tempfile

import fixtures
import sqlalchemy as sa
from oslo_config import fixture as config_fixture

from placement.db.engine.engines import create_engine
from placement.db.schema import migration, standard_names
from placement.feed.sink import open_database
from placement.tests.opened import database_on

IN_MEMORY = (None, '', ':memory:')


class Database(fixtures.Fixture):
    """A database with its schema and the standard traits and resource classes.

    With ``set_config`` it is a new SQLite file, which is set in ``conf_fixture``. Otherwise it is
    the database in the configuration.  In both cases it outlives the services that are loaded with
    the configuration, so that one can follow another.
    """

    def __init__(self, conf_fixture: config_fixture.Config, set_config: bool = False) -> None:
        super().__init__()
        self.conf_fixture = conf_fixture
        self.set_config = set_config

    def _setUp(self) -> None:
        if self.set_config:
            directory = self.useFixture(fixtures.TempDir()).path
            self.conf_fixture.config(
                group='placement_database',
                connection=f'sqlite:///{os.path.join(directory, "placement.sqlite")}',
                # Nothing of a test has to survive the machine.
                sqlite_synchronous=False,
            )
        prepare(self.conf_fixture)


def prepare(conf_fixture: config_fixture.Config) -> None:
    """Give the configured database its schema."""
    conf = conf_fixture.conf
    url = sa.make_url(conf.placement_database.connection)
    is_sqlite = url.get_backend_name() == 'sqlite'
    if is_sqlite and url.database in IN_MEMORY:
        # It comes into being with the service that opens it.
        conf_fixture.config(group='placement_database', sync_on_startup=True)
    elif is_sqlite and url.database is not None and is_empty(url.database):
        fill(url.database)
    else:
        database = open_database(conf)
        migration.sync(database.engine)
        database.dispose()


def is_empty(path: str) -> bool:
    """True if an SQLite file holds no table, or is not there."""
    connection = sqlite3.connect(path)
    try:
        return not connection.execute('SELECT 1 FROM sqlite_master LIMIT 1').fetchone()
    finally:
        connection.close()


def fill(path: str) -> None:
    """Make an empty SQLite file what migrations would make of it, in a fraction of the time."""
    connection = sqlite3.connect(path)
    try:
        connection.executescript(script())
    finally:
        connection.close()


@functools.cache
def script() -> str:
    """The statements that make a database ready for a service."""
    with tempfile.TemporaryDirectory(prefix='placement-template-') as directory:
        path = os.path.join(directory, 'template.sqlite')
        engine = create_engine(f'sqlite:///{path}', sqlite_synchronous=False)
        migration.sync(engine)
        standard_names.sync(database_on(engine))
        engine.dispose()
        connection = sqlite3.connect(path)
        try:
            return '\n'.join(connection.iterdump())
        finally:
            connection.close()
