# SPDX-License-Identifier: Apache-2.0
"""Options of the metrics for Prometheus."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'metrics',
    title='Metrics',
    help="""
Metrics for Prometheus: what this service does, and how full the cloud is.
""",
)

OPTIONS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help="""
Count what the service does, and answer ``GET /metrics``.

That path needs no token. Deny it where strangers can reach the service, or switch it off with
``under_api`` and let Prometheus ask ``placement-metrics``.
""",
    ),
    cfg.StrOpt(
        'directory',
        default='/run/placement/metrics',
        help="""
Where each process writes its counts, for one answer about all of them.

It is created when it is missing. All processes of one host share it, and nobody else: it belongs
to one host, or to one container. It should be in memory, as ``/run`` is: each process writes there
with every request.
""",
    ),
    cfg.BoolOpt(
        'under_api',
        default=True,
        help="""
Answer ``GET /metrics`` on the address of the API, when metrics are on.

``placement-metrics`` answers it on an address of its own, whatever is set here.
""",
    ),
    cfg.StrOpt(
        'requests_file',
        help="""
File with requests whose capacity is shown: how many consumers of each could still be claimed.

A YAML mapping from a name of your own to the query of ``GET /allocation_candidates``, with at most
100 of them: ``m1.large: resources=VCPU:4,MEMORY_MB:8192``.
""",
    ),
    cfg.StrOpt(
        'aggregate_names_file',
        help="""
File with the aggregates that are shown with their resources.

A YAML mapping from the uuid of an aggregate to a name of your own. Other aggregates are not shown.
""",
    ),
    cfg.BoolOpt(
        'per_provider',
        default=False,
        help="""
Show each inventory of each resource provider, by the names that openstack-exporter has.

These are four values for each inventory: 120,000 of them for 10,000 hosts of three classes.
""",
    ),
]
