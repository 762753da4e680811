# SPDX-License-Identifier: Apache-2.0
"""Options beside the API: `[insight]`, `[history]`, `[metrics]` and `[ui]`."""

from oslo_config import cfg

INSIGHT_GROUP = cfg.OptGroup(
    'insight',
    title='Insight',
    help="""
Answers for operators below ``/insight``, beside the API.

Each process answers one of these questions at a time. What is off answers 404.
""",
)

# fmt: off
INSIGHT_OPTIONS = [
    cfg.BoolOpt('allocation_candidates', default=True, help="""
Answer ``GET`` and ``POST /insight/allocation_candidates``: why a request finds no candidates.
"""),
    cfg.BoolOpt('capacity', default=True, help="""
Answer ``GET`` and ``POST /insight/capacity``: how often a request would fit.
"""),
    cfg.BoolOpt('survival', default=True, help="""
Answer ``POST /insight/survival``: which failures the cloud can take.
"""),
    cfg.BoolOpt('drain', default=True, help="""
Answer ``POST /insight/drain``: the moves that empty hosts.
"""),
    cfg.BoolOpt('moves', default=True, help="""
Answer ``POST /insight/moves``: if moves are possible.
"""),
    cfg.BoolOpt('unmet_demand', default=True, help="""
Keep what was searched for in vain, and answer ``GET /insight/unmet_demand``.

Each worker keeps it in memory and writes it to two tables after an answer was sent, at most every
10 seconds. The tables have 10,000 and 11,000 rows at most. A table that is full or missing fails
no request.
"""),
    cfg.BoolOpt('cloud', default=True, help="""
Answer ``GET /insight/providers``, ``/insight/consumers``, ``/insight/usages``,
``/insight/changes`` and ``/insight/names``.

They read the cloud in bulk, a page at a time, where the API takes several requests for each
resource provider, what has changed in it since, and the names that the files of ``[metrics]`` give
to aggregates and requests.
"""),
]
# fmt: on


HISTORY_GROUP = cfg.OptGroup(
    'history',
    title='History of changes',
    help="""
Who changed what, and when: which allocations, inventories, traits, aggregates and resource
providers, by which request, and their state afterwards.
""",
)

# fmt: off
HISTORY_OPTIONS = [
    cfg.BoolOpt('enabled', default=False, help="""
Keep a history of changes, and answer ``GET /insight/history``.

Each request that changes something writes one more statement in its transaction. Where that fails,
the change is made without it, and the log has a warning. The table ``placement_history`` has the
ids of users and projects; by default administrators may read it.
"""),
    cfg.IntOpt('retention_days', default=30, min=1, max=36500, help="""
How many days the history goes back.

What is older is removed after an answer was sent, in small transactions of its own. Nothing is
removed while the history is off.
"""),
    cfg.IntOpt('max_rows', default=10_000_000, min=1, help="""
How many rows the history has at most; the oldest are removed first.

A claim on one resource provider writes two rows. Rows are counted by their ids: where ids have
gaps, as in a Galera cluster, fewer rows are kept.
"""),
]
# fmt: on


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
Where each process writes its counts, for one answer about all of them.

It is created when it is missing. All processes of one host share it, and nobody else: it belongs
to one host, or to one container. It should be in memory, as ``/run`` is: each process writes there
with every request.
"""),
    cfg.BoolOpt('under_api', default=True, help="""
Answer ``GET /metrics`` on the address of the API, when metrics are on.

``placement-metrics`` answers it on an address of its own, whatever is set here.
"""),
    cfg.StrOpt('requests_file', help="""
File with requests whose capacity is shown: how many consumers of each could still be claimed.

A YAML mapping from a name of your own to the query of ``GET /allocation_candidates``, with at most
100 of them: ``m1.large: resources=VCPU:4,MEMORY_MB:8192``.
"""),
    cfg.StrOpt('aggregate_names_file', help="""
File with the aggregates that are shown with their resources.

A YAML mapping from the uuid of an aggregate to a name of your own. Other aggregates are not shown.
"""),
    cfg.BoolOpt('per_provider', default=False, help="""
Show each inventory of each resource provider, by the names that openstack-exporter has.

These are four values for each inventory: 120,000 of them for 10,000 hosts of three classes.
"""),
    cfg.IntOpt('survival_interval', default=0, min=0, help="""
Every so many seconds, ``placement-metrics`` counts the hosts that the cloud can lose.

0: never. Otherwise 300 at least: it asks ``POST /insight/survival`` of every host that is in use,
which takes seconds in a cloud of 10,000 hosts. ``GET /metrics`` of the service does not show it.
"""),
]
# fmt: on


UI_GROUP = cfg.OptGroup('ui', title='Page', help='The page for people, at ``/ui``.')

# fmt: off
UI_OPTIONS = [
    cfg.BoolOpt('enabled', default=False, help="""
Serve a page that shows the cloud in a browser, at ``/ui``.

The files of the page are sent without a token, and show nothing of the cloud. The page asks
whoever opens it for a token, and with that reads what is below ``/insight``. It writes nothing.
"""),
]
# fmt: on
