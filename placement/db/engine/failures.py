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

# The errors of statements, wrapped by oslo.db or SQLAlchemy, and of pools. A driver that cannot
# encode a character raises an error that is not one of a database.
DATABASE_ERRORS = (
    db_errors.DBError,
    db_errors.DBInvalidUnicodeParameter,
    sa.exc.DBAPIError,
    sa.exc.TimeoutError,
)

#: What an operator does about a damaged file.
RESTORE = 'Stop the service and restore the database from a backup.'

_BY_TYPE: dict[type[Exception], Cause] = {
    sa.exc.TimeoutError: Cause.NO_FREE_CONNECTION,
    db_errors.DBDeadlock: Cause.CONFLICT,
    db_errors.DBDuplicateEntry: Cause.CONFLICT,
    db_errors.DBReferenceError: Cause.CONFLICT,
    db_errors.DBConnectionError: Cause.LOST_CONNECTION,
    db_errors.DBDataError: Cause.VALUE,
    db_errors.DBInvalidUnicodeParameter: Cause.VALUE,
}

# The classes of errors that a driver has for failures of a database, rather than of a statement.
_OF_DATABASE = frozenset({'InterfaceError', 'InternalError', 'OperationalError'})

# Says nothing by itself, so that its messages are compared.
_SQLITE_ERROR = 1

# PostgreSQL's protocol counts parameters with 16 bits; libpq refuses more without an SQLSTATE.
_TOO_MANY_PARAMETERS = 'number of parameters must be between'


def cause_of(error: Exception) -> Cause | None:
    """Return the cause of a failed transaction; None for an unknown one, which is a defect."""
    chain = list(_chain(error))
    for cause in map(_by_code, chain):
        if cause is not None:
            return cause
    if any(getattr(wrapper, 'connection_invalidated', False) for wrapper in chain):
        return Cause.LOST_CONNECTION
    return next((cause for kind, cause in _BY_TYPE.items() if isinstance(error, kind)), None)


def is_of_database(error: Exception) -> bool:
    """True if the driver says that the database failed, and not that a statement is wrong."""
    *_, innermost = _chain(error)
    return not _OF_DATABASE.isdisjoint(_class_names(innermost))


def is_duplicate(error: Exception) -> bool:
    """True if a key exists already in a unique index."""
    return isinstance(error, db_errors.DBDuplicateEntry)


def message_of(error: Exception) -> str:
    """Return the message of the database for the log, in one line and without the statement."""
    *_, innermost = _chain(error)
    return ' '.join(str(innermost).split())


def unusable_reason(error: Exception) -> str | None:
    """Return the message of a database that cannot be used, in one line; None for other errors.

    For an error of this service, the message of the database error that caused it.
    """
    if isinstance(error, errors.ServiceUnavailable) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return message_of(error) if cause_of(error) in UNUSABLE else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes, the error of the driver last."""
    while error is not None:
        yield error
        error = getattr(error, 'inner_exception', None) or getattr(error, 'orig', None)


def _class_names(error: BaseException) -> list[str]:
    """The names of the class of an error and of those it inherits from."""
    return [kind.__name__ for kind in type(error).__mro__]


def _by_code(error: BaseException) -> Cause | None:
    """Return the cause for the code of a driver's error."""
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
    if sqlstate is None and 'OperationalError' in _class_names(error):
        # The client library reports a lost or refused connection without a state, and psycopg one
        # that was not made in time.
        is_too_large = _TOO_MANY_PARAMETERS in str(error)
        return Cause.VALUE if is_too_large else Cause.LOST_CONNECTION
    state = str(sqlstate)
    return causes.POSTGRESQL.get(state, causes.POSTGRESQL.get(state[:2]))
