# SPDX-License-Identifier: Apache-2.0
"""Who may ask what is below `/insight`."""

from placement.policies import base

SHOW = 'placement:insight:show'
ALLOCATION_CANDIDATES = 'placement:insight:allocation_candidates'
CAPACITY = 'placement:insight:capacity'
UNMET_DEMAND = 'placement:insight:unmet_demand'

RULES = [
    base.route_rule(SHOW, 'Show which questions are answered.', 'GET /insight'),
    base.route_rule(
        ALLOCATION_CANDIDATES,
        'Explain why a request finds no allocation candidates.',
        'GET /insight/allocation_candidates',
    ),
    base.route_rule(
        CAPACITY,
        'Show how often requests would fit.',
        'GET /insight/capacity',
        'POST /insight/capacity',
    ),
    base.route_rule(
        UNMET_DEMAND,
        'List what was searched for in vain.',
        'GET /insight/unmet_demand',
    ),
]
