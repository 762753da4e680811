# SPDX-License-Identifier: Apache-2.0
"""Whether the database answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa

from placement.db.engine.api import READ_ATTEMPTS, Database, repeated
from placement.db.schema import tables


def check_answers(database: Database) -> None:
    """Read from a table, where writes go and where reads go.

    From a table, because the node of a cluster that has lost the others still answers what needs
    none; and again when a connection was cut, because that says nothing of the next one. Raises
    `errors.DatabaseUnavailable`, or the error of the engine.
    """
    for connect in database.readers:
        repeated(functools.partial(_read, connect), 'check_answers', READ_ATTEMPTS)


def _read(connect: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
    with connect() as connection:
        connection.execute(sa.select(tables.resource_classes.c.id).limit(1)).all()
