# SPDX-License-Identifier: Apache-2.0
"""`Gauges`: what a scrape reads of the database, by the snapshot that a process keeps."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from prometheus_client.core import GaugeMetricFamily, Metric

from placement import errors, microversions
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.database import Database
from placement.db.statements import providers
from placement.feed.change_feed import ChangeFeed
from placement.feed.keeper import SnapshotKeeper
from placement.http import microversion
from placement.insight.explain.handlers import MAX_REQUESTS, parse_named_queries
from placement.metrics.exporter import cloud
from placement.metrics.named_files import UnusableFile, read_aggregate_names, read_names
from placement.objects.allocation_candidate import check_names
from placement.search.insight.capacity import RequestCapacity, capacities_of
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot


def read_requests(path: str | None) -> Mapping[str, CandidateRequest]:
    """The requests of a file by their names; none without a file.

    Raises `UnusableFile`.
    """
    texts = read_names(path)
    if len(texts) > MAX_REQUESTS:
        raise UnusableFile(f'{path} has {len(texts)} requests, more than {MAX_REQUESTS}')
    try:
        newest = microversion.negotiated(microversions.APIS, None, otherwise=microversions.NEWEST)
        return parse_named_queries(newest, texts)
    except errors.BadRequest as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error


@db.reader
def count_feed_entries(context: RequestContext) -> int:
    """How many entries the change feed has."""
    return ChangeFeed(context.connection).count()


@db.reader
def list_provider_names(context: RequestContext) -> Mapping[int, str]:
    """The name of every provider by its id."""
    return providers.list_names_by_id(context.connection)


LOG = logging.getLogger(__name__)

Content = TypeVar('Content')


class Gauges:
    """The gauges of the cloud; a function without arguments that yields them.

    `[metrics]` says what is to be shown beside the sums. A file that cannot be used is logged as
    an error, and what it asks for is not shown.

    Raises `errors.ServiceUnavailable` where the database does not answer.
    """

    def __init__(self, conf: ConfigOpts, database: Database, snapshots: SnapshotKeeper) -> None:
        group = conf.metrics
        self._requests = _usable(read_requests, group.requests_file)
        self._aggregates = _usable(read_aggregate_names, group.aggregate_names_file)
        self._per_provider: bool = group.per_provider
        self._database = database
        self._snapshots = snapshots
        # Counted once for each state of the cloud.
        self._counted: tuple[Snapshot, Mapping[str, RequestCapacity]] | None = None

    def __call__(self) -> Iterator[Metric]:
        snapshot = self._snapshots.current()
        context = RequestContext(database=self._database)
        yield from cloud.read(snapshot)
        yield GaugeMetricFamily(
            'placement_change_feed_entries',
            'Entries of the change feed, of which old ones are removed in blocks.',
            count_feed_entries(context),
        )
        if self._requests:
            yield from _families(self._capacities(context, snapshot))
        if self._aggregates:
            yield from cloud.read_aggregates(snapshot, self._aggregates)
        if self._per_provider:
            names = list_provider_names(context)
            yield from cloud.read_providers(snapshot, names)

    def _capacities(
        self, context: RequestContext, snapshot: Snapshot
    ) -> Mapping[str, RequestCapacity]:
        counted = self._counted
        if counted is None or counted[0] is not snapshot:
            known = {
                name: request
                for name, request in self._requests.items()
                if _has_known_names(context, name, request, snapshot)
            }
            self._counted = counted = (snapshot, capacities_of(snapshot, known))
        return counted[1]


def _has_known_names(
    context: RequestContext, name: str, request: CandidateRequest, snapshot: Snapshot
) -> bool:
    """Check that all classes and traits of a request exist; warn if not."""
    try:
        check_names(context, request, snapshot)
    except (errors.ResourceClassNotFound, errors.TraitNotFound) as error:
        LOG.warning('The metrics do not show the capacity of the request %s: %s', name, error)
        return False
    return True


_REQUEST_CAPACITY = (
    ('', 'Consumers of a request that could be claimed now, at least.'),
    ('_if_empty', 'Consumers of a request that could be claimed if nothing were used, at least.'),
    ('_exact', 'Whether no choice of candidates allows more, in both: 1 or 0.'),
)


def _families(capacities: Mapping[str, RequestCapacity]) -> Sequence[Metric]:
    names = [(f'placement_request_capacity{ending}', words) for ending, words in _REQUEST_CAPACITY]
    rows = [
        ([name], (capacity.now.at_least, capacity.if_empty.at_least, capacity.is_exact))
        for name, capacity in capacities.items()
    ]
    return cloud.families(names, ['request'], rows)


def _usable(
    read: Callable[[str | None], Mapping[str, Content]], path: str | None
) -> Mapping[str, Content]:
    """The content of a file; nothing where it cannot be used, which is logged."""
    try:
        return read(path)
    except UnusableFile as error:
        LOG.error('The metrics do not show what a file asks for: %s', error)
        return {}
