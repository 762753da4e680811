# SPDX-License-Identifier: Apache-2.0
"""The chains of revisions, and which one of them a schema has.

There are two chains: the upstream one, which operators know and which stays as it is, and one
for the tables that are ours alone. This module does without Alembic, which would take a good tenth
of the time to start: where there is nothing to migrate, none of it is needed.
"""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa


@dataclasses.dataclass(frozen=True)
class Chain:
    """A chain of revisions: where they are, the table that keeps which one is in force, and the
    newest."""

    versions: str
    table: str
    newest: str


UPSTREAM = Chain('placement.db.schema.migrations:versions', 'alembic_version', 'a082b8bb98d0')
OWN = Chain('placement.db.schema:own_migrations', 'placement_alembic_version', '8e41b6c03d57')
CHAINS = (UPSTREAM, OWN)


def is_newest(engine: sa.Engine) -> bool:
    """Whether there is nothing to migrate."""
    return all(version(engine, chain) == chain.newest for chain in CHAINS)


def version(engine: sa.Engine, chain: Chain = UPSTREAM) -> str | None:
    """The revision of the schema; None where there is none yet."""
    table = sa.table(chain.table, sa.column('version_num', sa.String))
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table(chain.table):
            return None
        revision: str | None = connection.scalar(sa.select(table.c.version_num))
        return revision
