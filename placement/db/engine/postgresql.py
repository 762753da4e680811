# SPDX-License-Identifier: Apache-2.0
"""Engines for PostgreSQL whose transactions do not depend on the session.

A pooler such as pgbouncer gives each transaction another connection to the server. Settings and
prepared statements of a session would be missing in the next transaction, and affect other
clients. So each transaction sets its parameters in the round trip that begins it, and statements
are never prepared: psycopg numbers their names, so that a name may execute the statement of
another worker.
"""

from typing import Any

import sqlalchemy as sa

from placement.db.engine import begin_statement
from placement.db.engine.timeouts import LOCK_TIMEOUT, Timeouts

# psycopg2 sends its own BEGIN, and does not end transactions that it has not begun.
_BEGIN = {
    'psycopg': "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{}s'",
    'psycopg2': ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '{}s'"),
}

# The parameter of psycopg for the number of executions after which a statement is prepared.
_PREPARE = 'prepare_threshold'


def prepare(engine: sa.Engine, bounds: Timeouts) -> None:
    """Prepare the connections and transactions of an engine.

    :raises sqlalchemy.exc.ArgumentError: the URL has `prepare_threshold`
    """
    if _PREPARE in engine.url.query:
        raise sa.exc.ArgumentError(
            f'Remove {_PREPARE} from the URL of the database. Behind a pooler, prepared '
            'statements of different workers have the same names'
        )
    driver = engine.url.get_driver_name()
    if driver == 'psycopg':
        _connect_with_psycopg(engine, bounds.response)
    text = _BEGIN.get(driver, _BEGIN['psycopg2'])

    @sa.event.listens_for(engine, 'begin')
    def begin_transaction(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        seconds = options.get(LOCK_TIMEOUT, bounds.lock)
        begin_statement.execute(connection, text.format(seconds))


def _connect_with_psycopg(engine: sa.Engine, response_timeout: int) -> None:
    """Set the response timeout of connections, and prepare no statements."""
    # Imported here because only services on PostgreSQL have the driver.
    from placement.db.engine.psycopg_connection import BoundedConnection

    @sa.event.listens_for(engine, 'do_connect')
    def connect(
        _dialect: object, _record: object, args: Any, parameters: Any
    ) -> BoundedConnection:
        # Without `autocommit` psycopg would send a BEGIN of its own.
        own = {_PREPARE: None, 'autocommit': True}
        connection = BoundedConnection.connect(*args, **{**parameters, **own})
        connection.response_timeout = response_timeout or None
        return connection
