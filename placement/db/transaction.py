# SPDX-License-Identifier: Apache-2.0
"""Transactions of a context, and a decorator for methods that run in one.

`RequestContext.transaction` opens a transaction for a function, or joins the open one. The public
methods of objects are decorated with `in_transaction`, which calls it. A transaction that writes
has `Changes`, which its sinks write before COMMIT.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from placement.db.changes import Changes, Sink
from placement.db.engine import failures
from placement.db.engine.database import Database
from placement.db.engine.transactions import retry
from placement.db.mode import Mode
from placement.db.rows import Connection

Arguments = ParamSpec('Arguments')
Result = TypeVar('Result')

# A function whose first argument leads to a context (see `_context_of`).
Method = Callable[Concatenate[Any, Arguments], Result]


class OpenTransaction(NamedTuple):
    """The open transaction of a context: its connection, and the changes recorded so far."""

    connection: Connection
    changes: Changes


class Opener(Protocol):
    """The part of a context that this module uses."""

    def transaction(self, mode: Mode, work: Callable[[], Result], name: str) -> Result:
        """Run work in the open transaction, or in a new one; return its result."""


def in_transaction(
    mode: Mode,
) -> Callable[[Method[Arguments, Result]], Method[Arguments, Result]]:
    """Run a method of an object or class, or a function of a context, in a transaction.

    A retry calls the method again, with an object that the failed attempt may have changed: the
    method must not rely on the attributes that it sets itself.

    :raises Exception: see `retry`
    """

    def decorate(function: Method[Arguments, Result]) -> Method[Arguments, Result]:
        @functools.wraps(function)
        def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            work = functools.partial(function, subject, *args, **kwargs)
            return _context_of(subject, args).transaction(mode, work, function.__qualname__)

        return run

    return decorate


def _context_of(subject: Any, arguments: tuple[Any, ...]) -> Opener:
    """Return the context for the call of a decorated function.

    The subject is an object with a context, a class whose method takes the context as its next
    argument, or the context itself.
    """
    found: Opener = (
        arguments[0] if isinstance(subject, type) else getattr(subject, '_context', subject)
    )
    return found


def write(
    database: Database,
    sinks: Sequence[Sink],
    work: Callable[[OpenTransaction], Result],
    name: str,
) -> Result:
    """Run work in a transaction that writes; retry after temporary failures.

    `sinks` write after the first sink of the database. If one of them gives up after a failure,
    the whole transaction runs again at once, and that sink writes nothing: PostgreSQL has aborted
    the transaction, and a savepoint would cost each claim two round trips. This does not count as
    an attempt, and neither does a transaction that waits for its turn to lock rows.

    :raises Exception: see `retry`
    """

    def attempt() -> Result:
        changes = Changes()
        with database.begin(Mode.WRITE, changes=changes, sinks=sinks) as connection:
            return work(OpenTransaction(connection, changes))

    def attempt_in_turn() -> Result:
        return database.lock_waits.run(attempt, functools.partial(database.begin, Mode.READ))

    def attempt_with_sinks() -> Result:
        try:
            result = attempt_in_turn()
        except failures.DATABASE_ERRORS as error:
            given_up = [sink for sink in sinks if sink.gives_up(error)]
            if not given_up:
                raise
            result = attempt_in_turn()
        for sink in sinks:
            sink.committed()
        return result

    return retry(attempt_with_sinks, name, database.attempts, database.recorder)


def read(
    database: Database,
    mode: Mode,
    may_lag: bool,
    work: Callable[[OpenTransaction], Result],
    name: str,
) -> Result:
    """Run work in a transaction that reads; with `may_lag`, on the replica if there is one.

    :raises Exception: see `retry`
    """

    def attempt() -> Result:
        with database.begin(mode, may_lag) as connection:
            return work(OpenTransaction(connection, Changes()))

    return database.retry(attempt, name)
