# SPDX-License-Identifier: Apache-2.0
"""Copies of a cloud, each of one moment, in the memory of this process.

All questions are answered from a copy, so that all pages of a list are of the same moment, and the
database has one short transaction for each copy.
"""

import datetime
import functools
import logging
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from placement.db.changes import FirstSink
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.engine.transactions import READ_ATTEMPTS, retry
from placement.db.mode import Mode
from placement.db.rows import Connection
from placement.db.schema.tables import utcnow
from placement.feed.keeper import SnapshotKeeper
from placement.feed.loader import load_providers
from placement.search.model.snapshot import Snapshot
from placement_insight.beside import statements
from placement_insight.errors import InsightBusy, MomentGone

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

# Maximum number of copies, and seconds that a replaced one is kept after its last use: clients
# request the pages of a list within less.
MAX_COPIES = 4
KEPT_SECONDS = 60.0

# Maximum number of seconds to wait for the copy of another thread.
MAX_WAIT_SECONDS = 30.0


class WrittenTo(Exception):
    """A transaction was about to write, which is a defect."""


def refuse_writes() -> FirstSink:
    """The first sink of a database that is never written.

    :raises WrittenTo: always
    """
    raise WrittenTo


class CopiedSnapshots(SnapshotKeeper):
    """The snapshot of a copy, which never changes."""

    def __init__(self, database: Database, snapshot: Snapshot) -> None:
        super().__init__(database)
        self._snapshot = snapshot

    def current(self) -> Snapshot:
        """Return the snapshot."""
        return self._snapshot

    def read_at_one_moment(self, read: Callable[[Connection, Snapshot], Result]) -> Result:
        """Call `read` with a connection and the snapshot of the same moment, return its result."""
        with self._database.begin(Mode.READ) as connection:
            return read(connection, self._snapshot)


class Copy(NamedTuple):
    """A copy of the cloud at one moment.

    `moment` is its unique name. Without consumers, it has sums instead of allocations. `at` is the
    time in UTC without time zone, and `read_at` the same time by the clock of `Copies`.
    """

    moment: str
    at: datetime.datetime
    read_at: float
    database: Database
    snapshots: CopiedSnapshots
    has_consumers: bool


class Copies:
    """The copies of a database, replaced by a new one after `max_age` seconds.

    A copy is made on demand, by one thread at a time, and with consumers only for the questions
    that need them: they are most of the rows of a cloud.
    """

    def __init__(
        self, source: Database, max_age: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._max_age = max_age
        self._clock = clock
        self._making = threading.Lock()
        # The copies, the newest first, with the time of their last use.
        self._asked: dict[Copy, float] = {}

    def current(self, with_consumers: bool) -> Copy:
        """Return a copy no older than `max_age`, a new one if need be.

        :raises InsightBusy: another thread takes too long to make one
        :raises errors.ServiceUnavailable: the database cannot be read
        """
        if not self._making.acquire(timeout=MAX_WAIT_SECONDS):
            raise InsightBusy
        try:
            suited = (copy for copy in self._asked if copy.has_consumers or not with_consumers)
            found = next(suited, None)
            if found is None or self.age(found) >= self._max_age:
                copied = functools.partial(self._copied, with_consumers)
                found = retry(copied, 'Copies.current', READ_ATTEMPTS)
                self._keep(found)
            self._asked[found] = self._clock()
            return found
        finally:
            self._making.release()

    def named(self, moment: str, with_consumers: bool) -> Copy:
        """Return the copy with a name.

        :raises MomentGone: it no longer exists
        """
        # Another thread may replace the dictionary: a copy that it dropped must not return.
        asked = self._asked
        for copy in tuple(asked):
            if copy.moment == moment and (copy.has_consumers or not with_consumers):
                asked[copy] = self._clock()
                return copy
        raise MomentGone

    def age(self, copy: Copy) -> float:
        """Return the age of a copy in seconds."""
        return self._clock() - copy.read_at

    def _keep(self, newest: Copy) -> None:
        """Add a new copy, and drop those that have not been used for `KEPT_SECONDS`."""
        bound = self._clock() - KEPT_SECONDS
        asked = [(copy, at) for copy, at in tuple(self._asked.items()) if at >= bound]
        self._asked = {newest: self._clock(), **dict(asked[: MAX_COPIES - 1])}

    def _copied(self, with_consumers: bool) -> Copy:
        engine = create_engine('sqlite://')
        database = Database(engine, refuse_writes, has_standard_names=False)
        # Disposed of with its last reference: a question may still use a copy that was replaced.
        weakref.finalize(database, engine.dispose).atexit = False
        at, read_at = utcnow(), self._clock()
        with self._source.begin(Mode.READ_ONE_MOMENT) as connection:
            statements.forbid_writes(connection)
            rows = statements.copy_tables(connection, engine, with_consumers)
        copied_at = self._clock()
        with database.begin(Mode.READ) as connection:
            snapshot = Snapshot.of(load_providers(connection))
        LOG.info(
            'Copied %d rows of %d providers in %.3f s; the snapshot took another %.3f s.',
            rows,
            len(snapshot),
            copied_at - read_at,
            self._clock() - copied_at,
        )
        moment = secrets.token_urlsafe(12)
        snapshots = CopiedSnapshots(database, snapshot)
        return Copy(moment, at, read_at, database, snapshots, with_consumers)
