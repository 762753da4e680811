# SPDX-License-Identifier: Apache-2.0
"""Transactions: `reader` and `writer` open one for a function, `retry` begins a failed one again.

The public methods of objects are wrapped in `reader` or `writer`. What they call finds the open
transaction as `context.connection`; nothing else opens one.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa

from placement import errors
from placement.db.engine import backoff, failures
from placement.db.engine.causes import RETRIED, Cause
from placement.db.engine.commit_outcome import CommitInDoubt, has_committed
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.db.engine.database import Database
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)

Arguments = ParamSpec('Arguments')
Result = TypeVar('Result')

Connection = sa.Connection

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


class ChangeRecorder(Protocol):
    """What writes a history of changes in the transactions that make them.

    `begin` comes before the work of each attempt at a transaction, `write` after it, and
    `committed` after the COMMIT. `does_without` says whether an attempt that failed is to be
    repeated, since it was the history that could not be written, or may have been; it then writes
    none.
    """

    def begin(self) -> None: ...

    def write(self, connection: Connection) -> None: ...

    def does_without(self, failure: Exception) -> bool: ...

    def committed(self) -> None: ...


class Context(Protocol):
    """What a transaction needs of a context.

    `placement.context.RequestContext` is one. `open_connection` is None unless a transaction is
    open, and `connection` is its connection. `allow_replica_read` lets a replica answer reads,
    which may not yet have what was committed last. `change_recorder` is None unless changes are
    recorded.
    """

    allow_replica_read: bool
    open_connection: Connection | None
    change_recorder: ChangeRecorder | None

    @property
    def database(self) -> Database: ...

    @property
    def connection(self) -> Connection: ...


OpenConnection = Callable[[Any], contextlib.AbstractContextManager[sa.Connection]]


def reader(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Run a method of an object or class, or a function of a context, in one transaction.

    A function that is called while a transaction is open joins it. Raises what `retry` raises.
    """
    return _in_transaction(function, _open_reader, lambda _database: READ_ATTEMPTS)


def reader_of_one_moment(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Do as `reader`, on the primary, in a transaction whose statements all see one moment."""
    return _in_transaction(
        function,
        lambda context: context.database.consistent_reader(),
        lambda _database: READ_ATTEMPTS,
    )


def writer(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Do as `reader`, for a transaction that writes.

    The function may run several times, so it must not change its object in a way that the next
    run does not undo. Raises what `retry` raises.
    """
    return _in_transaction(
        function,
        lambda context: context.database.writer(),
        lambda database: database.attempts,
        is_recorded=True,
    )


def idempotent_writer(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Do as `writer`, for a function that finds nothing to do where it has been done.

    It is repeated when the reply to its COMMIT is lost. So its transaction leaves no mark, and
    needs no change feed, which a database that comes from upstream does not have yet.
    """
    return _in_transaction(
        function,
        lambda context: context.database.unmarked_writer(),
        lambda database: database.attempts,
    )


def _in_transaction(
    function: Callable[Concatenate[Any, Arguments], Result],
    open_connection: OpenConnection,
    attempts: Callable[[Any], int],
    is_recorded: bool = False,
) -> Callable[Concatenate[Any, Arguments], Result]:
    @functools.wraps(function)
    def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        context = _context_of(subject, args)
        if context.open_connection is not None:
            return function(subject, *args, **kwargs)

        def transaction() -> Result:
            try:
                with open_connection(context) as connection, _bound(context, connection):
                    result = function(subject, *args, **kwargs)
                    if is_recorded and context.change_recorder is not None:
                        context.change_recorder.write(connection)
            except CommitInDoubt as doubt:
                # What the function returned is true if the transaction has committed after all.
                if not has_committed(context.database.engine, doubt.mark):
                    raise
            return result

        recorded = transaction
        if is_recorded and context.change_recorder is not None:
            recorded = _recorded(transaction, context.change_recorder)
        database = context.database
        name = function.__qualname__
        return retry(recorded, name, attempts(database), database.recorder)

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


def _open_reader(context: Context) -> contextlib.AbstractContextManager[sa.Connection]:
    """Open a transaction that reads, on a replica only where the context allows that.

    A write decides by what it reads, so it must never read what a replica still shows.
    """
    database = context.database
    return database.reader() if context.allow_replica_read else database.fresh_reader()


@contextlib.contextmanager
def _bound(context: Context, connection: sa.Connection) -> Iterator[None]:
    """Let statements find the connection in the context while its transaction is open."""
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
