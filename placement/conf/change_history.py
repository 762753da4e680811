# SPDX-License-Identifier: Apache-2.0
"""Options of the history of changes: who changed what, and when."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'history',
    title='History of changes',
    help="""
Who changed what, and when: which allocations, inventories, traits, aggregates and resource
providers, by which request, and their state afterwards.
""",
)

OPTIONS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help="""
Keep a history of changes, and answer ``GET /insight/history``.

Each request that changes something writes one more statement in its transaction. Where that fails,
the change is made without it, and the log has a warning. The table ``placement_history`` has the
ids of users and projects; by default administrators may read it.
""",
    ),
    cfg.IntOpt(
        'retention_days',
        default=30,
        min=1,
        max=36500,
        help="""
How many days the history goes back.

What is older is removed after an answer was sent, in small transactions of its own. Nothing is
removed while the history is off.
""",
    ),
    cfg.IntOpt(
        'max_rows',
        default=10_000_000,
        min=1,
        help="""
How many rows the history has at most; the oldest are removed first.

A claim on one resource provider writes two rows. Rows are counted by their ids: where ids have
gaps, as in a Galera cluster, fewer rows are kept.
""",
    ),
]
