# SPDX-License-Identifier: Apache-2.0
"""`Insight`: a worker's part of answering the questions below `/insight`."""

from __future__ import annotations

import contextlib
import copy
import datetime
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from oslo_context.context import RequestContext

from placement.conf import ConfigOpts
from placement.db.changes import Sink
from placement.db.engine.database import Database
from placement.http.service import WorkerPart
from placement_insight.demand.keeper import UnmetDemand
from placement_insight.demand.observer import MissObserver
from placement_insight.errors import InsightBusy, InsightOff
from placement_insight.failures import Failures
from placement_insight.history.keeper import ChangeHistory
from placement_insight.history.sink import HistorySink
from placement_insight.promises.keeping import Keeping

# Switch interval of the interpreter in seconds while a question is computed. A thread that answers
# the API gives the interpreter away at each statement, and waits this long to get it back: ten
# times as long with the default.
SECONDS_UNTIL_SWITCH = 0.000_5

# Maximum number of waiting questions, and maximum number of seconds that each waits. With a single
# waiting question, the last of four browsers that load the page together starts seconds late.
MAX_WAITING = 2
SECONDS_TO_WAIT = 0.25

# Questions that read rows and compute nothing: they take milliseconds, and followers of the cloud
# ask for its changes every second. Sums of usage are not among them, which read all allocations,
# nor are lists of providers: a page of 1,000 trees takes tens of milliseconds.
TAKING_NO_TURN = frozenset({'changes', 'consumers', 'history', 'names', 'unmet_demand'})


class SwitchInterval:
    """The switch interval of the interpreter, which all applications of a process share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions = 0
        self._usual = 0.0

    @contextlib.contextmanager
    def shortened(self) -> Iterator[None]:
        """Shorten the interval until the last of the concurrent questions ends."""
        with self._lock:
            if not self._questions:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(SECONDS_UNTIL_SWITCH)
            self._questions += 1
        try:
            yield
        finally:
            with self._lock:
                self._questions -= 1
                if not self._questions:
                    sys.setswitchinterval(self._usual)


_INTERVAL = SwitchInterval()


class Insight(WorkerPart):
    """The questions that a worker answers in addition to the API, one at a time.

    `options` maps each question to the option that switches it on; `enabled` has the names of the
    questions that are on. `unmet_demand`, `change_history` and `keeping` are None while they are
    off. `notes` has limitations of questions, and reasons why questions are off whatever the
    options are.

    Answers show the cloud at the moment of the request. With a `max_age` in seconds they show a
    copy that is no older, as of the time `at` (UTC without time zone); the `page_parameters` of
    links to next pages lead to the same copy.
    """

    options: Mapping[str, str] = {
        'allocation_candidates': '[insight] allocation_candidates',
        'capacity': '[insight] capacity',
        'survival': '[insight] survival',
        'drain': '[insight] drain',
        'moves': '[insight] moves',
        'unmet_demand': '[insight] unmet_demand',
        'providers': '[insight] cloud',
        'promises': '[insight] promises',
        'consumers': '[insight] cloud',
        'usages': '[insight] cloud',
        'changes': '[insight] cloud',
        'names': '[insight] cloud',
        'history': '[history] enabled',
    }

    def __init__(
        self,
        database: Database,
        enabled: frozenset[str] = frozenset(options),
        retention_days: int = 30,
        max_history_rows: int = 10_000_000,
        notes: Mapping[str, str] = MappingProxyType({}),
        max_age: int | None = None,
        keeps_promises: bool = False,
    ) -> None:
        self.enabled = enabled
        self.max_age = max_age
        self.at: datetime.datetime | None = None
        self.page_parameters: Mapping[str, str] = {}
        self._notes = notes
        self.failures = Failures(database.recorder)
        self.change_history = (
            ChangeHistory(database, self.failures, retention_days, max_history_rows)
            if 'history' in enabled
            else None
        )
        self.unmet_demand = (
            UnmetDemand(database, self.failures) if 'unmet_demand' in enabled else None
        )
        self.keeping = Keeping(database, self.failures) if keeps_promises else None
        self.observers = (MissObserver(self.unmet_demand, self.failures),)
        self.offers = () if self.keeping is None else (self.keeping.offer,)
        keepers = (self.unmet_demand, self.change_history)
        self.tasks = [keeper for keeper in keepers if keeper is not None]
        self._asked = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MAX_WAITING)

    @classmethod
    def from_conf(cls, conf: ConfigOpts, database: Database) -> Insight:
        """Return an instance with the options of `[insight]` and `[history]`."""
        return cls(
            database,
            cls.list_enabled(conf),
            conf.history.retention_days,
            conf.history.max_rows,
            keeps_promises=conf.insight.promises and conf.insight.keep_promises,
        )

    @classmethod
    def list_enabled(cls, conf: ConfigOpts) -> frozenset[str]:
        """List the questions that options switch on."""
        return frozenset(name for name, option in cls.options.items() if _is_on(conf, option))

    def pinned(self, at: datetime.datetime, page_parameters: Mapping[str, str]) -> Insight:
        """Return a copy for answers and pages of one moment, which shares all else."""
        pinned = copy.copy(self)
        pinned.at, pinned.page_parameters = at, page_parameters
        return pinned

    def note(self, name: str) -> str | None:
        """Return the limitation of a question, or the reason why it is off; None for neither."""
        if name in self._notes:
            return self._notes[name]
        return None if name in self.enabled else f'{self.options[name]} is false'

    def sinks(self, context: RequestContext, action: str) -> Sequence[Sink]:
        """Return the sinks for the changes of one request; `action` is its name in the history."""
        if self.change_history is None:
            return ()
        return (HistorySink(self.change_history, context, action),)

    def flush(self) -> None:
        """Write the searches that this worker keeps in memory, so that answers include them."""
        if self.unmet_demand is not None:
            self.unmet_demand.flush()

    @contextlib.contextmanager
    def question(self, name: str) -> Iterator[None]:
        """Enter a question; of those that compute, one at a time.

        `MAX_WAITING` questions wait for their turn, each for `SECONDS_TO_WAIT`. More of them could
        occupy all threads of a process, of which the sample configurations have four.

        :raises InsightOff: the question is off
        :raises InsightBusy: another question is being answered
        """
        if name not in self.enabled:
            raise InsightOff(reason=self.note(name))
        with contextlib.nullcontext() if name in TAKING_NO_TURN else self._turn():
            yield

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._asked.acquire(blocking=False) and not self._acquired_after_waiting():
            raise InsightBusy
        try:
            with _INTERVAL.shortened():
                yield
        finally:
            self._asked.release()

    def _acquired_after_waiting(self) -> bool:
        if not self._waiting.acquire(blocking=False):
            return False
        try:
            return self._asked.acquire(timeout=SECONDS_TO_WAIT)
        finally:
            self._waiting.release()


def _is_on(conf: ConfigOpts, option: str) -> bool:
    """True if an option, given as `[group] name`, is on."""
    group, name = option.split()
    return bool(conf[group.strip('[]')][name])
