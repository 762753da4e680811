# SPDX-License-Identifier: Apache-2.0
"""`Insight`: the means of one worker to answer the questions below `/insight`."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from placement import errors
from placement.conf import ConfigOpts
from placement.db.engine.database import Database
from placement.insight.demand.keeper import UnmetDemand
from placement.insight.failures import Failures
from placement.insight.history.keeper import ChangeHistory
from placement.insight.searches import Searches

# How soon a thread that answers the API has the interpreter back from a question, in seconds. Such
# a thread gives it away at each statement, and would wait ten times as long by default: 99 % of
# searches beside survival of 10,000 hosts took 30 ms, and take 15.
SECONDS_UNTIL_SWITCH = 0.000_5

# How many questions wait for another one, and how long. Four pages that read 10,000 trees at once
# have all of them after 2.7 to 4.1 seconds, and their first ones after 0.5 to 1.3. Where one
# question waits, the last of four begins after up to 4 seconds.
MAX_WAITING = 2
SECONDS_TO_WAIT = 0.25


class Insight:
    """The questions that a worker answers beside the API, one at a time.

    `options` has, by the name of each question, the option that switches it on, and `enabled` the
    names of those that are on. `unmet_demand` is None while that is off, and so is
    `change_history`.
    """

    options: Mapping[str, str] = MappingProxyType(
        {
            'allocation_candidates': '[insight] allocation_candidates',
            'capacity': '[insight] capacity',
            'survival': '[insight] survival',
            'drain': '[insight] drain',
            'moves': '[insight] moves',
            'unmet_demand': '[insight] unmet_demand',
            'providers': '[insight] cloud',
            'consumers': '[insight] cloud',
            'usages': '[insight] cloud',
            'changes': '[insight] cloud',
            'names': '[insight] cloud',
            'history': '[history] enabled',
        }
    )

    def __init__(
        self,
        database: Database,
        enabled: frozenset[str] = frozenset(options),
        log_searches: str = 'empty',
        retention_days: int = 30,
        max_history_rows: int = 10_000_000,
    ) -> None:
        self.enabled = enabled
        self.failures = Failures(database.recorder)
        self.change_history = (
            ChangeHistory(database, self.failures, retention_days, max_history_rows)
            if 'history' in enabled
            else None
        )
        self.unmet_demand = (
            UnmetDemand(database, self.failures) if 'unmet_demand' in enabled else None
        )
        self.searches = Searches(log_searches, self.unmet_demand, self.failures, database.recorder)
        self._asked = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MAX_WAITING)

    @classmethod
    def from_conf(cls, conf: ConfigOpts, database: Database) -> Insight:
        """Build it from the options of `[insight]` and `[history]`."""
        enabled = frozenset(name for name, option in cls.options.items() if _is_on(conf, option))
        return cls(
            database,
            enabled,
            conf.placement.log_searches,
            conf.history.retention_days,
            conf.history.max_rows,
        )

    @property
    def dropped(self) -> int:
        """How many searches in vain this worker did not keep."""
        return 0 if self.unmet_demand is None else self.unmet_demand.dropped

    @property
    def unrecorded(self) -> int:
        """How many changes this worker made without a row in the history."""
        return 0 if self.change_history is None else self.change_history.lost

    @property
    def tasks(self) -> Sequence[UnmetDemand | ChangeHistory]:
        """The keepers that have work to do when an answer was sent."""
        return [task for task in (self.unmet_demand, self.change_history) if task is not None]

    def flush(self) -> None:
        """Write what this worker keeps, so that it is told of its own searches."""
        if self.unmet_demand is not None:
            self.unmet_demand.flush()

    @contextlib.contextmanager
    def question(self, name: str) -> Iterator[None]:
        """Answer a question, one at a time.

        Raises `errors.InsightOff` when it is off, and `errors.InsightBusy` while another one is
        being answered. `MAX_WAITING` questions wait for that, `SECONDS_TO_WAIT` at most: more
        would take all threads of a process from the API, four in the samples.
        """
        if name not in self.enabled:
            raise errors.InsightOff(option=self.options[name])
        if not self._asked.acquire(blocking=False) and not self._acquired_after_waiting():
            raise errors.InsightBusy
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SECONDS_UNTIL_SWITCH)
        try:
            yield
        finally:
            sys.setswitchinterval(interval)
            self._asked.release()

    def _acquired_after_waiting(self) -> bool:
        if not self._waiting.acquire(blocking=False):
            return False
        try:
            return self._asked.acquire(timeout=SECONDS_TO_WAIT)
        finally:
            self._waiting.release()


def _is_on(conf: ConfigOpts, option: str) -> bool:
    """The value of an option, given as `[group] name`."""
    group, name = option.split()
    return bool(conf[group.strip('[]')][name])
