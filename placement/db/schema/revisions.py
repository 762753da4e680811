# SPDX-License-Identifier: Apache-2.0
"""The chains of schema revisions, and the revision that a database has in each.

There are two chains: one from upstream (`openstack-placement`), which never changes here, and one
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

    Revisions other than the declared ones belong to later releases, whose steps only add tables.
    """

    # The directory of its migrations.
    versions: str
    # The table that stores the revision of a database.
    table: str
    # The revision of this release.
    newest: str
    # A database without this table has no revision, whatever is stored: the table was dropped, or
    # not restored.
    first: str | None = None
    # Older revisions, which lack tables that requests to the API need.
    too_old: frozenset[str] = frozenset()
    # Older revisions, which lack only tables for questions below `/insight`.
    old: frozenset[str] = frozenset()

    def is_reached(self, revision: str | None) -> bool:
        """True if a database at a revision has all tables that this release knows."""
        before = self.too_old | self.old
        is_later = bool(before) and revision is not None and revision not in before
        return revision == self.newest or is_later

    def is_usable(self, revision: str | None) -> bool:
        """True if a database at a revision has all tables that requests to the API need."""
        return self.is_reached(revision) or revision in self.old


UPSTREAM = Chain('placement.db.schema.migrations:versions', 'alembic_version', 'a082b8bb98d0')
OWN = Chain(
    'placement.db.schema:own_migrations',
    'placement_alembic_version',
    '9d3f60c7e218',
    change_feed.name,
    too_old=frozenset({'7b1e94d05c3a'}),
    old=frozenset({'c40d9e2a715b', '5e82b7f1d09a'}),
)
CHAINS = (UPSTREAM, OWN)


# Migrates a database to the revisions of this release.
REMEDY = 'Run "placement-manage db sync".'


def difference(stored: Sequence[str | None]) -> str | None:
    """Return a message about wrong revisions of the chains, with the remedy, or None."""
    if all(chain.is_reached(one) for chain, one in zip(CHAINS, stored, strict=True)):
        return None
    if not any(stored):
        return f'The database has no tables. {REMEDY}'
    differing = [
        f'{revision or "none"} instead of {chain.newest} in {chain.table}'
        for chain, revision in zip(CHAINS, stored, strict=True)
        if not chain.is_reached(revision)
    ]
    return (
        'The schema of the database is not that of this release: '
        f'revision {", ".join(differing)}. {REMEDY}'
    )


def unusable(stored: Sequence[str | None]) -> str | None:
    """The same, but only if requests to the API cannot be served."""
    if all(chain.is_usable(one) for chain, one in zip(CHAINS, stored, strict=True)):
        return None
    return difference(stored)


def check(engine: sa.Engine) -> None:
    """Log an error at start when the schema is not at the revisions of this release.

    A service on an older schema starts, and works as soon as an operator migrates it.

    :raises MissingSchemaError: the database has no tables
    """
    stored = versions(engine)
    words = difference(stored)
    if words is None:
        return
    if stored[0] is None:
        raise MissingSchemaError(words)
    LOG.error('%s', words)


def require_file(url: str) -> None:
    """Raise `MissingSchemaError` for a missing file of SQLite, which connecting would create."""
    path = sqlite.path_in(url)
    if path is not None and not os.path.exists(path):
        raise MissingSchemaError(f'The database file {path} does not exist. {REMEDY}')


def require_newest(engine: sa.Engine) -> None:
    """Raise `MissingSchemaError` for a schema that is not at the revisions of this release."""
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
