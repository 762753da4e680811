# SPDX-License-Identifier: Apache-2.0
"""Gauges of insight: the capacity of named requests, and the hosts that the cloud can lose."""

import contextlib
import logging
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
from placement_insight.failure_domains import MIN_INTERVAL, FailureDomains
from placement_insight.named_requests import read_requests
from placement_insight.search.capacity import RequestCapacity, capacities_of

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
