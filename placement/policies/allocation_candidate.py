# SPDX-License-Identifier: Apache-2.0
"""Who may search for allocation candidates."""

from placement.policies import base

LIST = 'placement:allocation_candidates:list'

RULES = [
    base.route_rule(LIST, 'List allocation candidates.', 'GET /allocation_candidates'),
]
