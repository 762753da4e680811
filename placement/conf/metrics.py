# SPDX-License-Identifier: Apache-2.0
"""Options of the metrics: `[metrics]`."""

from oslo_config import cfg

METRICS_GROUP = cfg.OptGroup(
    'metrics',
    title='Metrics',
    help="""
Metrics for Prometheus: what this service does, and how full the cloud is.
""",
)

# fmt: off
METRICS_OPTIONS = [
    cfg.BoolOpt('enabled', default=False, help="""
Count what the service does, and answer ``GET /metrics``.

That path needs no token. Deny it where strangers can reach the service, or switch it off with
``under_api`` and let Prometheus ask ``placement-metrics``.
"""),
    cfg.StrOpt('directory', default='/run/placement/metrics', help="""
Directory in which each process writes its counts, which one answer adds up.

It is created if it is missing. All processes of a host, or of a container, share it; different
hosts must not. It should be in memory, as ``/run`` is, because each process writes there with
every request.
"""),
    cfg.BoolOpt('under_api', default=True, help="""
Answer ``GET /metrics`` on the address of the API, if metrics are enabled.

``placement-metrics`` answers it on an address of its own in any case.
"""),
    cfg.StrOpt('aggregate_names_file', help="""
File with the aggregates that are shown with their resources.

A YAML mapping from the uuid of an aggregate to a name of your own. Other aggregates are not shown.
"""),
    cfg.BoolOpt('per_provider', default=False, help="""
Show each inventory of each resource provider, by the names that openstack-exporter has.

These are four values for each inventory: 120,000 of them for 10,000 hosts of three classes.
"""),
]
# fmt: on
