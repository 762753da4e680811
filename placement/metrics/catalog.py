# SPDX-License-Identifier: Apache-2.0
"""Every metric that processes of the core count, named by the conventions of Prometheus.

The values of labels are few and fixed, so that no client can create series: the names of routes,
and enumerations of causes, codes and verdicts. No label has a uuid, a path or a name that a client
or operator chose.
"""

import dataclasses
import enum


class Kind(enum.Enum):
    """The ways to combine the values of processes; each process has a file for each of them.

    The values are the prefixes of the names of these files in prometheus_client.
    """

    COUNTER = 'counter'
    HISTOGRAM = 'histogram'
    # The sum over living processes.
    SUM = 'gauge_livesum'
    # The minimum over living processes.
    LEAST = 'gauge_livemin'


# Compared by identity, for fast lookups of series.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric: its name in Prometheus, and the names of its labels."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    # Upper bounds of a histogram, without the infinite one.
    buckets: tuple[float, ...] = ()
    # Values of the only label of a counter, which are shown as 0 before anything is counted. A
    # counter that appears with its first value has not grown, so Prometheus would fire no alert.
    values: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The name without the suffix of counters."""
        return self.name.removesuffix('_total')


#: Seconds. Reads take a few milliseconds, searches of large clouds a second.
SECONDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip

#: Steps of a search; the default of `[placement] search_budget` is 1,500,000.
STEPS = (10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 500_000.0, 1_000_000.0, 1_500_000.0)

CODES = (
    'placement.undefined_code',
    'placement.concurrent_update',
    'placement.inventory.inuse',
    'placement.duplicate_name',
    'placement.resource_provider.inuse',
    'placement.resource_provider.cannot_delete_parent',
)
CAUSES = (
    'conflict', 'lost_connection', 'not_ready', 'timeout', 'no_free_connection', 'full', 'damaged',
    'refused', 'schema', 'value', 'defect',
)  # fmt: skip
VERDICTS = ('fits', 'full', 'infeasible', 'unknown', 'refused')
CUTS = ('limit', 'max_allocation_candidates', 'search_budget')
LOADS = (
    'first', 'many_changes', 'feed_empty', 'feed_pruned', 'feed_late', 'feed_other',
    'feed_bypassed',
)  # fmt: skip

# fmt: off
HTTP_REQUESTS = Metric(
    'placement_http_requests_total', Kind.COUNTER, 'Requests answered, by the name of the route.',
    ('action', 'method', 'status'))
HTTP_DURATION = Metric(
    'placement_http_request_duration_seconds', Kind.HISTOGRAM,
    'Time until the response to a request begins.', ('action', 'method'), SECONDS)
CONFLICTS = Metric(
    'placement_conflicts_total', Kind.COUNTER,
    'Requests answered with status 409, by the code of the error.', ('code',), values=CODES)
TRANSACTION_REPEATS = Metric(
    'placement_db_transaction_repeats_total', Kind.COUNTER,
    'Transactions that were begun again, by the cause.', ('cause',), values=CAUSES[:3])
TRANSACTION_FAILURES = Metric(
    'placement_db_transaction_failures_total', Kind.COUNTER,
    'Transactions given up, by the cause.', ('cause',), values=CAUSES)
STATEMENTS = Metric(
    'placement_db_statements_total', Kind.COUNTER, 'Statements sent to the database.',
    ('database',))
STATEMENT_SECONDS = Metric(
    'placement_db_statement_duration_seconds_total', Kind.COUNTER, 'Time that statements took.',
    ('database',))
POOL_IN_USE = Metric(
    'placement_db_pool_connections_in_use', Kind.SUM,
    'Connections that other requests held when each process last answered one.', ('database',))
POOL_MOST = Metric(
    'placement_db_pool_connections_max', Kind.SUM,
    'Connections that all pools may have; missing where there is no bound.', ('database',))
SEARCHES = Metric(
    'placement_searches_total', Kind.COUNTER,
    'Searches for allocation candidates, by what was found.', ('verdict',), values=VERDICTS)
SEARCH_DURATION = Metric(
    'placement_search_duration_seconds', Kind.HISTOGRAM,
    'Time that searches took, without reading what has changed.', ('verdict',), SECONDS)
SEARCH_WORK = Metric(
    'placement_search_work_places', Kind.HISTOGRAM, 'Steps that searches took.', (), STEPS)
SEARCHES_CUT = Metric(
    'placement_searches_cut_total', Kind.COUNTER,
    'Searches that ended before all was looked at, by what ended them.', ('by',), values=CUTS)
SNAPSHOT_UPDATED = Metric(
    'placement_snapshot_updated_timestamp_seconds', Kind.LEAST,
    'When the snapshot that is furthest behind was last brought up to date.')
SNAPSHOT_UPDATE_DURATION = Metric(
    'placement_snapshot_update_duration_seconds', Kind.HISTOGRAM,
    'Time until a search knows all changes that were committed before it.', (), SECONDS)
SNAPSHOT_LOADS = Metric(
    'placement_snapshot_full_loads_total', Kind.COUNTER,
    'Times that a process read the whole cloud, by the reason.', ('reason',), values=LOADS)
SNAPSHOT_LOAD_SECONDS = Metric(
    'placement_snapshot_full_load_duration_seconds_total', Kind.COUNTER,
    'Time that reading the whole cloud took.')
# fmt: on

METRICS = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
