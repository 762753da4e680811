# SPDX-License-Identifier: Apache-2.0
"""Options of insight: `[insight]`, `[history]`, `[ui]`, and two of `[metrics]`."""

from oslo_config import cfg

from placement.conf import metrics

INSIGHT_GROUP = cfg.OptGroup(
    'insight',
    title='Insight',
    help="""
Answers for operators below ``/insight``, in addition to the API.

Each process answers one of these questions at a time. A question that is off answers 404.
""",
)

# fmt: off
INSIGHT_OPTIONS = [
    cfg.BoolOpt('allocation_candidates', default=True, help="""
Answer ``GET`` and ``POST /insight/allocation_candidates``: why a request finds no candidates.
"""),
    cfg.BoolOpt('capacity', default=True, help="""
Answer ``GET`` and ``POST /insight/capacity``: how many times a request would fit.
"""),
    cfg.BoolOpt('survival', default=True, help="""
Answer ``POST /insight/survival``: which failures the cloud can take.
"""),
    cfg.BoolOpt('drain', default=True, help="""
Answer ``POST /insight/drain``: the moves that empty hosts.
"""),
    cfg.BoolOpt('moves', default=True, help="""
Answer ``POST /insight/moves``: whether chosen moves are possible.
"""),
    cfg.BoolOpt('unmet_demand', default=True, help="""
Keep searches without candidates, and answer ``GET /insight/unmet_demand``.

Each worker collects them in memory and writes them to two tables after an answer was sent, at most
every 10 seconds. The tables have at most 10,000 and 11,000 rows. A table that is full or missing
fails no request.
"""),
    cfg.BoolOpt('promises', default=True, help="""
Answer ``/insight/promises``: whether there is still room for each promise of operators.

Promises are stored in a table of their own. A promise reserves nothing.
"""),
    cfg.BoolOpt('keep_promises', default=True, help="""
Withhold the allocation candidates that would take the room of promises that are set to be kept.

No promise is unless an operator says so. With false, searches offer all candidates.
"""),
    cfg.BoolOpt('cloud', default=True, help="""
Answer ``GET /insight/providers``, ``/insight/consumers``, ``/insight/usages``,
``/insight/changes`` and ``/insight/names``.

They list the cloud in bulk, a page at a time, where the API takes several requests for each
resource provider; its changes since a moment; and the names of aggregates and requests from the
files of ``[metrics]``.
"""),
    cfg.IntOpt('snapshot_max_age', default=15, min=0, help="""
Maximum age in seconds of the copy of the cloud that questions are answered from, where insight
runs beside the service that writes the database (``placement_insight.wsgi``).

Each new copy reads all tables of the cloud. In the service itself this option has no effect: its
answers are always current.
"""),
]
# fmt: on


HISTORY_GROUP = cfg.OptGroup(
    'history',
    title='History of changes',
    help="""
Each change of allocations, inventories, traits, aggregates and resource providers: the request,
its user, the time, and the state afterwards.
""",
)

# fmt: off
HISTORY_OPTIONS = [
    cfg.BoolOpt('enabled', default=False, help="""
Keep a history of changes, and answer ``GET /insight/history``.

Each request that changes something executes one more statement in its transaction. If that fails,
the change is made without it, and a warning is logged. The table ``placement_history`` contains
the ids of users and projects; by default only administrators may read the history.
"""),
    cfg.IntOpt('retention_days', default=30, min=1, max=36500, help="""
Number of days that the history goes back.

Older rows are removed after an answer was sent, in small transactions of their own. Nothing is
removed while the history is off.
"""),
    cfg.IntOpt('max_rows', default=10_000_000, min=1, help="""
Maximum number of rows of the history; the oldest are removed first.

A claim on one resource provider writes two rows. Rows are counted by their ids: where ids have
gaps, as in a Galera cluster, fewer rows are kept.
"""),
]
# fmt: on


# fmt: off
METRICS_OPTIONS = [
    cfg.StrOpt('requests_file', help="""
File of requests whose capacity is shown: the number of consumers of each that could still be
claimed.

A YAML mapping of at most 100 names of your own, each to a query of ``GET /allocation_candidates``:
``m1.large: resources=VCPU:4,MEMORY_MB:8192``.
"""),
    cfg.IntOpt('survival_interval', default=0, min=0, help="""
Interval in seconds at which ``placement-metrics`` counts the hosts that the cloud can lose.

0: never; otherwise at least 300. The count asks ``POST /insight/survival`` for every host in use,
which takes seconds in a cloud of 10,000 hosts. ``GET /metrics`` of the service does not show it.
"""),
]
# fmt: on


UI_GROUP = cfg.OptGroup('ui', title='Page', help='The page for people, at ``/ui``.')

# fmt: off
UI_OPTIONS = [
    cfg.BoolOpt('enabled', default=False, help="""
Serve a page that shows the cloud in a browser, at ``/ui``.

The files of the page are sent without a token, and contain nothing of the cloud. The page asks its
user for a token, and reads ``/insight`` with it. It writes nothing.
"""),
    cfg.StrOpt('cloud_name', default='', help="""
Name of the cloud in the page, in the title of its window, and on paper.

Everybody who reaches the page sees it, without a token. The default is the host in the address of
the page.
"""),
]
# fmt: on

GROUPS = (
    (INSIGHT_GROUP, INSIGHT_OPTIONS),
    (metrics.METRICS_GROUP, METRICS_OPTIONS),
    (HISTORY_GROUP, HISTORY_OPTIONS),
    (UI_GROUP, UI_OPTIONS),
)
