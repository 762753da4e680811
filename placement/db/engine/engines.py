# SPDX-License-Identifier: Apache-2.0
"""Creates SQLAlchemy engines, prepared for each database."""

import contextlib
import itertools
import logging
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import engines

from placement.conf import DISTRIBUTION
from placement.db.engine import failures, pool, postgresql, sqlite, timeouts
from placement.db.engine.causes import DISCONNECTS
from placement.db.engine.timeouts import Timeouts

LOG = logging.getLogger(__name__)

DEFAULT_TIMEOUTS = Timeouts()

# PostgreSQL's drivers report a refused connection without an SQLSTATE. The message of a refusal
# begins with the first of these; one of the others is in it when the refusal is temporary.
_REFUSAL = 'FATAL'
_TEMPORARY = (
    'starting up',
    'shutting down',
    'recovery mode',
    'not yet accepting',
    'too many',
    'connection slots',
    # What pgbouncer says while it cannot reach its server, or has no room.
    'login has been failing',
    'server conn crashed',
    'server_login_retry',
    'connect failed',
    'query_wait_timeout',
    'no more connections allowed',
)

# The driver of a backend that an extra of this distribution installs, and the extra.
_DRIVERS = {
    'mysql': ('pymysql', 'mysql'),
    'mariadb': ('pymysql', 'mysql'),
    'postgresql': ('psycopg', 'postgresql'),
}


class MissingDriverError(Exception):
    """The driver of a database cannot be imported: the reason, and what to install."""

    def __init__(self, url: sa.URL, error: Exception) -> None:
        backend = url.get_backend_name()
        driver, extra = _DRIVERS.get(backend, ('', ''))
        package = f"'{DISTRIBUTION}[{extra}]'" if extra else 'the driver'
        self.reason = f'{url.drivername} cannot be used: {error}'
        self.remedy = f'Run pip install {package}.'
        if driver and url.drivername != f'{backend}+{driver}':
            # The extra alone would not help: it has another driver.
            self.remedy = f'Write it as {backend}+{driver}://…, and run pip install {package}.'
        super().__init__(f'{self.reason}. {self.remedy}')


def check_driver(url: str | sa.URL) -> sa.URL:
    """Import the driver that a URL names, and return the URL.

    :raises MissingDriverError: it cannot be imported
    :raises sqlalchemy.exc.ArgumentError: this is no URL
    """
    parsed = sa.make_url(url)
    try:
        parsed.get_dialect().import_dbapi()
    except (ImportError, sa.exc.NoSuchModuleError) as error:
        raise MissingDriverError(parsed, error) from error
    return parsed


def create_engine(
    url: str,
    max_retries: int = 10,
    retry_interval: int = 10,
    connection_parameters: str = '',
    bounds: Timeouts = DEFAULT_TIMEOUTS,
    **options: Any,
) -> sa.Engine:
    """Return an engine that raises the errors of oslo.db, for SQLite, MySQL or PostgreSQL.

    The parameters are options of ``[placement_database]``; `bounds` are the timeouts. Waits for a
    server that is not up yet, as described in `wait_for_database`.

    :raises MissingDriverError: the driver cannot be imported
    :raises Exception: see `wait_for_database`
    """
    parsed = check_driver(url)
    if connection_parameters:
        parsed = parsed.update_query_string(connection_parameters, append=True)
    if parsed.get_backend_name() == 'sqlite':
        return sqlite.create_engine(parsed, lock_timeout=bounds.lock, **options)
    # `thread_checkin` would make the thread yield the interpreter after every transaction.
    engine: sa.Engine = engines.create_engine(
        pool.with_placement_pool(timeouts.with_timeouts(parsed, bounds)),
        thread_checkin=False,
        max_retries=0,
        **options,
    )
    if parsed.get_backend_name() == 'postgresql':
        postgresql.prepare(engine, bounds)
    else:
        _prepare_sessions(engine, bounds.lock)
    if max_retries:
        wait_for_database(lambda: engine.connect().close(), max_retries, retry_interval)
    return engine


def _prepare_sessions(engine: sa.Engine, lock_timeout: int) -> None:
    """Set the lock timeouts of MySQL sessions, and the variables that statements depend on.

    Under REPEATABLE READ, the first plain read fixes the view of a transaction before the
    transaction takes its locks, so a claim would be checked against outdated usage. And a locking
    read that finds no row locks the gap around it, so claims of new consumers would deadlock.
    MySQL cuts off what GROUP_CONCAT returns after 1,024 bytes by default, with no more than a
    warning. With 16 MB it has room for the ids of two million traits of one provider. A server can
    also be configured to begin a transaction after each COMMIT, to refuse writes, or updates
    without a key, and to return only some rows.
    """
    statements = (
        'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE',
        (
            f'{timeouts.lock_timeout_statement(lock_timeout)}, group_concat_max_len = 16777216, '
            'completion_type = NO_CHAIN, sql_select_limit = 18446744073709551615, '
            'sql_safe_updates = 0'
        ),
    )

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()


def wait_for_database(
    attempt: Callable[[], object], max_retries: int, retry_interval: int
) -> None:
    """Repeat an attempt to use the database until it succeeds.

    oslo.db can wait too, but it recognises PostgreSQL's refusals by messages that current drivers
    no longer use, and gives up after the first attempt.

    `max_retries` is the number of attempts, at least one (-1: unlimited), and `retry_interval` the
    seconds between two of them.

    :raises Exception: the error of the last attempt, or the first error that is not temporary,
        such as a wrong password
    """
    last = max(max_retries, 1)
    for number in itertools.count(1):
        try:
            attempt()
            return
        except failures.DATABASE_ERRORS as error:
            if (number == last and max_retries != -1) or not _is_temporary(error):
                raise
            LOG.warning('Attempt %d to connect to the database: %s', number, error)
            time.sleep(retry_interval)


def _is_temporary(error: Exception) -> bool:
    """True if a later attempt may succeed."""
    words = str(error)
    if _REFUSAL in words and not any(temporary in words for temporary in _TEMPORARY):
        return False
    return failures.cause_of(error) in DISCONNECTS
