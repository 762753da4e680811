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
    """Count the statements and connections of an engine, which the metrics call `database`."""
    _count_statements(engine, (database,), recorder)
    if isinstance(engine.pool, sa.QueuePool):
        _count_connections(engine.pool, (database,), recorder)


def _count_statements(engine: sa.Engine, labels: tuple[str], recorder: Recorder) -> None:
    """Execute each statement as SQLAlchemy would, and measure its time.

    One function around a statement costs less than one before and one after it, and also counts
    failed statements, such as waits for a lock that time out.
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
            # Tells SQLAlchemy that the statement was executed.
            return True

        return run

    dialect = engine.dialect
    for name in ('do_execute', 'do_execute_no_params', 'do_executemany'):
        sa.event.listen(engine, name, counted(getattr(dialect, name)))


def _count_connections(pool: sa.QueuePool, labels: tuple[str], recorder: Recorder) -> None:
    # Read after each request, which costs far less than counting every checkout and checkin.
    recorder.watch(catalog.POOL_IN_USE, labels, pool.checkedout)
    # The library has no public attribute for this; below 0 there is no limit.
    overflow: int = getattr(pool, '_max_overflow', -1)
    if overflow >= 0:
        most = pool.size() + overflow
        recorder.watch(catalog.POOL_MOST, labels, lambda: most)
