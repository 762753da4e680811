# SPDX-License-Identifier: Apache-2.0
"""Searches in vain: kept in memory by the worker, and written now and then.

A search adds to what the worker keeps, which costs microseconds. It is written after an answer was
sent, at most every `FLUSH_SECONDS`; what a worker has not written when it is killed is lost.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from placement.db.engine import failures as database_failures
from placement.db.engine.causes import Cause
from placement.db.engine.database import Database
from placement.db.schema.own_tables import REASON_LENGTH, TREES_LENGTH
from placement.db.schema.tables import utcnow
from placement.insight.demand import statements
from placement.insight.demand.normalized_query import normalized
from placement.insight.demand.statements import Demand, Miss
from placement.insight.failures import Failures
from placement.metrics import catalog
from placement.search.candidates import Result
from placement.search.model.request import CandidateRequest

if TYPE_CHECKING:
    import sqlalchemy as sa

    from placement.insight.searches import SearchOrigin

FLUSH_SECONDS = 10.0

# After a failure it waits longer, so that a table that is missing or full costs next to nothing.
SECONDS_AFTER_FAILURE = 60.0

# What a worker keeps at most between two flushes: different requests, and searches.
MAX_DEMANDS = 1_000
MAX_MISSES = 1_000

# Longer queries are not kept; nova's have a few hundred characters.
MAX_QUERY_LENGTH = 16_000

# Attempts at writing, where another worker was faster.
WRITE_ATTEMPTS = 3

# Transactions that remove old rows, after one flush and from one table.
PRUNED_AT_MOST = 10

WRITING = 'Writing unmet demand'


class UnmetDemand:
    """The searches in vain that one worker keeps and writes to the database.

    Any thread may call each method. `dropped` counts searches that were not kept because there
    were too many at a time, or because they were too long.
    """

    def __init__(
        self,
        database: Database,
        failures: Failures,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._failures = failures
        self._clock = clock
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._demands: dict[str, Demand] = {}
        self._misses: collections.deque[Miss] = collections.deque(maxlen=MAX_MISSES)
        self._due_at = clock() + FLUSH_SECONDS
        self.dropped = 0

    def add(self, wanted: CandidateRequest, result: Result, origin: SearchOrigin) -> None:
        """Keep a search that found nothing."""
        query, trees, fingerprint = normalized(wanted)
        explanation = result.explanation
        reason = '' if explanation is None else explanation.line.removeprefix('No candidates: ')
        miss = Miss(
            fingerprint=fingerprint,
            global_request_id=origin.global_request_id or origin.request_id,
            request_id=origin.request_id,
            at=utcnow(),
            microversion=origin.version,
            trees=trees if len(trees) <= TREES_LENGTH else '',
            verdict=result.verdict.value,
            reason=_plain(reason)[:REASON_LENGTH],
        )
        with self._lock:
            demand = self._demands.get(fingerprint)
            if demand is None:
                if len(self._demands) >= MAX_DEMANDS or len(query) > MAX_QUERY_LENGTH:
                    self._drop(1)
                    return
                demand = self._demands[fingerprint] = Demand(query, bool(trees), miss)
            demand.add(miss)
            self._misses.append(miss)

    @property
    def is_due(self) -> bool:
        """True with searches to write, when the last write is long enough ago."""
        return bool(self._demands) and self._clock() >= self._due_at

    def flush(self) -> None:
        """Write what is kept, unless another thread is doing so. Raises nothing.

        What cannot be written is kept for the next time, as far as there is room.
        """
        if not self._flushing.acquire(blocking=False):
            return
        try:
            self._flush()
        except Exception:
            self._due_at = self._clock() + SECONDS_AFTER_FAILURE
            self._failures.unexpected(WRITING)
        finally:
            self._flushing.release()

    def _flush(self) -> None:
        with self._lock:
            demands, misses = self._demands, list(self._misses)
            self._demands = {}
            self._misses.clear()
        self._due_at = self._clock() + FLUSH_SECONDS
        if not demands:
            return
        # Two workers may write the same new demand at a time: the later one finds it then.
        for left in reversed(range(WRITE_ATTEMPTS)):
            is_written = False
            try:
                with self._database.brief_writer() as connection:
                    with connection.begin():
                        statements.add(connection, demands, misses)
                    is_written = True
                    _prune(connection)
                return
            except database_failures.DATABASE_ERRORS as error:
                cause, reason = database_failures.cause_of(error), error
            if is_written or cause is not Cause.CONFLICT or not left:
                break
        self._due_at = self._clock() + SECONDS_AFTER_FAILURE
        self._failures.expected(WRITING, database_failures.message_of(reason))
        # What no database takes would be refused again and again.
        if not is_written and cause not in (None, Cause.VALUE):
            self._put_back(demands, misses)

    def _put_back(self, demands: dict[str, Demand], misses: list[Miss]) -> None:
        with self._lock:
            for fingerprint, newer in self._demands.items():
                if fingerprint in demands:
                    demands[fingerprint].merge(newer)
                elif len(demands) < MAX_DEMANDS:
                    demands[fingerprint] = newer
                else:
                    self._drop(newer.times)
            self._demands = demands
            self._misses = collections.deque([*misses, *self._misses], maxlen=MAX_MISSES)

    def _drop(self, times: int) -> None:
        self.dropped += times
        recorder = self._database.recorder
        if recorder is not None:
            recorder.add(catalog.UNMET_DEMAND_DROPPED, (), times)


def _prune(connection: sa.Connection) -> None:
    """Remove what is too old, a part in each transaction."""
    for prune in (statements.prune_searches, statements.prune_demands):
        for _ in range(PRUNED_AT_MOST):
            with connection.begin():
                if not prune(connection):
                    break


def _plain(text: str) -> str:
    """The text in ASCII: names of aggregates may have characters that no column takes."""
    return text.encode('ascii', 'backslashreplace').decode()
