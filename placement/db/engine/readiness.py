# SPDX-License-Identifier: Apache-2.0
"""The check that the database can serve requests."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa

from placement import errors
from placement.db.engine import diagnosis, failures
from placement.db.engine.database import Database
from placement.db.engine.transactions import READ_ATTEMPTS, retry
from placement.db.schema import revisions, tables
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


# Whether a server refuses to write, unless the account is exempt.
_READ_ONLY = {
    'mysql': sa.text('SELECT @@GLOBAL.read_only'),
    'postgresql': sa.text("SELECT current_setting('transaction_read_only')"),
}


def check_ready(database: Database) -> None:
    """Read two tables and the revisions of the schema through every engine.

    Returns when all of them answered, with the revisions of this release, and writes succeed. From
    tables, because a Galera node that has lost its cluster still answers `SELECT 1`, and because
    the change feed can be missing in a database that came from upstream or a backup. A lost
    connection is retried, since it says nothing about the next one. Raises
    `errors.ServiceUnavailable`, which is `errors.DatabaseNotMigrated` for a schema that is not
    that of this release and `errors.DatabaseReadOnly` for a server that only reads, or the error
    of the database.
    """
    database.check_writable()
    checks = [functools.partial(_check_not_read_only, database.engine)]
    checks += [functools.partial(_read, connect) for connect in database.readers]
    for check in checks:
        retry(check, 'check_ready', READ_ATTEMPTS, database.recorder)


def _check_not_read_only(engine: sa.Engine) -> None:
    """Raise `errors.DatabaseReadOnly` where the server refuses to write."""
    statement = _READ_ONLY.get(engine.dialect.name.replace('mariadb', 'mysql'))
    if statement is None:
        return
    with engine.connect() as connection:
        value = connection.scalar(statement)
    if str(value).lower() in ('0', 'off'):
        return
    try:
        diagnosis.check_writable(engine)
    except failures.DATABASE_ERRORS as error:
        raise errors.DatabaseReadOnly from error


def _read(connect: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
    with connect() as connection:
        connection.execute(_READ).all()
        rows = connection.execute(_REVISIONS).all()
    stored: dict[int, str] = dict(rows)
    words = revisions.difference([stored.get(number) for number in range(len(revisions.CHAINS))])
    if words is not None:
        raise errors.DatabaseNotMigrated(words)
