# SPDX-License-Identifier: Apache-2.0
"""Case-sensitive names and uuids on databases with a case-insensitive collation.

The usual collations of MySQL and MariaDB ignore letter case and accents, both in comparisons and
in unique indexes (specification: conventions, "Spelling of uuids and names"). Those that pad, as
all of MariaDB do but for its `nopad` ones, ignore trailing blanks as well; utf8mb4_0900_ai_ci, the
default of MySQL since 8.0, does not. So a row that a statement finds by name is compared once more
here.
"""

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from placement.db.rows import Row


def exactly(row: Row | None, column: str, value: str) -> Row | None:
    """Return the row if its column equals the value exactly, otherwise None."""
    return row if row is not None and getattr(row, column) == value else None


def has_insensitive_collation(connection: sa.Connection) -> bool:
    """True if the database may treat two different strings as equal."""
    return connection.dialect.name in ('mysql', 'mariadb')


def stored_uuids(
    connection: sa.Connection, uuids: Iterable[str], stored: Collection[str]
) -> dict[str, str]:
    """Return, for each uuid as given, the uuid to store: the one in `stored`, or the first given.

    A unique index that ignores case cannot have both, so all variants mean the stored one.
    """
    if not has_insensitive_collation(connection):
        return {uuid: uuid for uuid in uuids}
    by_lowercase = {uuid.lower(): uuid for uuid in stored}
    return {uuid: by_lowercase.setdefault(uuid.lower(), uuid) for uuid in uuids}
