# SPDX-License-Identifier: Apache-2.0
"""Options of what is answered below `/insight`."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'insight',
    title='Insight',
    help="""
Answers for operators below ``/insight``, beside the API.

Each process answers one of these questions at a time. What is off answers 404.
""",
)

OPTIONS = [
    cfg.BoolOpt(
        'allocation_candidates',
        default=True,
        help="""
Answer ``GET /insight/allocation_candidates``: why a request finds no candidates.
""",
    ),
    cfg.BoolOpt(
        'capacity',
        default=True,
        help="""
Answer ``GET`` and ``POST /insight/capacity``: how often a request would fit.
""",
    ),
    cfg.BoolOpt(
        'unmet_demand',
        default=True,
        help="""
Keep what was searched for in vain, and answer ``GET /insight/unmet_demand``.

Each worker keeps it in memory and writes it to two tables after an answer was sent, at most every
10 seconds. The tables have 10,000 and 11,000 rows at most. A table that is full or missing fails
no request.
""",
    ),
    cfg.BoolOpt(
        'cloud',
        default=True,
        help="""
Answer ``GET /insight/providers``, ``/insight/consumers``, ``/insight/usages`` and
``/insight/changes``.

They read the cloud in bulk, a page at a time, where the API takes several requests for each
resource provider, and what has changed in it since.
""",
    ),
]
