# SPDX-License-Identifier: Apache-2.0
"""Gauges of insight: named requests, promises, and the hosts that the cloud can lose."""

import contextlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from threading import Event, Thread

from prometheus_client.core import Metric

from placement import errors
from placement.conf import ConfigOpts, Error
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.feed import cloud_gauges
from placement.feed.gauges import ReadGauges, usable
from placement.feed.keeper import SnapshotKeeper
from placement.objects.allocation_candidate import check_names
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight.promises import promise as promises
from placement_insight.promises.promise import PromiseReport
from placement_insight.query_text import read_requests
from placement_insight.search.capacity import RequestCapacity, capacities_of
from placement_insight.search.promise import PromiseState
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.survival import SURVIVAL_BUDGET, DomainLoss, Survival
from placement_insight.what_if.pages import read_page_of_roots

LOG = logging.getLogger(__name__)


class RequestGauges:
    """Yields the capacity of the requests of a file, given a snapshot.

    An unusable file is logged as an error, and yields nothing.
    """

    def __init__(self, conf: ConfigOpts, database: Database) -> None:
        self._requests = usable(read_requests, conf.metrics.requests_file)
        self._database = database
        # The last counts, and their snapshot: counted once for each state of the cloud.
        self._counted: tuple[Snapshot, Mapping[str, RequestCapacity]] | None = None

    def __call__(self, snapshot: Snapshot) -> Iterator[Metric]:
        if self._requests:
            context = RequestContext(database=self._database)
            yield from _families(self._capacities(context, snapshot))

    def _capacities(
        self, context: RequestContext, snapshot: Snapshot
    ) -> Mapping[str, RequestCapacity | None]:
        """Return the capacity of each request by name, None where the service would refuse it.

        Classes and traits are looked up each time: deleting an unused trait does not change the
        snapshot.
        """
        known = {
            name: request
            for name, request in self._requests.items()
            if _has_known_names(context, name, request, snapshot)
        }
        counted = self._counted
        if counted is None or counted[0] is not snapshot or counted[1].keys() != known.keys():
            self._counted = counted = (snapshot, capacities_of(snapshot, known))
        return {name: counted[1].get(name) for name in self._requests}


def _has_known_names(
    context: RequestContext, name: str, request: CandidateRequest, snapshot: Snapshot
) -> bool:
    """True if all classes and traits of a request exist; log a warning if not."""
    try:
        check_names(context, request, snapshot)
    except (errors.ResourceClassNotFound, errors.TraitNotFound) as error:
        LOG.warning('Searches for the request %s are refused: %s', name, error)
        return False
    return True


_REQUEST_CAPACITY = (
    ('', 'Consumers of a request that could be claimed now, at least.'),
    ('_if_empty', 'Consumers of a request that could be claimed if nothing were used, at least.'),
    ('_exact', 'Whether no choice of candidates allows more, in both: 1 or 0.'),
    ('_refused', 'Whether it names a class or trait that does not exist: 1 or 0.'),
)

# The values of a request that the service would refuse.
_REFUSED = (0, 0, 1, 1)


def _families(capacities: Mapping[str, RequestCapacity | None]) -> Sequence[Metric]:
    names = [(f'placement_request_capacity{ending}', words) for ending, words in _REQUEST_CAPACITY]
    rows = [
        ([name], _REFUSED if capacity is None else _values(capacity))
        for name, capacity in capacities.items()
    ]
    return cloud_gauges.families(names, ['request'], rows)


def _values(capacity: RequestCapacity) -> Sequence[int]:
    return (capacity.now.at_least, capacity.if_empty.at_least, capacity.is_exact, 0)


_PROMISE_NUMBERS = (
    ('placement_promise_consumers', 'Consumers for which room is promised.'),
    ('placement_promise_room', 'Consumers that could be claimed now, at least.'),
    ('placement_promise_slack', 'Room beyond the promised count; negative if there is less.'),
)
_PROMISE_STATE = (
    ('placement_promise_state', '1 for the state of the promise, 0 for the others.'),
)


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
        numbers = [([report.promise.name], _values_of(report)) for report in reports]
        yield from cloud_gauges.families(_PROMISE_NUMBERS, ['promise'], numbers)
        states = [
            ([report.promise.name, state.value], [report.state is state])
            for report in reports
            for state in PromiseState
        ]
        yield from cloud_gauges.families(_PROMISE_STATE, ['promise', 'state'], states)


def _values_of(report: PromiseReport) -> Sequence[int]:
    count, room = report.promise.count, report.room.at_least
    return count, room, room - count


#: Minimum interval of failure domains in seconds. One computation takes seconds in a cloud of
#: 10,000 hosts.
MIN_INTERVAL = 300
# Number of hosts that are examined at a time.
PAGE = 1_000

STATES = ('survives', 'alike_fails', 'fails', 'unknown')
_DOMAINS = (
    'placement_failure_domains',
    'Hosts in use, by what becomes of their consumers when one fails alone.',
)


class FailureDomains:
    """The gauge of hosts that the cloud can lose, recomputed at intervals.

    Empty before the first computation, and after one that failed.
    """

    def __init__(self, snapshots: SnapshotKeeper) -> None:
        self._snapshots = snapshots
        self._counted: Mapping[str, int] = {}

    def read(self) -> Iterator[Metric]:
        """Yield the number of hosts in each state."""
        rows = [((state,), (count,)) for state, count in self._counted.items()]
        if rows:
            yield from cloud_gauges.families([_DOMAINS], ['state'], rows)

    def ask_every(self, seconds: int, stopped: Event) -> None:
        """Compute the gauge now, and again at this interval until `stopped` is set.

        A computation that failed is retried after `MIN_INTERVAL`.
        """
        while not stopped.is_set():
            self._ask()
            stopped.wait(seconds if self._counted else MIN_INTERVAL)

    def _ask(self) -> None:
        counted: Mapping[str, int] = {}
        try:
            counted = count_states(self._snapshots)
        except errors.ServiceUnavailable as error:
            LOG.warning('The metrics do not show which failures the cloud can take: %s', error)
        # A defect here must not end the process, which exports all other metrics too.
        except Exception:
            LOG.exception('The metrics do not show which failures the cloud can take')
        self._counted = counted


def count_states(snapshots: SnapshotKeeper) -> dict[str, int]:
    """Count the hosts of the cloud by state, one page of hosts at a time.

    :raises errors.ServiceUnavailable: the database does not answer
    """
    counted, marker, has_more = Counter[str](), '', True
    while has_more:
        page = read_page_of_roots(snapshots, marker, PAGE)
        asking = Survival(page.after.snapshot, work=SlicedWork(SURVIVAL_BUDGET))
        for domain in page.domains.items:
            counted[state_of(asking.loss(domain, page.holders_of))] += 1
            marker = domain.name
        has_more = page.domains.has_more
    return {state: counted[state] for state in STATES}


def state_of(loss: DomainLoss) -> str:
    """Return the state of a domain, one of `STATES`."""
    if loss.survives is None:
        return 'unknown'
    if not loss.survives:
        return 'fails'
    return 'survives' if loss.placed_alike == loss.consumers else 'alike_fails'


@contextlib.contextmanager
def exporter_gauges(conf: ConfigOpts, snapshots: SnapshotKeeper) -> Iterator[Sequence[ReadGauges]]:
    """Yield the gauges of `placement-metrics` alone, which a thread computes.

    :raises Error: the interval is too short
    """
    interval = conf.metrics.survival_interval
    if 0 < interval < MIN_INTERVAL:
        raise Error(f'[metrics] survival_interval has to be 0, or {MIN_INTERVAL} at least')
    domains, stopped = FailureDomains(snapshots), Event()
    if interval:
        Thread(target=domains.ask_every, args=(interval, stopped), daemon=True).start()
    try:
        yield [lambda _snapshot: domains.read()]
    finally:
        stopped.set()
