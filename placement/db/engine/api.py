# SPDX-License-Identifier: Apache-2.0
"""Engines and transactions.

A method of an object that reads or writes is wrapped in `reader` or `writer`; what it calls finds
the open transaction as `context.connection`. Nothing else opens one.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from oslo_db.sqlalchemy import engines

from placement import errors
from placement.conf import ConfigOpts
from placement.db.engine import backoff, failures, first_connection, pool, sqlite
from placement.db.statements.id_cache import IdCache

LOG = logging.getLogger(__name__)

Arguments = ParamSpec('Arguments')
Result = TypeVar('Result')

Connection = sa.Connection

# A row of whatever columns a statement has.
Row = sa.Row[*tuple[Any, ...]]

# Attempts at one transaction before the client is told that it conflicts, unless configured.
ATTEMPTS = 10

# Attempts at what only reads: enough for a connection that was cut, and no waiting for a
# database that is away.
READ_ATTEMPTS = 3

# Options of [placement_database] of which engines are made.
ENGINE_OPTIONS = (
    'mysql_sql_mode',
    'connection_recycle_time',
    'connection_debug',
    'max_pool_size',
    'max_overflow',
    'pool_timeout',
    'sqlite_synchronous',
    'connection_trace',
    'max_retries',
    'retry_interval',
    'connection_parameters',
)


class Context(Protocol):
    """What a transaction needs of a context (`placement.context.RequestContext`).

    `open_connection` is None while no transaction is open, and `connection` is its connection.
    `allow_replica_read` says that a replica may answer, which can be behind what was committed.
    """

    allow_replica_read: bool
    open_connection: Connection | None

    @property
    def database(self) -> Database: ...

    @property
    def connection(self) -> Connection: ...


class Database:
    """The engines of one configuration: one to write to, one to read from."""

    def __init__(
        self,
        engine: sa.Engine,
        read_engine: sa.Engine | None = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        self.engine = engine
        self.attempts = attempts
        self.id_cache = IdCache()
        self._writer = sqlite.writing(engine)
        self._reader = engine if read_engine is None else read_engine

    @classmethod
    def from_conf(cls, conf: ConfigOpts) -> Database:
        """The database that `[placement_database]` names (contract: config_and_policy.md)."""
        group = conf.placement_database
        options = {name: getattr(group, name) for name in ENGINE_OPTIONS}
        # An empty mode would be set as it is, and be none instead of that of the server.
        options['mysql_sql_mode'] = group.mysql_sql_mode or None
        read_engine = None
        if group.slave_connection:
            read_engine = create_engine(group.slave_connection, **options)
        attempts = max(1, conf.placement.allocation_conflict_retry_count)
        return cls(create_engine(group.connection, **options), read_engine, attempts)

    @contextlib.contextmanager
    def reader(self) -> Iterator[sa.Connection]:
        """A connection in one transaction that only reads, from a replica where there is one."""
        with self._reader.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def fresh_reader(self) -> Iterator[sa.Connection]:
        """As `reader`, but never from a replica, which may lag behind."""
        with self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def consistent_reader(self) -> Iterator[sa.Connection]:
        """As `fresh_reader`, and all statements see the same moment."""
        with self.engine.begin() as connection:
            # On SQLite that is so in any transaction.
            if connection.dialect.name != 'sqlite':
                connection.execute(sa.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'))
            yield connection

    @contextlib.contextmanager
    def writer(self) -> Iterator[sa.Connection]:
        """A connection in one transaction that may write; on SQLite it holds the lock at once."""
        with self._writer.begin() as connection:
            yield connection

    @property
    def readers(self) -> Sequence[Callable[[], contextlib.AbstractContextManager[sa.Connection]]]:
        """What opens a transaction that only reads, once for each engine."""
        if self._reader is self.engine:
            return (self.fresh_reader,)
        return self.fresh_reader, self.reader

    def dispose(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()
        if self._reader is not self.engine:
            self._reader.dispose()


def create_engine(
    url: str, max_retries: int = 10, retry_interval: int = 10, **options: Any
) -> sa.Engine:
    """An engine whose errors are oslo.db's, prepared for the rules of its database.

    It waits for a server that is not there yet, as `first_connection.await_database` does.
    """
    if sa.make_url(url).get_backend_name() == 'sqlite':
        return sqlite.create_engine(url, **options)
    # Without `thread_checkin`, which would let go of the interpreter after each transaction.
    engine = engines.create_engine(
        pool.without_courtesies(url), thread_checkin=False, max_retries=0, **options
    )
    _use_read_committed(engine)
    first_connection.await_database(engine, max_retries, retry_interval)
    return engine


def _use_read_committed(engine: sa.Engine) -> None:
    """Let every statement see what is committed when it starts.

    Under MySQL's REPEATABLE READ the first plain read would fix the view of a transaction before
    its locks are taken, so that it would claim what was taken meanwhile; and looking for a row
    that is not there would lock the gap around it, so that claims of new consumers deadlock.
    PostgreSQL has this level unless it was configured otherwise.
    """
    statement = {
        'mysql': 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
        'postgresql': 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
    }[engine.url.get_backend_name().replace('mariadb', 'mysql')]

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        connection.commit()


def _context_of(subject: Any, arguments: tuple[Any, ...]) -> Any:
    """The context of an object, the first argument of a class method, or the context itself."""
    if isinstance(subject, type):
        return arguments[0]
    return getattr(subject, '_context', subject)


def reader(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Run a method of an object or class, or a function of a context, in one transaction.

    Raises as `repeated` does.
    """
    return _in_transaction(function, _read_connection, lambda _database: READ_ATTEMPTS)


def writer(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """As `reader`, for a transaction that writes.

    What the function does to its object must be harmless when it is done again.
    """
    return _in_transaction(
        function, lambda context: context.database.writer(), lambda database: database.attempts
    )


Opening = Callable[[Any], contextlib.AbstractContextManager[sa.Connection]]


def _in_transaction(
    function: Callable[Concatenate[Any, Arguments], Result],
    open_connection: Opening,
    attempts: Callable[[Any], int],
) -> Callable[Concatenate[Any, Arguments], Result]:
    @functools.wraps(function)
    def run(subject: Any, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        context = _context_of(subject, args)
        if context.open_connection is not None:
            return function(subject, *args, **kwargs)

        def transaction() -> Result:
            with open_connection(context) as connection, _opened(context, connection):
                return function(subject, *args, **kwargs)

        return repeated(transaction, function.__qualname__, attempts(context.database))

    return run


def repeated(transaction: Callable[[], Result], name: str, attempts: int) -> Result:
    """What a whole transaction returns, begun again when others or a lost connection ended it.

    Raises `errors.TooManyConflicts` when every attempt was interfered with,
    `errors.DatabaseUnavailable` when the last of them found no database or any of them no free
    connection to it, and `errors.BadRequest` for a value that the database cannot hold.
    """
    for attempt in range(attempts):
        try:
            return transaction()
        except failures.DATABASE_ERRORS as error:
            cause, failure = failures.cause_of(error), error
        if cause is None:
            raise failure
        if cause is failures.Cause.VALUE:
            raise errors.BadRequest('A value is beyond what the database can hold.') from failure
        if cause is failures.Cause.NO_FREE_CONNECTION:
            # It was waited for already, for as long as the operator thinks fit.
            LOG.warning('%s found no free connection: %s', name, failure)
            raise errors.DatabaseUnavailable() from failure
        LOG.debug('Attempt %d at %s: %s', attempt + 1, name, failure)
        if attempt + 1 < attempts:
            backoff.pause(attempt)
    LOG.warning('%s gave up after %d attempts: %s', name, attempts, failure)
    if cause is failures.Cause.LOST_CONNECTION:
        raise errors.DatabaseUnavailable() from failure
    raise errors.TooManyConflicts() from failure


def _read_connection(context: Context) -> contextlib.AbstractContextManager[sa.Connection]:
    """Where to read: a write that follows must not be judged by what a replica still shows."""
    if context.allow_replica_read:
        return context.database.reader()
    return context.database.fresh_reader()


@contextlib.contextmanager
def _opened(context: Context, connection: sa.Connection) -> Iterator[None]:
    context.open_connection = connection
    try:
        yield
    finally:
        context.open_connection = None
