# SPDX-License-Identifier: Apache-2.0
"""Unsuccessful searches: collected in memory by the worker, and written at intervals.

Adding a search costs microseconds. Writes happen after an answer was sent, at most every
`FLUSH_SECONDS`; a worker that is killed loses the searches since its last write.
"""

import collections
import threading
import time
from collections.abc import Callable

from placement.db.engine import failures as database_failures
from placement.db.engine.causes import Cause
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.schema.own_tables import REASON_LENGTH, TREES_LENGTH
from placement.http.searches import SearchOrigin
from placement.search.model.request import CandidateRequest
from placement_insight import counters
from placement_insight.demand import statements
from placement_insight.demand.normalized_query import normalized
from placement_insight.demand.statements import Demand, Miss
from placement_insight.failures import Failures
from placement_insight.search.empty_search import Explanation

FLUSH_SECONDS = 10.0

# The interval after a failure is longer: a missing or full table then costs next to nothing.
SECONDS_AFTER_FAILURE = 60.0

# Maximum number of different demands, and of searches, between two flushes of a worker.
MAX_DEMANDS = 1_000
MAX_MISSES = 1_000

# Longer queries are dropped; those of nova have a few hundred characters.
MAX_QUERY_LENGTH = 16_000

# Maximum number of attempts to write after conflicts with other workers.
WRITE_ATTEMPTS = 3

# Maximum number of transactions that remove rows of one table after a flush.
PRUNED_AT_MOST = 10

WRITING = 'Writing unmet demand'


class UnmetDemand:
    """The unsuccessful searches that one worker collects and writes to the database. Thread-safe.

    `dropped` counts searches that were lost: too many at a time, or with too long a query.
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

    def add(
        self, wanted: CandidateRequest, explanation: Explanation, origin: SearchOrigin
    ) -> None:
        """Collect a search that found no candidates, or was refused."""
        query, trees, fingerprint, suffixes = normalized(wanted)
        miss = Miss(
            fingerprint=fingerprint,
            global_request_id=origin.global_request_id or origin.request_id,
            request_id=origin.request_id,
            at=self._clock(),
            microversion=origin.version,
            trees=trees if len(trees) <= TREES_LENGTH else '',
            verdict=explanation.verdict.value,
            reason=_plain(explanation.reason(suffixes))[:REASON_LENGTH],
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
        """True if there are searches to write, and the interval has passed."""
        return bool(self._demands) and self._clock() >= self._due_at

    def flush(self) -> None:
        """Write the collected searches, unless another thread is doing so. Raises nothing.

        After a failure they are kept for the next flush, as far as there is room.
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
        # Two workers may insert the same new demand: the later one finds it at the next attempt.
        for left in reversed(range(WRITE_ATTEMPTS)):
            is_written = False
            try:
                with self._database.begin(Mode.WRITE_BRIEFLY) as connection:
                    statements.add(connection, demands, misses, self._clock())
                is_written = True
                self._prune()
                return
            except database_failures.DATABASE_ERRORS as error:
                cause, reason = database_failures.cause_of(error), error
            if is_written or cause is not Cause.CONFLICT or not left:
                break
        self._due_at = self._clock() + SECONDS_AFTER_FAILURE
        self._failures.expected(WRITING, database_failures.message_of(reason))
        # Values that the database refuses would be refused each time.
        if not is_written and cause not in (None, Cause.VALUE):
            self._put_back(demands, misses)

    def _prune(self) -> None:
        """Remove excess rows of both tables, some in each transaction."""
        for prune in (statements.prune_searches, statements.prune_demands):
            for _ in range(PRUNED_AT_MOST):
                with self._database.begin(Mode.WRITE_BRIEFLY) as connection:
                    if not prune(connection):
                        break

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
            recorder.add(counters.UNMET_DEMAND_DROPPED, (), times)


def _plain(text: str) -> str:
    """Escape non-ASCII characters: names of aggregates may have some that the column refuses."""
    return text.encode('ascii', 'backslashreplace').decode()
