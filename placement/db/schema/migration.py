# SPDX-License-Identifier: Apache-2.0
"""Migrating the schema to the newest revisions.

`placement.db.engine.engines` makes engines. Any number of processes may migrate one database
at the same time: one of them migrates, the others wait for it.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import command, config
from oslo_db import exception as db_errors

from placement.db.engine import sqlite, timeouts
from placement.db.schema.revisions import CHAINS, UPSTREAM, Chain, version

LOG = logging.getLogger(__name__)

# The environment of Alembic, as a directory inside a package.
SCRIPTS = 'placement.db.schema:migrations'

# The key of the advisory lock on PostgreSQL; any number that no other application uses.
POSTGRESQL_LOCK = 0x706C6163656D

# The name of the lock on MySQL. Such names are global to a server, and have 64 characters at most.
MYSQL_LOCK = sa.func.left(sa.func.concat('placement-migration-', sa.func.database()), 64)

# Seconds to wait for the lock on MySQL, longer than any migration takes.
MYSQL_LOCK_TIMEOUT = 3600

# Alembic keeps its state in globals of the process.
ALEMBIC = threading.Lock()


def sync(engine: sa.Engine) -> None:
    """Migrate the schema to the newest revisions (specification: data_model, "Migrations").

    On SQLite and PostgreSQL a sync that fails is rolled back. MySQL commits each change of a
    table, so it keeps the revisions before the one that failed. Tables of a later release are
    left alone.

    :raises alembic.util.CommandError: a revision needs an online data migration first
    """
    for chain in CHAINS:
        if not chain.is_reached(version(engine, chain)):
            with ALEMBIC, migrating(engine) as connection:
                settings = configuration(connection, chain)
                if chain.first and not sa.inspect(connection).has_table(chain.first):
                    # A revision may be stored although the tables are gone.
                    command.stamp(settings, 'base')
                if connection.dialect.name in ('mysql', 'mariadb'):
                    # Alembic commits there after each revision, but not a transaction that a read
                    # or a stamp has opened before: the last revision would not be stored.
                    connection.commit()
                command.upgrade(settings, 'head')


def stamp(engine: sa.Engine, revision: str) -> None:
    """Stamp a revision without running migrations.

    :raises alembic.util.CommandError: the revision does not exist
    """
    with ALEMBIC, migrating(engine) as connection:
        command.stamp(configuration(connection), revision)


def configuration(
    connection: sa.Connection | None = None, chain: Chain = UPSTREAM
) -> config.Config:
    """Return the configuration of Alembic, with the attributes that `env.py` reads."""
    settings = config.Config()
    settings.set_main_option('script_location', SCRIPTS)
    settings.set_main_option('version_locations', chain.versions)
    settings.set_main_option('path_separator', 'newline')
    settings.attributes['version_table'] = chain.table
    if connection is not None:
        settings.attributes['connection'] = connection
    return settings


@contextlib.contextmanager
def migrating(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a connection that has the lock for migrations.

    On SQLite and PostgreSQL, whose DDL is transactional, everything is one transaction, and the
    lock ends with it. On MySQL Alembic commits after each revision.
    """
    if engine.dialect.name in ('mysql', 'mariadb'):
        with engine.connect() as connection:
            timeouts.lift(connection)
            with mysql_lock(connection):
                yield connection
        return
    with sqlite.writing(engine).begin() as connection:
        if engine.dialect.name == 'postgresql':
            timeouts.lift(connection)
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(POSTGRESQL_LOCK)))
        yield connection


@contextlib.contextmanager
def mysql_lock(connection: sa.Connection) -> Iterator[None]:
    """Keep a lock of the session, which outlives commits."""
    try:
        got = connection.scalar(sa.select(sa.func.get_lock(MYSQL_LOCK, MYSQL_LOCK_TIMEOUT)))
    except (db_errors.DBError, sa.exc.DBAPIError) as error:
        # Some clusters refuse named locks. There the operator has to run one migration at a time.
        LOG.warning('Migrating without a lock, which the server refuses: %s', error)
        got = None
    # Alembic does not commit a transaction that was open before.
    connection.commit()
    if got == 0:
        raise TimeoutError('Another process has been migrating the database for too long.')
    try:
        yield
    finally:
        connection.rollback()
        if got:
            connection.execute(sa.select(sa.func.release_lock(MYSQL_LOCK)))
            connection.commit()
