# SPDX-License-Identifier: Apache-2.0
"""Names and uuids as they are spelled, on a database that may take two spellings for one.

The collations that MySQL schemas usually have ignore letter case, accents and blanks at the end,
in what a statement finds and in what a unique index accepts (specification:
conventions, "Spelling of uuids and names").
A name that has been found is therefore compared once more here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from placement.db.engine.transactions import Row


def exactly(row: Row | None, column: str, value: str) -> Row | None:
    """The row, unless it was found by another spelling of the value."""
    return row if row is not None and getattr(row, column) == value else None


def may_be_lenient(connection: sa.Connection) -> bool:
    """Whether two spellings may be one value to this database."""
    return connection.dialect.name in ('mysql', 'mariadb')


def stored_uuids(
    connection: sa.Connection, uuids: Iterable[str], stored: Collection[str]
) -> dict[str, str]:
    """Uuids by how they were given, each spelled as among `stored`, or as first given.

    Where the database sees one uuid there can be no second, so both spellings mean the first.
    """
    if not may_be_lenient(connection):
        return {uuid: uuid for uuid in uuids}
    spellings = {uuid.lower(): uuid for uuid in stored}
    return {uuid: spellings.setdefault(uuid.lower(), uuid) for uuid in uuids}
