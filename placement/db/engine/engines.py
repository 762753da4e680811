# SPDX-License-Identifier: Apache-2.0
"""Making SQLAlchemy engines, each prepared for the rules of its database."""

import contextlib
import itertools
import logging
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import engines

from placement.conf import DISTRIBUTION
from placement.db.engine import failures, pool, sqlite, timeouts
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
)

# The extra that brings the driver of a backend.
_EXTRAS = {'mysql': 'mysql', 'mariadb': 'mysql', 'postgresql': 'postgresql'}


class MissingDriverError(Exception):
    """The driver of a database cannot be imported: the reason, and what to install."""

    def __init__(self, url: sa.URL, error: Exception) -> None:
        extra = _EXTRAS.get(url.get_backend_name())
        package = f"'{DISTRIBUTION}[{extra}]'" if extra else 'the driver'
        self.reason = f'{url.drivername} cannot be used: {error}'
        self.remedy = f'Run pip install {package}.'
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

    The parameters are options of ``[placement_database]``, `bounds` being the timeouts. A server
    that is not up yet is waited for as `wait_for_database` describes; raises what that
    raises, and `MissingDriverError`.
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
    timeouts.bound_responses(engine, bounds.response)
    _prepare_sessions(engine, bounds.lock)
    if max_retries:
        wait_for_database(lambda: engine.connect().close(), max_retries, retry_interval)
    return engine


def _prepare_sessions(engine: sa.Engine, lock_timeout: int) -> None:
    """Bound waits for locks, make statements see what was committed before they started, and let
    GROUP_CONCAT return long texts.

    Under MySQL's REPEATABLE READ, the first plain read fixes the view of a transaction before the
    transaction takes its locks, so a claim would be checked against outdated usage. And a locking
    read that finds no row locks the gap around it, so claims of new consumers would deadlock.
    PostgreSQL has READ COMMITTED unless an operator configured something else. MySQL cuts off what
    GROUP_CONCAT returns after 1,024 bytes by default, with no more than a warning. With 16 MB it
    has room for the ids of two million traits of one provider.
    """
    statements = {
        'mysql': (
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
            'SET SESSION group_concat_max_len = 16777216',
        ),
        'postgresql': (
            'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
        ),
    }[engine.url.get_backend_name().replace('mariadb', 'mysql')]
    statements += (timeouts.lock_timeout_statement(engine.url, lock_timeout),)

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: Any, _record: Any) -> None:
        with contextlib.closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()


def wait_for_database(
    attempt: Callable[[], object], max_retries: int, retry_interval: int
) -> None:
    """Return as soon as an attempt succeeds at what a start needs of a database.

    oslo.db can wait too, but it recognises PostgreSQL's refusals by wordings that current drivers
    no longer use, and gives up after the first attempt.

    `max_retries` is the number of attempts (-1: unlimited), one at least, and `retry_interval` the
    seconds between two of them. Raises the error of the last attempt, or the first error that
    waiting cannot cure, such as a wrong password.
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
    """Return whether a later attempt may succeed."""
    words = str(error)
    if _REFUSAL in words and not any(temporary in words for temporary in _TEMPORARY):
        return False
    return failures.cause_of(error) in DISCONNECTS
