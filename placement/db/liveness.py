# SPDX-License-Identifier: Apache-2.0
"""Whether the database answers."""

from __future__ import annotations

import sqlalchemy as sa

from placement.db import tables
from placement.db.api import Database


def check_answers(database: Database) -> None:
    """Read from a table, where writes go and where reads go.

    From a table, because the node of a cluster that has lost the others still answers what needs
    none. Raises the error of the engine.
    """
    statement = sa.select(tables.resource_classes.c.id).limit(1)
    for connect in (database.fresh_reader, database.reader):
        with connect() as connection:
            connection.execute(statement).all()
