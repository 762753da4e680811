# SPDX-License-Identifier: Apache-2.0
"""Several precompiled statements that MariaDB executes as one compound statement.

Each statement that is sent on its own waits for the server, and meanwhile somebody else gets the
processor and its caches. A claim and its release wait four times like this instead of nine times;
eight clients of two processes of uWSGI complete 460 of them in a second where they completed 420.

A compound statement takes no message of several statements from the client, which an injection
could extend: the server is sent one statement, and all values are those of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.engine.precompiled import Precompiled

# How a compound statement begins; it begins no transaction.
BEGIN = 'BEGIN NOT ATOMIC'


class Step(NamedTuple):
    """A statement, its values by the names of its parameters, and how many rows it has to change.

    Where `rows` is None, any number will do.
    """

    statement: Precompiled
    values: Mapping[str, Any]
    rows: int | None = 1

    def execute(self, connection: sa.Connection) -> sa.CursorResult[Any]:
        """Execute the statement on its own, as `Precompiled.execute`, without a look at `rows`."""
        return self.statement.execute(connection, self.values)


class Outcome(NamedTuple):
    """How far the server got: the number of steps that changed as many rows as they had to.

    It has executed the next step as well, if there is one, whatever that changed. After the last
    one `inserted_id` is the first id that the last INSERT was given.
    """

    done: int
    inserted_id: int | None = None


def is_supported(dialect: sa.Dialect) -> bool:
    """Whether the server executes compound statements; MySQL has them in stored programs only."""
    return bool(getattr(dialect, 'is_mariadb', False))


def execute(connection: sa.Connection, steps: Sequence[Step]) -> Outcome:
    """Execute steps up to the first one that does not change as many rows as it has to.

    Raises what `Connection.execute` raises. Nothing is undone then, nor after the first such step.
    """
    lines = [BEGIN]
    values: list[Any] = []
    for done, step in enumerate(steps):
        text, some = step.statement.bound(connection.dialect, step.values)
        lines.append(f'{text};')
        values += some
        if step.rows is not None:
            lines.append(f'IF ROW_COUNT() <> {step.rows} THEN SELECT {done - len(steps)}; ELSE')
    lines.append('SELECT LAST_INSERT_ID();')
    lines += ['END IF;' for step in steps if step.rows is not None]
    lines.append('END')
    text = '\n'.join(lines)
    result = connection.exec_driver_sql(text, tuple(values))
    # One column, because PyMySQL takes as long for the description of another as for a row: the
    # number of steps that are left, which is negative, or the id.
    row = result.fetchone()
    _check_end(connection, text, result)
    assert row is not None
    number: int = row[0]
    return Outcome(len(steps) + number) if number < 0 else Outcome(len(steps), number)


def _check_end(connection: sa.Connection, text: str, result: sa.CursorResult[Any]) -> None:
    """Raise what the server reports after the row, and close the result.

    A node of a Galera cluster reports there that it has rolled the transaction back in favour of
    another one. SQLAlchemy would ignore that when it closes the cursor, and the COMMIT, which then
    commits nothing, succeeds.
    """
    dialect, cursor = connection.dialect, result.cursor
    assert cursor is not None
    try:
        while cursor.nextset():
            pass
    except dialect.loaded_dbapi.Error as error:
        if dialect.is_disconnect(error, None, cursor):
            connection.invalidate(error)
        raise sa.exc.OperationalError(text, None, error) from error
    finally:
        result.close()
