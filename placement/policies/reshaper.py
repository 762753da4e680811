# SPDX-License-Identifier: Apache-2.0
"""Who may move inventory together with its allocations."""

from placement.policies import base

RESHAPE = 'placement:reshaper:reshape'

RULES = [
    base.route_rule(
        RESHAPE,
        'Move inventory and allocations between resource providers, in one step.',
        'POST /reshaper',
        check=f'rule:{base.SERVICE}',
    ),
]
