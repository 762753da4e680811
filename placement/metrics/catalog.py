# SPDX-License-Identifier: Apache-2.0
"""Every metric that processes count, by Prometheus' conventions of naming.

Values of labels are few and known beforehand, so that no client can make series: an action is the
name of a route, a cause, a code or a verdict is one of an enumeration. No label has a uuid, a path
or a name that somebody chose.
"""

import dataclasses
import enum


class Kind(enum.Enum):
    """How the values of processes become one; each process has a file for each of these.

    The values are the beginnings of the names of these files, as prometheus_client has them.
    """

    COUNTER = 'counter'
    HISTOGRAM = 'histogram'
    # Of processes that live, the sum.
    SUM = 'gauge_livesum'
    # Of processes that live, the least.
    LEAST = 'gauge_livemin'


# Two series with the same metric are found by the identity of the metric, which is quick.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric: its name as it is shown, and the names of its labels.

    `buckets` are the upper bounds of a histogram, without the infinite one. `values` are those of
    the only label of a counter, which is shown as 0 before anything is counted: what appears with
    its first value has not grown, in the eyes of Prometheus, and would raise no alert.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The name without the ending that all counters have."""
        return self.name.removesuffix('_total')


#: Seconds. Reads take a few milliseconds, searches of large clouds a second.
SECONDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip

#: Places looked at; the default of `[placement] search_budget` is 1,500,000.
PLACES = (10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 500_000.0, 1_000_000.0, 1_500_000.0)

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
VERDICTS = ('fits', 'full', 'infeasible', 'unknown')
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
    'placement_search_work_places', Kind.HISTOGRAM, 'Steps that searches took.', (), PLACES)
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
INSIGHT_FAILURES = Metric(
    'placement_insight_failures_total', Kind.COUNTER,
    'Failures of what is done beside the API, which failed no request.')
UNMET_DEMAND_DROPPED = Metric(
    'placement_unmet_demand_dropped_total', Kind.COUNTER,
    'Searches in vain that unmet demand does not have.')
UNRECORDED_CHANGES = Metric(
    'placement_unrecorded_changes_total', Kind.COUNTER,
    'Changes that were made without a row in the history.')

# fmt: on

METRICS = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
