# SPDX-License-Identifier: Apache-2.0
"""The clock of the database, in UTC, which determines the times and the age of rows in own tables.

The clocks of workers may be wrong and differ: one that is a month ahead would remove a month of
everyone's rows. SQLite uses the clock of the machine, which all workers share.
"""

import datetime
from collections.abc import Collection

import sqlalchemy as sa

from placement.db.schema.tables import utcnow

# Maximum difference between the clocks of a worker and of the database. Beyond it, one of them is
# wrong.
MAX_DIFFERENCE = datetime.timedelta(minutes=5)

_NOW = {
    'mysql': 'UTC_TIMESTAMP()',
    'postgresql': "timezone('utc', statement_timestamp())",
    'sqlite': "datetime('now')",
}
_EARLIER = {
    'mysql': '{now} - INTERVAL {seconds} SECOND',
    'postgresql': "{now} - INTERVAL '{seconds} seconds'",
    # With as many digits as SQLAlchemy writes, because SQLite compares times as texts.
    'sqlite': "datetime({now}, '-{seconds} seconds') || '.000000'",
}


def _earlier(connection: sa.Connection, seconds: int) -> str:
    backend = connection.dialect.name.replace('mariadb', 'mysql')
    return f'({_EARLIER[backend].format(now=_NOW[backend], seconds=seconds)})'


def earlier(connection: sa.Connection, seconds: int) -> sa.ColumnElement[datetime.datetime]:
    """Return the time `seconds` ago, as an SQL expression."""
    return sa.literal_column(_earlier(connection, seconds), sa.DateTime())


def read(connection: sa.Connection) -> datetime.datetime:
    """Return the time, in whole seconds and without time zone, as `utcnow` does."""
    now = connection.execute(sa.select(earlier(connection, 0))).scalar_one()
    return now.replace(microsecond=0)


def difference(connection: sa.Connection) -> str | None:
    """Return a message about the difference of worker and database clocks; None if they agree."""
    ahead = utcnow() - read(connection)
    if abs(ahead) <= MAX_DIFFERENCE:
        return None
    words = 'ahead of' if ahead > datetime.timedelta() else 'behind'
    return f'the clock of this worker is {abs(ahead)} {words} that of the database'


def dated_insert(
    connection: sa.Connection, table: sa.Table, columns: Collection[str], rows: int
) -> str:
    """Return the text of an INSERT of `rows` rows with the time in `at`, and other columns.

    A text, because an `Insert` of SQLAlchemy spends much time on ordering its parameters, which
    would slow down claims, and because drivers do not batch rows with an expression.
    """
    placeholder = '?' if connection.dialect.paramstyle == 'qmark' else '%s'
    row = f'({", ".join([_earlier(connection, 0), *[placeholder] * len(columns)])})'
    names = ', '.join(['at', *columns])
    return f'INSERT INTO {table.name} ({names}) VALUES {", ".join([row] * rows)}'
