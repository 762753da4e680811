# SPDX-License-Identifier: Apache-2.0
"""Timeouts of connections: to connect, for a response, for a lock.

Without them a server that stops responding, or a lock whose owner is frozen, would occupy a thread
as long as the operating system keeps the connection, possibly for ever.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

# The execution option with the lock timeout in seconds on PostgreSQL and SQLite, where each
# transaction sets it at its beginning.
LOCK_TIMEOUT = 'placement_lock_timeout'

# Timeouts of brief transactions for a lock, and for a response of a server.
BRIEF_LOCK_SECONDS = 1
BRIEF_RESPONSE_SECONDS = 2


# Default lock timeouts. SQLite has only one lock, and writers do not queue for it.
SERVER_LOCK_SECONDS = 5
SQLITE_LOCK_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """The timeouts in seconds; 0 in `connect` and `response` keeps the driver's default."""

    connect: int = 10
    response: int = 30
    lock: int = 20


def default_lock(url: str) -> int:
    """Return the default lock timeout of a database in seconds."""
    is_sqlite = sa.make_url(url).get_backend_name() == 'sqlite'
    return SQLITE_LOCK_SECONDS if is_sqlite else SERVER_LOCK_SECONDS


def with_timeouts(url: sa.URL, timeouts: Timeouts) -> sa.URL:
    """Return the URL with parameters for its driver; parameters in the URL take precedence.

    PyMySQL and mysqlclient apply the timeout to each read and write of the socket. With psycopg
    and psycopg2, TCP gives up when the server's machine no longer acknowledges packets. With
    psycopg, `psycopg_connection` also detects a frozen server.
    """
    parameters: dict[str, int] = {}
    if url.get_driver_name() in ('pymysql', 'mysqldb'):
        parameters = {
            'connect_timeout': timeouts.connect,
            'read_timeout': timeouts.response,
            'write_timeout': timeouts.response,
        }
    elif url.get_driver_name() in ('psycopg', 'psycopg2'):
        probe = max(1, timeouts.response // 4)
        keepalives = {
            'keepalives_idle': probe,
            'keepalives_interval': probe,
            'keepalives_count': 3,
        }
        parameters = {
            'connect_timeout': timeouts.connect,
            # In milliseconds.
            'tcp_user_timeout': timeouts.response * 1000,
            **(keepalives if timeouts.response else {}),
        }
    added = {name: str(value) for name, value in parameters.items() if value}
    return url.update_query_dict(added | dict(url.query))


def lock_timeout_statement(seconds: int) -> str:
    """Return the statement that sets the lock timeouts of a MySQL session.

    `lock_wait_timeout` is for metadata locks, which a running ALTER TABLE or a backup holds, and
    `innodb_lock_wait_timeout` for locks of rows.
    """
    return f'SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}'


def lift(connection: sa.Connection) -> None:
    """Remove the timeouts of a connection, and discard it after use.

    A migration waits for other migrations and for transactions of running services, and its
    changes of tables may take long.
    """
    connection.detach()
    _bound_driver(connection, None)
    connection.execute(sa.text(_UNBOUNDED[connection.dialect.name]))


_UNBOUNDED = {
    # Its migration is one transaction.
    'postgresql': 'SET LOCAL lock_timeout = 0',
    'mysql': 'SET SESSION lock_wait_timeout = 86400',
    'mariadb': 'SET SESSION lock_wait_timeout = 86400',
}


@contextlib.contextmanager
def shortened(connection: sa.Connection) -> Iterator[None]:
    """Set short timeouts of a connection to a server, and close it afterwards.

    The timeouts are `BRIEF_LOCK_SECONDS` for a lock, and with PyMySQL and psycopg
    `BRIEF_RESPONSE_SECONDS` for a response. Opening a new connection costs less than reading and
    restoring the former timeouts.
    """
    if connection.dialect.name == 'sqlite':
        yield
        return
    try:
        _bound_driver(connection, BRIEF_RESPONSE_SECONDS)
        if connection.dialect.name == 'postgresql':
            connection.execution_options(**{LOCK_TIMEOUT: BRIEF_LOCK_SECONDS})
        else:
            connection.execute(sa.text(lock_timeout_statement(BRIEF_LOCK_SECONDS)))
            connection.commit()
        yield
    finally:
        connection.invalidate()


def _bound_driver(connection: sa.Connection, seconds: int | None) -> None:
    """Set the driver's timeout for a response; None disables it."""
    driver_connection: Any = connection.connection.dbapi_connection
    # PyMySQL reads its private attributes at each wait, and has no public way to set them.
    for name in ('_read_timeout', '_write_timeout', 'response_timeout'):
        if hasattr(driver_connection, name):
            setattr(driver_connection, name, seconds)
