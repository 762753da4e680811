# SPDX-License-Identifier: Apache-2.0
"""Metrics of the database: statements, their time, and connections in use."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder


def count(engine: sa.Engine, database: str, recorder: Recorder) -> None:
    """Count what an engine does from now on; `database` is its name in the metrics."""
    _count_statements(engine, (database,), recorder)
    if isinstance(engine.pool, sa.QueuePool):
        _count_connections(engine.pool, (database,), recorder)


def _count_statements(engine: sa.Engine, labels: tuple[str], recorder: Recorder) -> None:
    """Do what SQLAlchemy would do for each statement, and take the time.

    One function around a statement, instead of one before and one after it, costs less and sees
    those that fail, too: a wait for a lock that was in vain is the longest of all.
    """
    clock = time.perf_counter

    def counted(execute: Callable[..., None]) -> Callable[..., bool]:
        def run(*arguments: Any) -> bool:
            began_at = clock()
            try:
                execute(*arguments)
            finally:
                recorder.add(catalog.STATEMENTS, labels)
                recorder.add(catalog.STATEMENT_SECONDS, labels, clock() - began_at)
            # It has been executed.
            return True

        return run

    dialect = engine.dialect
    for name in ('do_execute', 'do_execute_no_params', 'do_executemany'):
        sa.event.listen(engine, name, counted(getattr(dialect, name)))


def _count_connections(pool: sa.QueuePool, labels: tuple[str], recorder: Recorder) -> None:
    # Read when a request has been answered, which costs a twentieth of what counting each one
    # costs that is taken or given back.
    recorder.watch(catalog.POOL_IN_USE, labels, pool.checkedout)
    # The library has no public way to ask for it; below 0 there is no bound.
    overflow: int = getattr(pool, '_max_overflow', -1)
    if overflow >= 0:
        most = pool.size() + overflow
        recorder.watch(catalog.POOL_MOST, labels, lambda: most)
