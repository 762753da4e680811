# SPDX-License-Identifier: Apache-2.0
"""Finding the cause of a failed transaction in the errors of every database and driver.

The error codes of the databases decide (`causes`). An error without one of these is
classified by the exception that oslo.db or SQLAlchemy made of it.
"""

from collections.abc import Iterator

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement import errors
from placement.db.engine import causes
from placement.db.engine.causes import UNUSABLE, Cause

# What a statement raises, as oslo.db or SQLAlchemy wraps it, and what a pool raises.
DATABASE_ERRORS = (db_errors.DBError, sa.exc.DBAPIError, sa.exc.TimeoutError)

#: What an operator does about a damaged file.
RESTORE = 'Stop the service and restore the database from a backup.'

_BY_TYPE: dict[type[Exception], Cause] = {
    sa.exc.TimeoutError: Cause.NO_FREE_CONNECTION,
    db_errors.DBDeadlock: Cause.CONFLICT,
    db_errors.DBDuplicateEntry: Cause.CONFLICT,
    db_errors.DBReferenceError: Cause.CONFLICT,
    db_errors.DBConnectionError: Cause.LOST_CONNECTION,
    db_errors.DBDataError: Cause.VALUE,
}

# Says nothing by itself, so that its messages are compared.
_SQLITE_ERROR = 1

# PostgreSQL's protocol counts parameters with 16 bits; libpq refuses more without an SQLSTATE.
_TOO_MANY_PARAMETERS = 'number of parameters must be between'


def cause_of(error: Exception) -> Cause | None:
    """Return why a transaction failed; None if it should not have, which is a defect."""
    chain = list(_chain(error))
    for cause in map(_by_code, chain):
        if cause is not None:
            return cause
    if any(getattr(wrapper, 'connection_invalidated', False) for wrapper in chain):
        return Cause.LOST_CONNECTION
    return next((cause for kind, cause in _BY_TYPE.items() if isinstance(error, kind)), None)


def message_of(error: Exception) -> str:
    """Return what the database itself said, in one line without the statement, for the log."""
    *_, innermost = _chain(error)
    return ' '.join(str(innermost).split())


def unusable_reason(error: Exception) -> str | None:
    """Return what the database said, in one line, if it cannot be used; None for other errors.

    Of an error of this service it is what the database said before.
    """
    if isinstance(error, errors.ServiceUnavailable) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return message_of(error) if cause_of(error) in UNUSABLE else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that it wraps, the error of the driver last."""
    while error is not None:
        yield error
        error = getattr(error, 'inner_exception', None) or getattr(error, 'orig', None)


def _by_code(error: BaseException) -> Cause | None:
    """Return the cause that the code of a driver's error has."""
    code = getattr(error, 'sqlite_errorcode', None)
    if code is not None:
        return _by_sqlite_code(code, str(error))
    number = error.args[0] if error.args else None
    if isinstance(number, int):
        return causes.MYSQL.get(str(number))
    return _by_sqlstate(error)


def _by_sqlite_code(code: int, message: str) -> Cause | None:
    if code == _SQLITE_ERROR:
        return next((c for m, c in causes.SQLITE_MESSAGES.items() if m in message), None)
    return causes.SQLITE.get(str(code), causes.SQLITE.get(str(code & 0xFF)))


def _by_sqlstate(error: BaseException) -> Cause | None:
    # psycopg and psycopg2 name it differently.
    sqlstate = getattr(error, 'sqlstate', getattr(error, 'pgcode', ''))
    if sqlstate is None and type(error).__name__ == 'OperationalError':
        # The client library reports a lost or refused connection without a state.
        is_too_large = _TOO_MANY_PARAMETERS in str(error)
        return Cause.VALUE if is_too_large else Cause.LOST_CONNECTION
    state = str(sqlstate)
    return causes.POSTGRESQL.get(state, causes.POSTGRESQL.get(state[:2]))
