# SPDX-License-Identifier: Apache-2.0
"""Bringing a schema to its newest revision.

`placement.db.engine.engines` makes engines. Any number of processes may migrate one database at
the same time: one of them does, the others wait and find nothing left to do.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import command, config
from oslo_db import exception as db_errors

from placement.db.engine import sqlite
from placement.db.schema.revisions import CHAINS, UPSTREAM, Chain, version

LOG = logging.getLogger(__name__)

# Where the environment of Alembic is, named as a directory inside a package.
SCRIPTS = 'placement.db.schema:migrations'

# Who migrates a database on PostgreSQL holds this number: any will do that nobody else has.
POSTGRESQL_LOCK = 0x706C6163656D

# And on MySQL this name, which counts for a whole server and may have 64 characters.
MYSQL_LOCK = sa.func.left(sa.func.concat('placement-migration-', sa.func.database()), 64)

# How long to wait for the one who migrates on MySQL, in seconds. Nothing takes as long.
MYSQL_LOCK_TIMEOUT = 3600

# Alembic keeps what is being migrated in globals of the process.
ALEMBIC = threading.Lock()


def sync(engine: sa.Engine) -> None:
    """Bring the schema to the newest revision (specification: data_model, "Migrations").

    On SQLite and PostgreSQL a sync that fails leaves everything as it was; MySQL, which commits
    at each change of a table, keeps the revisions before the one that failed. Raises
    `alembic.util.CommandError` when the data is not ready for a revision.
    """
    for chain in CHAINS:
        if version(engine, chain) != chain.newest:
            with ALEMBIC, migrating(engine) as connection:
                command.upgrade(configuration(connection, chain), 'head')


def stamp(engine: sa.Engine, revision: str) -> None:
    """Write down a revision without migrating.

    Raises `alembic.util.CommandError` for a revision that does not exist.
    """
    with ALEMBIC, migrating(engine) as connection:
        command.stamp(configuration(connection), revision)


def configuration(
    connection: sa.Connection | None = None, chain: Chain = UPSTREAM
) -> config.Config:
    """What Alembic wants to know, with what `env.py` takes from it."""
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
    """A connection on which nobody else can migrate at the same time.

    Where the engine can undo a change of the schema, all is one transaction, which also keeps
    others out. On MySQL Alembic commits after each revision.
    """
    if engine.dialect.name in ('mysql', 'mariadb'):
        with engine.connect() as connection, mysql_lock(connection):
            yield connection
        return
    with sqlite.writing(engine).begin() as connection:
        if engine.dialect.name == 'postgresql':
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(POSTGRESQL_LOCK)))
        yield connection


@contextlib.contextmanager
def mysql_lock(connection: sa.Connection) -> Iterator[None]:
    """Hold the lock of the session, which outlives the commits on the way."""
    try:
        got = connection.scalar(sa.select(sa.func.get_lock(MYSQL_LOCK, MYSQL_LOCK_TIMEOUT)))
    except (db_errors.DBError, sa.exc.DBAPIError) as error:
        # Some clusters refuse named locks. There it is for the operator to migrate once.
        LOG.warning('Migrating without a lock, which the server refuses: %s', error)
        got = None
    # Alembic leaves a transaction alone that it finds open, instead of committing.
    connection.commit()
    if got == 0:
        raise TimeoutError('Somebody else has been migrating the database for too long.')
    try:
        yield
    finally:
        connection.rollback()
        if got:
            connection.execute(sa.select(sa.func.release_lock(MYSQL_LOCK)))
            connection.commit()
