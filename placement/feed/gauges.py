# SPDX-License-Identifier: Apache-2.0
"""`Gauges`: the gauges that a scrape reads from the database and the process's snapshot."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.statements import providers
from placement.db.transaction import in_transaction
from placement.feed import cloud_gauges
from placement.feed.change_feed import ChangeFeed
from placement.feed.keeper import SnapshotKeeper
from placement.metrics.named_files import UnusableFile, read_aggregate_names
from placement.search.model.snapshot import Snapshot

#: Reads gauges of a snapshot.
ReadGauges = Callable[[Snapshot], Iterable[Metric]]


@in_transaction(Mode.READ)
def count_feed_entries(context: RequestContext) -> int:
    """Number of entries of the change feed."""
    return ChangeFeed(context.connection).count()


@in_transaction(Mode.READ)
def list_provider_names(context: RequestContext) -> Mapping[int, str]:
    """The name of every provider by its id."""
    return providers.list_names_by_id(context.connection)


LOG = logging.getLogger(__name__)

Content = TypeVar('Content')


class Gauges:
    """Callable that yields the gauges of the cloud.

    The options in `[metrics]` add gauges to the sums, and so do extensions. A file that cannot be
    used is logged as an error, and its gauges are left out.

    :raises errors.ServiceUnavailable: the database does not answer
    """

    def __init__(
        self,
        conf: ConfigOpts,
        database: Database,
        snapshots: SnapshotKeeper,
        added: Sequence[ReadGauges] = (),
    ) -> None:
        group = conf.metrics
        self._aggregates = usable(read_aggregate_names, group.aggregate_names_file)
        self._per_provider: bool = group.per_provider
        self._database = database
        self._snapshots = snapshots
        self._added = added

    def __call__(self) -> Iterator[Metric]:
        snapshot = self._snapshots.current()
        context = RequestContext(database=self._database)
        yield from cloud_gauges.read(snapshot)
        yield GaugeMetricFamily(
            'placement_change_feed_entries',
            'Entries of the change feed, of which old ones are removed in blocks.',
            count_feed_entries(context),
        )
        if self._aggregates:
            yield from cloud_gauges.read_aggregates(snapshot, self._aggregates)
        if self._per_provider:
            names = list_provider_names(context)
            yield from cloud_gauges.read_providers(snapshot, names)
        for read in self._added:
            yield from read(snapshot)


def usable(
    read: Callable[[str | None], Mapping[str, Content]], path: str | None
) -> Mapping[str, Content]:
    """The content of a file; empty, and logged, if it cannot be used."""
    try:
        return read(path)
    except UnusableFile as error:
        LOG.error('The metrics do not show what a file asks for: %s', error)
        return {}
