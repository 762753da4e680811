# SPDX-License-Identifier: Apache-2.0
"""Transactions around functions: the openings of `db.engine.database` as decorators, with retries.

The public methods of objects are wrapped in `reader`, `consistent_reader` or `writer`. What they
call finds the open transaction as `context.connection`; nothing else opens one. `retry` begins a
failed transaction again.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from placement import errors
from placement.db.engine import backoff, failures
from placement.db.engine.causes import RETRIED, Cause
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.context import RequestContext
    from placement.insight.history.recorder import ChangeRecorder
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)

Arguments = ParamSpec('Arguments')
Result = TypeVar('Result')

Connection = sa.Connection

# A function whose first argument leads to a context (see `_context_of`).
Method = Callable[Concatenate[Any, Arguments], Result]

# A row of whatever columns a statement selects.
Row = sa.Row[*tuple[Any, ...]]

# Attempts at a transaction that writes before the client is told about the conflict, where the
# configuration does not say.
WRITE_ATTEMPTS = 10

# Attempts at a transaction that only reads: enough to replace a lost connection, too few to wait
# for a database that is down.
READ_ATTEMPTS = 3

# Seconds after which no further attempt begins. An attempt takes long where a server does not
# answer at all, and many such attempts would take minutes.
MAX_RETRY_SECONDS = 20

# The errors for causes that lie with the database, and not with the request.
_ANSWERS: Mapping[Cause, type[errors.ServiceUnavailable]] = {
    Cause.LOST_CONNECTION: errors.DatabaseUnavailable,
    Cause.NOT_READY: errors.DatabaseUnavailable,
    Cause.NO_FREE_CONNECTION: errors.DatabaseUnavailable,
    Cause.TIMEOUT: errors.DatabaseBusy,
    Cause.FULL: errors.DatabaseUnusable,
    Cause.DAMAGED: errors.DatabaseUnusable,
    Cause.REFUSED: errors.DatabaseUnusable,
    Cause.SCHEMA: errors.DatabaseNotMigrated,
}

# What the log tells operators to do.
_REMEDIES = {Cause.SCHEMA: ' (run "placement-manage db sync")'}

# The causes that pass by themselves; for the others an operator has to act.
_TEMPORARY = RETRIED | {Cause.NO_FREE_CONNECTION, Cause.TIMEOUT}


def reader(function: Method[Arguments, Result]) -> Method[Arguments, Result]:
    """Run a method of an object or class, or a function of a context, in one `Database.reader`.

    It reads on a replica only where the context allows that: a write decides by what it reads, so
    it must never read what a replica still shows. A function that is called while a transaction is
    open joins it. Raises what `retry` raises.
    """
    return _in_transaction(
        function, lambda context: context.database.reader(may_lag=context.allow_replica_read)
    )


def consistent_reader(function: Method[Arguments, Result]) -> Method[Arguments, Result]:
    """Do as `reader`, in one `Database.consistent_reader`."""
    return _in_transaction(function, lambda context: context.database.consistent_reader())


def brief_reader(function: Method[Arguments, Result]) -> Method[Arguments, Result]:
    """Do as `reader`, for tables that an operator may have locked: wait a second at most."""
    return _in_transaction(function, lambda context: context.database.reader(is_brief=True))


def writer(function: Method[Arguments, Result]) -> Method[Arguments, Result]:
    """Do as `reader`, in one `Database.writer`.

    The function may run several times, so it must not change its object in a way that the next
    run does not undo. Raises what `retry` raises.
    """
    return _in_transaction(function, lambda context: context.database.writer(), writes=True)


def _in_transaction(
    function: Method[Arguments, Result],
    open_connection: Callable[[Any], contextlib.AbstractContextManager[sa.Connection]],
    writes: bool = False,
) -> Method[Arguments, Result]:
    @functools.wraps(function)
    def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        context = _context_of(subject, args)
        if context.open_connection is not None:
            return function(subject, *args, **kwargs)
        database = context.database
        recorder = context.change_recorder if writes else None

        def transaction() -> Result:
            with open_connection(context) as connection, _bound(context, connection):
                result = function(subject, *args, **kwargs)
                if recorder is not None:
                    recorder.write(connection)
            return result

        attempts = database.attempts if writes else READ_ATTEMPTS
        attempt = transaction if recorder is None else _recorded(transaction, recorder)
        return retry(attempt, function.__qualname__, attempts, database.recorder)

    return run


def _recorded(transaction: Callable[[], Result], recorder: ChangeRecorder) -> Callable[[], Result]:
    """A transaction that is repeated at once where its history cannot be written."""

    def run() -> Result:
        recorder.begin()
        try:
            result = transaction()
        except failures.DATABASE_ERRORS as error:
            if not recorder.does_without(error):
                raise
            recorder.begin()
            result = transaction()
        recorder.committed()
        return result

    return run


def _context_of(subject: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the context of an object, the first argument of a class method, or the context."""
    if isinstance(subject, type):
        return arguments[0]
    return getattr(subject, '_context', subject)


@contextlib.contextmanager
def _bound(context: RequestContext, connection: sa.Connection) -> Iterator[None]:
    """Put the connection into the context while its transaction is open."""
    context.open_connection = connection
    try:
        yield
    finally:
        context.open_connection = None


def retry(
    transaction: Callable[[], Result],
    name: str,
    attempts: int,
    recorder: Recorder | None = None,
) -> Result:
    """Return what a transaction returns; begin it again after a conflict or a lost connection.

    `name` is for the log, `attempts` the largest number of attempts. A `recorder` counts attempts
    that failed.

    Raises `errors.TooManyConflicts` when the last attempt ended in a conflict,
    `errors.ServiceUnavailable` when the database failed for a reason that `causes` names,
    `errors.BadRequest` for a value that the database cannot store, and every other error of the
    database, which is a defect of this service, as it is.
    """
    deadline = time.monotonic() + MAX_RETRY_SECONDS
    for attempt in range(attempts):
        try:
            return transaction()
        except failures.DATABASE_ERRORS as error:
            cause, failure = failures.cause_of(error), error
        if cause not in RETRIED or time.monotonic() > deadline:
            break
        LOG.debug('Attempt %d at %s: %s', attempt + 1, name, failure)
        if attempt + 1 < attempts:
            _count(recorder, catalog.TRANSACTION_REPEATS, cause)
            backoff.sleep(attempt)
    _count(recorder, catalog.TRANSACTION_FAILURES, cause)
    if cause is None:
        raise failure
    raise _answer(cause, failure, name, attempt + 1) from failure


def _count(recorder: Recorder | None, metric: catalog.Metric, cause: Cause | None) -> None:
    if recorder is not None:
        name = 'defect' if cause is None else cause.name.lower()
        recorder.add(metric, (name,))


def _answer(cause: Cause, failure: Exception, name: str, attempts: int) -> errors.PlacementError:
    """Return the error for the client; the reason goes to the log."""
    if cause is Cause.VALUE:
        return errors.BadRequest('A value is beyond what the database can hold.')
    level = logging.WARNING if cause in _TEMPORARY else logging.ERROR
    LOG.log(
        level,
        '%s failed after %d attempt(s), %s: %s',
        name,
        attempts,
        cause.value + _REMEDIES.get(cause, ''),
        failures.message_of(failure),
    )
    if cause is Cause.CONFLICT:
        return errors.TooManyConflicts(retries=attempts - 1)
    return _ANSWERS[cause]()
