# SPDX-License-Identifier: Apache-2.0
"""Counters of insight, one value for each process."""

from placement.metrics.catalog import Kind, Metric

# fmt: off
INSIGHT_FAILURES = Metric(
    'placement_insight_failures_total', Kind.COUNTER,
    'Failures of what is done beside the API, which failed no request.')
UNMET_DEMAND_DROPPED = Metric(
    'placement_unmet_demand_dropped_total', Kind.COUNTER,
    'Unsuccessful searches that unmet demand lacks.')
PROMISES_UNDECIDED = Metric(
    'placement_promises_undecided_total', Kind.COUNTER,
    'Candidates that were offered without a decision whether they take promised room.')
UNRECORDED_CHANGES = Metric(
    'placement_unrecorded_changes_total', Kind.COUNTER,
    'Changes that were made without a row in the history.')
# fmt: on

METRICS = (INSIGHT_FAILURES, UNMET_DEMAND_DROPPED, PROMISES_UNDECIDED, UNRECORDED_CHANGES)
