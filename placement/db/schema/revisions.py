# SPDX-License-Identifier: Apache-2.0
"""The chains of schema revisions, and the revision that a database has in each.

There are two chains: that of upstream (`openstack-placement`), which never changes here, and one
for the tables that only this service has. This module does not import Alembic, which would take a
tenth of the time to start and is needed only to migrate.
"""

import dataclasses
import logging
import os
from collections.abc import Sequence

import sqlalchemy as sa

from placement.db.engine import sqlite
from placement.db.schema.own_tables import change_feed

LOG = logging.getLogger(__name__)


class MissingSchemaError(Exception):
    """The database lacks the tables of this release; the message names the remedy."""


@dataclasses.dataclass(frozen=True)
class Chain:
    """A chain of revisions.

    `versions` is the directory of its migrations, `table` the table that stores the revision of a
    database, `newest` the revision that this release needs. Without the table `first`, if
    one is named, a database has no revision, whatever is stored: it was dropped, or not restored.
    """

    versions: str
    table: str
    newest: str
    first: str | None = None


UPSTREAM = Chain('placement.db.schema.migrations:versions', 'alembic_version', 'a082b8bb98d0')
OWN = Chain(
    'placement.db.schema:own_migrations',
    'placement_alembic_version',
    '7b1e94d05c3a',
    change_feed.name,
)
CHAINS = (UPSTREAM, OWN)


# What brings a database to the revisions of this release.
REMEDY = 'Run "placement-manage db sync".'


def difference(stored: Sequence[str | None]) -> str | None:
    """Return what is wrong with the revisions of the chains, and the remedy, or None."""
    if tuple(stored) == tuple(chain.newest for chain in CHAINS):
        return None
    if not any(stored):
        return f'The database has no tables. {REMEDY}'
    differing = [
        f'{revision or "none"} instead of {chain.newest} in {chain.table}'
        for chain, revision in zip(CHAINS, stored, strict=True)
        if revision != chain.newest
    ]
    return (
        'The schema of the database is not that of this release: '
        f'revision {", ".join(differing)}. {REMEDY}'
    )


def check(engine: sa.Engine) -> None:
    """Tell an operator at start when the schema is not that of this release.

    A service on an older schema starts, and works as soon as somebody migrates it. Raises
    `MissingSchemaError` for a database without tables.
    """
    stored = versions(engine)
    words = difference(stored)
    if words is None:
        return
    if stored[0] is None:
        raise MissingSchemaError(words)
    LOG.error('%s', words)


def require_file(url: str) -> None:
    """Raise `MissingSchemaError` for a missing file of SQLite, which connecting would make."""
    path = sqlite.path_in(url)
    if path is not None and not os.path.exists(path):
        raise MissingSchemaError(f'The database file {path} does not exist. {REMEDY}')


def require_newest(engine: sa.Engine) -> None:
    """Raise `MissingSchemaError` for a schema that is not that of this release."""
    words = difference(versions(engine))
    if words is not None:
        raise MissingSchemaError(words)


def versions(engine: sa.Engine) -> list[str | None]:
    """Return the revision that the database has in each chain."""
    return [version(engine, chain) for chain in CHAINS]


def version(engine: sa.Engine, chain: Chain = UPSTREAM) -> str | None:
    """Return the revision that the database has in a chain; None if it has none."""
    table = sa.table(chain.table, sa.column('version_num', sa.String))
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        if not all(inspector.has_table(name) for name in (chain.table, chain.first) if name):
            return None
        revision: str | None = connection.scalar(sa.select(table.c.version_num))
        return revision
