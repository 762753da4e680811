# SPDX-License-Identifier: Apache-2.0
"""SQL statements that check the schema of upstream, and copy its tables into memory."""

import contextlib
import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from placement.context import printable
from placement.db.rows import Row
from placement.db.schema.revisions import UPSTREAM
from placement.db.schema.tables import (
    allocations,
    consumers,
    metadata,
    resource_provider_traits,
)

# Number of rows fetched at a time, so that no table is in memory twice.
ROWS_AT_A_TIME = 1_000

# Columns that are copied for consumers only: no question shows the times of other rows.
_TIMES = frozenset({'created_at', 'updated_at'})

_OF_TRAITS = (
    resource_provider_traits.c.resource_provider_id,
    resource_provider_traits.c.trait_id,
)
_OF_SUMS = (
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    allocations.c.used,
    allocations.c.consumer_id,
)

READ_ONLY = sa.text('SET TRANSACTION READ ONLY')

_VERSION = sa.table(UPSTREAM.table, sa.column('version_num', sa.String))

# Revisions whose tables have all columns that are copied. The second one dropped indexes.
READABLE = frozenset({'422ece571366', UPSTREAM.newest})


def is_sqlite(url: str) -> bool:
    """True if a database URL is that of SQLite."""
    return sa.make_url(url).get_backend_name() == 'sqlite'


# Selects true if the account of the connection may write the table of allocations.
_MAY_WRITE = {
    'postgresql': sa.text("SELECT has_table_privilege('allocations', 'INSERT')"),
    'mysql': sa.text(
        "SELECT EXISTS (SELECT 1 FROM (SELECT grantee, privilege_type, '%' AS place"
        ' FROM information_schema.user_privileges'
        ' UNION SELECT grantee, privilege_type, table_schema'
        ' FROM information_schema.schema_privileges'
        ' UNION SELECT grantee, privilege_type, table_schema'
        ' FROM information_schema.table_privileges'
        ") AS granted WHERE privilege_type = 'INSERT' AND DATABASE() LIKE place AND grantee ="
        " CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@',"
        " QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))))"
    ),
}


def may_write(connection: sa.Connection) -> bool:
    """True if the account may write, which insight never needs."""
    statement = _MAY_WRITE.get(connection.dialect.name.replace('mariadb', 'mysql'))
    return statement is not None and bool(connection.scalar(statement))


def find_complaint(connection: sa.Connection) -> str | None:
    """Return the reason why the schema cannot be read, in one sentence, or None."""
    if not sa.inspect(connection).has_table(_VERSION.name):
        return f'The database has no table {_VERSION.name}, which every release of Placement has.'
    stored = connection.scalar(sa.select(_VERSION.c.version_num))
    if stored in READABLE:
        return None
    revision = printable(str(stored))
    return (
        f'The schema of the database is of revision {revision}; those of the releases 6.0.0 '
        '(Xena, which brought types of consumers) to 16.0.0 can be read.'
    )


def forbid_writes(connection: sa.Connection) -> None:
    """Make the transaction read-only for the server; has to be its first statement."""
    if connection.dialect.name != 'sqlite':
        connection.execute(READ_ONLY)


def copy_tables(source: sa.Connection, target: sa.Engine, with_consumers: bool) -> int:
    """Copy the tables of upstream into an empty SQLite database; return the number of rows read.

    Executes one statement for each table. Rows with dangling references are copied as they are.
    Without consumers, which are most of the rows, allocations are summed by provider and class.
    """
    metadata.create_all(target)
    with contextlib.closing(target.raw_connection()) as raw:
        copy = _Copy(source, raw.driver_connection)
        copy.prepare()
        for table in metadata.sorted_tables:
            if table is resource_provider_traits:
                copy.traits()
            elif table is allocations and not with_consumers:
                copy.sums()
            elif table is not consumers or with_consumers:
                copy.rows(table)
        copy.finish()
    return copy.count


class _Copy:
    """A copy in progress; `count` is the number of rows read."""

    def __init__(self, source: sa.Connection, target: Any) -> None:
        self._source = source
        self._target = target
        self.count = 0

    def prepare(self) -> None:
        self._target.execute('PRAGMA foreign_keys = OFF')
        self._target.execute('BEGIN')

    def finish(self) -> None:
        self._target.execute('COMMIT')

    def rows(self, table: sa.Table) -> None:
        has_times = table is consumers
        columns = [column for column in table.columns if has_times or column.name not in _TIMES]
        for rows in self._read(sa.select(*columns)):
            self._insert(columns, map(_stored, rows) if has_times else map(tuple, rows))

    def traits(self) -> None:
        """Copy the traits of providers, aggregated by the source into one row per provider."""
        owner_id, trait_id = _OF_TRAITS
        texts = sa.func.aggregate_strings(sa.cast(trait_id, sa.String), ',')
        for rows in self._read(sa.select(owner_id, texts).group_by(owner_id)):
            pairs = ((owner, int(one)) for owner, text in rows for one in text.split(','))
            self._insert(_OF_TRAITS, pairs)

    def sums(self) -> None:
        key = _OF_SUMS[:2]
        sums = sa.select(*key, sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger))
        for rows in self._read(sums.group_by(*key)):
            self._insert(_OF_SUMS, ((*row, '') for row in rows))

    def _read(self, statement: sa.Select[*tuple[Any, ...]]) -> Iterator[Sequence[Row]]:
        statement = statement.execution_options(yield_per=ROWS_AT_A_TIME)
        for rows in self._source.execute(statement).partitions():
            self.count += len(rows)
            yield rows

    def _insert(self, columns: Sequence[sa.Column[Any]], rows: Iterable[tuple[Any, ...]]) -> None:
        names, marks = ', '.join(column.name for column in columns), ', '.join('?' * len(columns))
        self._target.executemany(
            f'INSERT INTO {columns[0].table.name} ({names}) VALUES ({marks})', rows
        )


def _stored(row: Row) -> tuple[Any, ...]:
    """Return a row with times as text, in the format of SQLAlchemy for SQLite."""
    return tuple(
        value.isoformat(' ', 'microseconds') if isinstance(value, datetime.datetime) else value
        for value in row
    )
