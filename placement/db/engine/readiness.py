# SPDX-License-Identifier: Apache-2.0
"""The check that the database can serve requests."""

import functools
from typing import Any

import sqlalchemy as sa

from placement import errors
from placement.db.engine import failures
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema import revisions, standard_names, tables
from placement.db.schema.own_tables import change_feed

_READ = sa.select(
    tables.resource_classes.c.id, sa.select(change_feed.c.token).limit(1).scalar_subquery()
).limit(1)

# The revision of each chain, with its number.
_REVISIONS: sa.CompoundSelect[Any] = sa.union_all(
    *(
        sa.select(sa.literal(number), sa.column('version_num')).select_from(sa.table(chain.table))
        for number, chain in enumerate(revisions.CHAINS)
    )
)


# Queries for a read-only server, which may still exempt the account.
_READ_ONLY = {
    'mysql': sa.text('SELECT @@GLOBAL.read_only'),
    'postgresql': sa.text("SELECT current_setting('transaction_read_only')"),
}


def check_ready(database: Database) -> None:
    """Check that every engine answers, the schema is usable, and writes succeed.

    Inserts missing standard names. Two tables are read, because a Galera node that has lost its
    cluster still answers `SELECT 1`, and because a database from upstream or from a backup may
    lack the change feed. A lost connection is retried, because the next one may work.

    :raises errors.DatabaseNotMigrated: the schema lacks tables that requests need
    :raises errors.DatabaseReadOnly: the server only reads
    :raises errors.ServiceUnavailable: the database does not answer
    :raises Exception: another error of the database
    """
    database.check_writable()
    checks = [functools.partial(_check_not_read_only, database.engine)]
    checks.append(functools.partial(_read, database))
    if database.has_replica:
        checks.append(functools.partial(_read, database, may_lag=True))
    # Last, because it writes if a restore has removed names.
    checks.append(functools.partial(standard_names.sync, database))
    for check in checks:
        database.retry(check, 'check_ready')


def _check_not_read_only(engine: sa.Engine) -> None:
    """Raise `errors.DatabaseReadOnly` if the server refuses writes."""
    statement = _READ_ONLY.get(engine.dialect.name.replace('mariadb', 'mysql'))
    if statement is None:
        return
    with engine.connect() as connection:
        value = connection.scalar(statement)
    if str(value).lower() in ('0', 'off'):
        return
    try:
        check_writable(engine)
    except failures.DATABASE_ERRORS as error:
        raise errors.DatabaseReadOnly from error


def _read(database: Database, may_lag: bool = False) -> None:
    with database.begin(Mode.READ, may_lag) as connection:
        connection.execute(_READ).all()
        rows = connection.execute(_REVISIONS).all()
    stored: dict[int, str] = dict(rows)
    words = revisions.unusable([stored.get(number) for number in range(len(revisions.CHAINS))])
    if words is not None:
        raise errors.DatabaseNotMigrated(words)


def check_writable(engine: sa.Engine) -> None:
    """Execute a write that changes nothing, which needs the same privileges as any other.

    :raises Exception: the database is read-only, or the account may not write
    """
    statement = sa.update(tables.resource_providers).where(tables.resource_providers.c.id == 0)
    with engine.connect() as connection:
        connection.execute(statement.values(generation=0))
        connection.rollback()
