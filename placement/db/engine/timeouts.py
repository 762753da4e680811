# SPDX-License-Identifier: Apache-2.0
"""Bounds on how long a connection waits: for a server, for its response, for a lock.

Without them a server that falls silent, or a lock whose owner is frozen, would occupy a thread of
the service for as long as the operating system keeps the connection, which can be for ever.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

# How long a brief transaction waits for a lock, and for a response of a server.
BRIEF_LOCK_SECONDS = 1
BRIEF_RESPONSE_SECONDS = 2


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """The bounds in seconds; `connect` and `response` may be 0 for what the driver has."""

    connect: int = 10
    response: int = 30
    lock: int = 20


def with_timeouts(url: sa.URL, timeouts: Timeouts) -> sa.URL:
    """Return the URL with parameters for its driver; what the URL sets itself stays.

    PyMySQL and mysqlclient bound each read and write of the socket. For psycopg and psycopg2 TCP
    gives up when the server's machine no longer acknowledges anything; `bound_responses` bounds
    the wait for a server that is frozen, with psycopg alone.
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


def lock_timeout_statement(url: sa.URL, seconds: int) -> str:
    """Return the statement that bounds the waits of a session for locks.

    On MySQL `lock_wait_timeout` is that of metadata locks, which a running ALTER TABLE or a
    backup has, and `innodb_lock_wait_timeout` that of rows.
    """
    if url.get_backend_name() == 'postgresql':
        return f"SET SESSION lock_timeout = '{seconds}s'"
    return f'SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}'


def insert_briefly(
    connection: sa.Connection, text: str, values: tuple[Any, ...], lock: int
) -> None:
    """Execute an INSERT that waits no longer than `lock` seconds for a table that is locked.

    On PostgreSQL the bound stays until the transaction ends; MySQL takes it for a hint, which has
    no bound for rows. Raises what `Connection.exec_driver_sql` raises.
    """
    if connection.dialect.name == 'postgresql':
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{lock}s'")
    elif getattr(connection.dialect, 'is_mariadb', False):
        bounds = f'lock_wait_timeout = {lock}, innodb_lock_wait_timeout = {lock}'
        text = f'SET STATEMENT {bounds} FOR {text}'
    elif connection.dialect.name == 'mysql':
        text = text.replace('INSERT', f'INSERT /*+ SET_VAR(lock_wait_timeout = {lock}) */', 1)
    connection.exec_driver_sql(text, values)


def bound_responses(engine: sa.Engine, seconds: int) -> None:
    """Make psycopg raise an `OperationalError` when a response takes longer than `seconds`."""
    if not seconds or engine.url.get_driver_name() != 'psycopg':
        return
    # Imported here because only services on PostgreSQL have the driver.
    from placement.db.engine.psycopg_connection import BoundedConnection

    @sa.event.listens_for(engine, 'do_connect')
    def connect(_dialect: Any, _record: Any, args: Any, parameters: Any) -> BoundedConnection:
        connection = BoundedConnection.connect(*args, **parameters)
        connection.response_timeout = seconds
        return connection


def lift(connection: sa.Connection) -> None:
    """Remove the bounds from a connection, and keep it from being used again afterwards.

    A migration waits for other migrations and for the transactions of running services, and
    changes tables for as long as it takes.
    """
    connection.detach()
    _bound_driver(connection, None)
    connection.execute(sa.text(_UNBOUNDED[connection.dialect.name]))


_UNBOUNDED = {
    'postgresql': 'SET SESSION lock_timeout = 0',
    'mysql': 'SET SESSION lock_wait_timeout = 86400',
    'mariadb': 'SET SESSION lock_wait_timeout = 86400',
}


@contextlib.contextmanager
def shortened(connection: sa.Connection) -> Iterator[None]:
    """Bound the waits of a connection to a server, and close it afterwards.

    It waits `BRIEF_LOCK_SECONDS` at most for a lock, and `BRIEF_RESPONSE_SECONDS` for a response
    with PyMySQL and psycopg. To open another one costs less than to find out what to set the
    bounds back to.
    """
    if connection.dialect.name == 'sqlite':
        yield
        return
    try:
        _bound_driver(connection, BRIEF_RESPONSE_SECONDS)
        statement = lock_timeout_statement(connection.engine.url, BRIEF_LOCK_SECONDS)
        connection.execute(sa.text(statement))
        connection.commit()
        yield
    finally:
        connection.invalidate()


def _bound_driver(connection: sa.Connection, seconds: int | None) -> None:
    """Set how long the driver waits for a response, without a bound for None."""
    driver_connection: Any = connection.connection.dbapi_connection
    # PyMySQL reads its private attributes at each wait, and has no public way to set them.
    for name in ('_read_timeout', '_write_timeout', 'response_timeout'):
        if hasattr(driver_connection, name):
            setattr(driver_connection, name, seconds)
