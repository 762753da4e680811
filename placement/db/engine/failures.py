# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a transaction, whichever database and driver tell of it.

oslo.db knows most of the errors; those that it leaves as they are, or calls just an error, are
told apart by the codes of the databases.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import sqlalchemy as sa
from oslo_db import exception as db_errors


class Cause(enum.Enum):
    """Why a transaction failed, where that is not a defect of ours.

    Another transaction, or the loss of a connection, is cured by beginning again: nothing of an
    unfinished transaction is kept by any engine. To have found no free connection is not, because
    that takes as long as `pool_timeout` each time. A value that the database cannot hold is a
    mistake of the client.
    """

    CONFLICT = 'conflict'
    LOST_CONNECTION = 'lost connection'
    NO_FREE_CONNECTION = 'no free connection'
    VALUE = 'value'


# What an engine or driver raises in a statement, as oslo.db leaves it, and what a pool raises.
DATABASE_ERRORS = (db_errors.DBError, sa.exc.DBAPIError, sa.exc.TimeoutError)

# A deadlock, a lock that timed out, a Galera certification failure; a row that someone else
# inserted, or began to refer to, first.
_CONFLICTS = (db_errors.DBDeadlock, db_errors.DBDuplicateEntry, db_errors.DBReferenceError)

# Of MySQL: a connection that is closed, too many of them, shutdown, killed query, no cluster yet,
# killed connection, and twice a server that only reads, because another one is the primary by
# now; then values out of range, too long, or of characters that the column or the
# connection cannot have.
_BY_NUMBER = {
    **dict.fromkeys((0, 1040, 1053, 1317, 1047, 1927, 1290, 1836), Cause.LOST_CONNECTION),
    **dict.fromkeys((1264, 1267, 1300, 1366, 1406), Cause.VALUE),
}

# Of PostgreSQL, by the beginning of their SQLSTATE: what the data is, what the connection is, and
# that the server only reads.
_BY_SQLSTATE = {
    '08': Cause.LOST_CONNECTION,
    '22': Cause.VALUE,
    '25006': Cause.LOST_CONNECTION,
    '40': Cause.CONFLICT,
    '533': Cause.LOST_CONNECTION,
    '55P03': Cause.CONFLICT,
    '57': Cause.LOST_CONNECTION,
}


# Of a driver that is given more values than one statement can take: so many, no client means.
_TOO_MANY_VALUES = ('too many SQL variables', 'number of parameters must be between')


def cause_of(error: Exception) -> Cause | None:
    """Why a transaction failed; None when it should not have."""
    if isinstance(error, _CONFLICTS):
        return Cause.CONFLICT
    if isinstance(error, db_errors.DBConnectionError):
        return Cause.LOST_CONNECTION
    if isinstance(error, db_errors.DBDataError):
        return Cause.VALUE
    if isinstance(error, sa.exc.TimeoutError):
        return Cause.NO_FREE_CONNECTION
    for original in _origins(error):
        if getattr(original, 'connection_invalidated', False):
            return Cause.LOST_CONNECTION
        cause = _by_code(original)
        if cause is not None:
            return cause
    return None


def _origins(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those it was made from."""
    while error is not None:
        yield error
        error = getattr(error, 'inner_exception', None) or getattr(error, 'orig', None)


def _by_code(error: BaseException) -> Cause | None:
    number = error.args[0] if error.args else None
    if isinstance(number, int):
        return _BY_NUMBER.get(number)
    if isinstance(number, str) and any(words in number for words in _TOO_MANY_VALUES):
        return Cause.VALUE
    # psycopg and psycopg2 call it differently. Without a state it was not the server that spoke.
    sqlstate = getattr(error, 'sqlstate', getattr(error, 'pgcode', ''))
    if sqlstate is None and type(error).__name__ == 'OperationalError':
        return Cause.LOST_CONNECTION
    return next((c for start, c in _BY_SQLSTATE.items() if str(sqlstate).startswith(start)), None)
