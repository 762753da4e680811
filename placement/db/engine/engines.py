# SPDX-License-Identifier: Apache-2.0
"""Making SQLAlchemy engines, each prepared for the rules of its database."""

from __future__ import annotations

import contextlib
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import engines

from placement.db.engine import pool, sqlite, startup


def create_engine(
    url: str, max_retries: int = 10, retry_interval: int = 10, **options: Any
) -> sa.Engine:
    """Return an engine that raises the errors of oslo.db, for SQLite, MySQL or PostgreSQL.

    `options` are those of ``[placement_database]``. A server that is not up yet is waited for as
    `startup.wait_for_database` describes; raises what that raises.
    """
    if sa.make_url(url).get_backend_name() == 'sqlite':
        return sqlite.create_engine(url, **options)
    # `thread_checkin` would make the thread yield the interpreter after every transaction.
    engine = engines.create_engine(
        pool.with_placement_pool(url), thread_checkin=False, max_retries=0, **options
    )
    _use_read_committed(engine)
    startup.wait_for_database(engine, max_retries, retry_interval)
    return engine


def _use_read_committed(engine: sa.Engine) -> None:
    """Make every statement see what was committed before it started.

    Under MySQL's REPEATABLE READ, the first plain read fixes the view of a transaction before the
    transaction takes its locks, so a claim would be checked against outdated usage. And a locking
    read that finds no row locks the gap around it, so claims of new consumers would deadlock.
    PostgreSQL has READ COMMITTED unless an operator configured something else.
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
