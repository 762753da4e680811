# SPDX-License-Identifier: Apache-2.0
"""Gauges of promises."""

from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric

from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.feed import cloud_gauges
from placement.search.model.snapshot import Snapshot
from placement_insight.promises import promise as promises
from placement_insight.promises.promise import PromiseReport
from placement_insight.search.promise import PromiseState

_NUMBERS = (
    ('placement_promise_consumers', 'Consumers for which room is promised.'),
    ('placement_promise_room', 'Consumers that could be claimed now, at least.'),
    ('placement_promise_slack', 'Room beyond what is promised; negative where less is there.'),
)
_STATE = (('placement_promise_state', '1 for the state of the promise, 0 for the others.'),)


class PromiseGauges:
    """Yields the gauges of all promises, given a snapshot."""

    def __init__(self, conf: ConfigOpts, database: Database) -> None:
        self._is_on: bool = conf.insight.promises
        self._context = RequestContext(database=database)

    def __call__(self, snapshot: Snapshot) -> Iterator[Metric]:
        if not self._is_on:
            return
        found = promises.list_promises(self._context)
        reports = promises.report_promises(self._context, snapshot, found)
        numbers = [([report.promise.name], _values(report)) for report in reports]
        yield from cloud_gauges.families(_NUMBERS, ['promise'], numbers)
        states = [
            ([report.promise.name, state.value], [report.state is state])
            for report in reports
            for state in PromiseState
        ]
        yield from cloud_gauges.families(_STATE, ['promise', 'state'], states)


def _values(report: PromiseReport) -> Sequence[int]:
    count, room = report.promise.count, report.room.at_least
    return count, room, room - count
