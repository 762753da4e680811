# SPDX-License-Identifier: Apache-2.0
"""Connection pools without pre-ping and without a reset on return."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import plugins

from placement.db.engine.causes import DISCONNECTS
from placement.db.engine.failures import cause_of

_NAME = 'placement'


class PoolPlugin(sa.engine.CreateEnginePlugin):
    """Turns off pre-ping and reset on return, and drops connections that became useless.

    That saves two round trips per transaction. Nothing needs the ping before a transaction: a
    lost connection fails the first statement, which empties the pool, and
    `transactions.retry` begins the transaction again. Nothing needs the rollback after one:
    a `with` ends every transaction.
    """

    def update_url(self, url: sa.URL) -> sa.URL:
        """Return the URL as it is: it carries no parameters of this plugin."""
        return url

    def handle_pool_kwargs(self, pool_cls: type[sa.Pool], pool_args: dict[str, Any]) -> None:
        """Override what oslo.db sets."""
        pool_args.update(pre_ping=False, reset_on_return=None)

    def engine_created(self, engine: sa.Engine) -> None:
        """Listen to errors before oslo.db does, whose listener ends the chain."""
        invalidate_lost_connections(engine)


def invalidate_lost_connections(engine: sa.Engine) -> None:
    """Make the pool of an engine drop its connections after errors that call for it."""
    sa.event.listen(engine, 'handle_error', _invalidate)


def _invalidate(context: sa.ExceptionContext) -> None:
    """Have the pool drop its connections where SQLAlchemy would keep them.

    A connection to a former primary, which is read-only by now, still works; but a new one to the
    same address may lead to the new primary.
    """
    error = context.original_exception
    if isinstance(error, Exception) and cause_of(error) in DISCONNECTS:
        context.is_disconnect = True


def check_room(engine: sa.Engine) -> None:
    """Raise `sqlalchemy.exc.TimeoutError` at once where `engine.connect` would wait for another
    transaction to give its connection back."""
    pool = engine.pool
    # SQLAlchemy tells how many connections there are, and not how many there may be.
    most = getattr(pool, '_max_overflow', -1)
    if isinstance(pool, sa.QueuePool) and 0 <= most <= pool.overflow() and not pool.checkedin():
        raise sa.exc.TimeoutError(f'all {pool.size() + most} connections of the pool are in use')


plugins.register(_NAME, __name__, PoolPlugin.__name__)


def with_placement_pool(url: str | sa.URL) -> sa.URL:
    """Return the URL with the plugin named in it, for `create_engine`."""
    return sa.make_url(url).update_query_pairs([('plugin', _NAME)], append=True)
