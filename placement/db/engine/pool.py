# SPDX-License-Identifier: Apache-2.0
"""Connection pools without pre-ping and without a reset on return."""

from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_errors
from sqlalchemy.dialects import plugins

from placement.db.engine.causes import DISCONNECTS, Cause
from placement.db.engine.failures import cause_of

_NAME = 'placement'

# Causes that oslo.db mostly does not recognise. It recognises conflicts, and SQLAlchemy tests the
# existence of tables by errors of the schema.
_KNOWN = frozenset(Cause) - DISCONNECTS - {Cause.CONFLICT, Cause.SCHEMA}


class PoolPlugin(sa.engine.CreateEnginePlugin):
    """Disables pre-ping and reset on return, and drops unusable connections.

    That saves two round trips per transaction. The ping is not needed: a lost connection fails the
    first statement, which empties the pool, and `transactions.retry` retries the transaction. The
    rollback is not needed: a `with` block ends every transaction.
    """

    def update_url(self, url: sa.URL) -> sa.URL:
        """Return the URL unchanged: it has no parameters of this plugin."""
        return url

    def handle_pool_kwargs(self, pool_cls: type[sa.Pool], pool_args: dict[str, Any]) -> None:
        """Override the options that oslo.db sets."""
        pool_args.update(pre_ping=False, reset_on_return=None)

    def engine_created(self, engine: sa.Engine) -> None:
        """Listen to errors before the listener of oslo.db, which ends the chain."""
        handle_errors(engine)


def handle_errors(engine: sa.Engine, drops_connections: bool = True) -> None:
    """Make an engine drop unusable connections, and raise known errors without a traceback."""
    if drops_connections:
        sa.event.listen(engine, 'handle_error', _drop_lost_connections)
    sa.event.listen(engine, 'handle_error', _raise_quietly)


def _drop_lost_connections(context: sa.ExceptionContext) -> None:
    """Make the pool drop connections that SQLAlchemy would keep.

    A connection to a former primary, which is read-only by now, still works; but a new one to the
    same address may lead to the new primary.
    """
    if _cause_of_original(context) in DISCONNECTS:
        context.is_disconnect = True


def _raise_quietly(context: sa.ExceptionContext) -> None:
    """Raise a DBError for an error with a known cause.

    oslo.db would log the traceback of each error whose message it does not recognise, such as for
    a name that a column cannot hold.
    """
    if _cause_of_original(context) in _KNOWN:
        error = context.original_exception
        raise db_errors.DBError(error) from error


def _cause_of_original(context: sa.ExceptionContext) -> Cause | None:
    error = context.original_exception
    return cause_of(error) if isinstance(error, Exception) else None


def check_room(engine: sa.Engine) -> None:
    """Raise `sqlalchemy.exc.TimeoutError` at once where `engine.connect` would wait for another
    transaction to give its connection back."""
    pool = engine.pool
    # SQLAlchemy has a public count of the connections, and no public maximum.
    most = getattr(pool, '_max_overflow', -1)
    if isinstance(pool, sa.QueuePool) and 0 <= most <= pool.overflow() and not pool.checkedin():
        raise sa.exc.TimeoutError(f'all {pool.size() + most} connections of the pool are in use')


plugins.register(_NAME, __name__, PoolPlugin.__name__)


def with_placement_pool(url: str | sa.URL) -> sa.URL:
    """Return the URL with the plugin named in it, for `create_engine`."""
    return sa.make_url(url).update_query_pairs([('plugin', _NAME)], append=True)
