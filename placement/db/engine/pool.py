# SPDX-License-Identifier: Apache-2.0
"""Pools that ask the database nothing but what a transaction asks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import plugins

from placement.db.engine.failures import Cause, cause_of

_NAME = 'placement'


class WithoutCourtesies(sa.engine.CreateEnginePlugin):
    """Leaves out the two round trips with which a pool lends a connection and takes it back.

    The ping before a transaction is not needed: a connection that was cut fails the first
    statement, which empties the pool, and the transaction begins again (`api.repeated`). Neither
    is the rollback after it: every transaction here is ended by a `with`.
    """

    def update_url(self, url: sa.URL) -> sa.URL:
        """The same, for nothing in it is meant for this."""
        return url

    def handle_pool_kwargs(self, pool_cls: type[sa.Pool], pool_args: dict[str, Any]) -> None:
        """Change what oslo.db asks of the pool."""
        pool_args.update(pre_ping=False, reset_on_return=None)

    def engine_created(self, engine: sa.Engine) -> None:
        """Let go of connections that nothing can be done with, although the server keeps them.

        Such are those to a primary that only reads by now: its address may lead to another one,
        which the next attempt finds. It has to be said before oslo.db is asked, which ends the
        asking.
        """
        sa.event.listen(engine, 'handle_error', _note_what_is_lost)


def _note_what_is_lost(context: sa.ExceptionContext) -> None:
    error = context.original_exception
    if isinstance(error, Exception) and cause_of(error) is Cause.LOST_CONNECTION:
        context.is_disconnect = True


plugins.register(_NAME, __name__, WithoutCourtesies.__name__)


def without_courtesies(url: str | sa.URL) -> sa.URL:
    """The URL of a database, for which an engine is made with such a pool."""
    return sa.make_url(url).update_query_pairs([('plugin', _NAME)], append=True)
